"""The judge's questions: prompts about a caption, parsing of the answers, and their scores."""

import contextlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any

from ..errors import FORM, reading
from .dialect import Dialect, ServerError

Choice = tuple[str, float | str]
LETTERS = "ABCDE"
_LONGEST = 6000
_ASKED = "Which of these is true of the description?"
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")


NO_VERDICT: dict[str, Any] = {
    "score": None, "positive": None, "negative": None, "recognised": None, "answers": [], "failure": "wrong-form",
}  # fmt: skip
"""Stored details if the answers give no score."""


class JudgeFailure(Exception):
    """Why there is no verdict; `passing` failures are temporary."""

    def __init__(self, kind: str, message: str, raw: str = "", wait: float | None = None) -> None:
        """`wait` is the time in seconds that the server asked for."""
        super().__init__(message)
        self.kind, self.raw, self.wait = kind, raw, wait
        self.error: ServerError | None = None
        """The decoded refusal, if it may be about a field of the request."""
        self.again: Dialect | None = None
        """The dialect of the next try."""

    @property
    def passing(self) -> bool:
        """Whether a repeat may help."""
        return self.kind in ("unreachable", "timeout", "rate-limited", "server", "not-json")


@dataclass(frozen=True)
class Question:
    """A multiple-choice question with the score of each choice."""

    type: str
    question: str
    choices: tuple[Choice, ...]

    @property
    def texts(self) -> list[str]:
        """Texts of the choices."""
        return [text for text, _ in self.choices]


def plain_caption(caption: str) -> str:
    """A caption without control characters, markup and anything that could close its block."""
    text = re.sub(r"<[^<>]{0,80}>", " ", _UNSEEN.sub(" ", caption))
    return " ".join(re.sub(r"[*_`#<>~|]+", " ", text).split())[:_LONGEST]


def fill(text: str, **values: str) -> str:
    """Fills placeholders; those inside the values stay."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values.get(found[1], found[0]), text)


def choice_text(choices: list[str]) -> str:
    """Lettered choices for a prompt."""
    return "\n".join(f"{LETTERS[at]}. {choice}" for at, choice in enumerate(choices))


def question_text(questions: list[Question]) -> str:
    """Numbered questions for a prompt."""
    return "\n\n".join(f"q{at + 1}. {own.question}\n{choice_text(own.texts)}" for at, own in enumerate(questions))


def _schema(properties: dict[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def question_schema(positives: int, negatives: int) -> dict[str, Any]:
    """Form of the reply from which questions are made."""
    text = {"type": "string", "minLength": 1}
    fact = _schema({"part": text, "attribute": text, "value": text})
    return _schema({
        "subject": text,
        "attributes": {"type": "array", "items": fact, "minItems": 1, "maxItems": positives},
        "absent": {"type": "array", "items": text, "maxItems": negatives},
    })  # fmt: skip


def answer_schema(questions: list[Question]) -> dict[str, Any]:
    """Form of the reply with the answers: one letter per question."""
    letters = [{"type": "string", "enum": list(LETTERS[: len(own.choices)])} for own in questions]
    return _schema({f"q{at + 1}": own for at, own in enumerate(letters)})


def _refuse(word: str) -> None:
    """NaN and infinity are no JSON."""
    raise ValueError(word)


def parsed(text: str, wrong: str) -> Any:
    """Parses JSON and replaces lone surrogates, which no file can hold. Raises JudgeFailure with `wrong`."""
    try:
        value = json.dumps(json.loads(text, parse_constant=_refuse), ensure_ascii=False)
        return json.loads(value.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError) as cause:
        raise JudgeFailure("not-json", wrong, text) from cause


def waiting(header: str) -> float | None:
    """Seconds of a Retry-After header: a number, or the time until a date. None for neither."""
    with contextlib.suppress(ValueError):
        if re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", header):
            return float(header)
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    return None


_THOUGHT = re.compile(r"</think(?:ing)?>|<\|channel\|>final<\|message\|>", re.IGNORECASE)
"""The end of reasoning that models write first."""
_FENCE = re.compile(r"^(```|~~~)(.*)\1", re.MULTILINE | re.DOTALL)
_LANGUAGE = re.compile(r"[\w-]*")
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'
_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
"""Texts, and commas before the end of an object or a list."""
_BRACES = re.compile(rf"{_STRING}|[{{}}]", re.DOTALL)
_LETTER = re.compile(
    r"[\s*]*(?:(?:the\s+)?(?:correct\s+|best\s+)?(?:answer|option|choice)(?:\s+is)?\s*:?\s+)?[\s(\"'[*]*"
    r"([A-E])[\s\"'*]*(?:[.:)\]].*|\s[-–—]\s.*)?",
    re.IGNORECASE | re.DOTALL,
)
"""A letter alone, or in front of its choice, as models write it."""


def _only_object(plain: str) -> str | None:
    """The text from the first brace to its end; None if another brace follows or it has no end."""
    depth, end, begin = 0, -1, plain.find("{")
    for found in _BRACES.finditer(plain, max(begin, 0)):
        if found[0][0] == '"':
            continue
        if end >= 0:
            return None
        depth += 1 if found[0] == "{" else -1
        end = found.end() if depth == 0 else end
    return None if begin < 0 or end < 0 else plain[begin:end]


def _object(reply: str) -> dict[str, Any]:
    """
    The JSON object of a reply: the whole text, the content of a fence, or the only object within sentences.

    Two objects are refused, because one may be an example.
    """
    plain = _THOUGHT.split(reply)[-1].strip()
    fence = _FENCE.search(plain)
    for part in (plain, fence and _LANGUAGE.sub("", fence[2], 1).strip(), _only_object(plain)):
        for text in () if part is None else (part, _COMMAS.sub(lambda own: own[0].strip(","), part)):
            try:
                value = parsed(text, "The model's reply is not JSON")
            except JudgeFailure:
                continue
            if not isinstance(value, dict):
                raise JudgeFailure("wrong-form", "The model's reply is not a JSON object", reply)
            return value
    raise JudgeFailure("not-json", "The model's reply is not JSON", reply)


def _text(value: object, name: str, raw: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise JudgeFailure("wrong-form", f'The model\'s reply has no text for "{name}"', raw)
    return " ".join(value.split())[:200]


def _listed(value: dict[str, Any], name: str, most: int, raw: str) -> list[Any]:
    if not isinstance(value.get(name), list):
        raise JudgeFailure("wrong-form", f"The model's questions have no list of {name}", raw)
    return list(value[name][:most])


def read_questions(reply: str, positives: int, negatives: int, prompt: str) -> list[Question]:
    """
    Questions from a model's reply: recognition first, then what must be present, then what must not.

    Choices are permuted by the hash of the prompt. Raises JudgeFailure for a reply of another form.
    """
    value = _object(reply)
    subject = _text(value.get("subject"), "subject", reply)
    listed = [own if isinstance(own, dict) else {} for own in _listed(value, "attributes", positives, reply)]
    facts = [[_text(own.get(name), name, reply) for name in ("part", "attribute", "value")] for own in listed]
    absent = [_text(item, "absent", reply) for item in _listed(value, "absent", negatives, reply)]
    if not facts:
        raise JudgeFailure("wrong-form", "The model's questions name no attribute", reply)
    same = f'Is it likely that the description is about "{subject}" or something of a similar kind?'
    made = [Question("recognition", same, (("Yes", "correct"), ("No", "incorrect")))]
    for part, attribute, told in facts:
        choices: tuple[Choice, ...] = (
            (f'"{part}" is not mentioned', 0),
            (f'"{part}" is mentioned, but not its {attribute}', 0.5),
            (f'The {attribute} of "{part}" is mentioned, but it is not "{told}"', -1),
            (f'The {attribute} of "{part}" is mentioned, and it is "{told}" or means the same', 1),
        )
        made.append(Question("positive", _ASKED, choices))
    for thing in absent:
        choices = ((f'"{thing}" is not mentioned as being there', 1), (f'"{thing}" is mentioned as being there', -1))
        made.append(Question("negative", _ASKED, choices))
    digits = sha256(prompt.encode()).hexdigest()
    return [Question(own.type, own.question, _shuffled(own.choices, at, digits)) for at, own in enumerate(made)]


def _shuffled(choices: tuple[Choice, ...], question: int, digits: str) -> tuple[Choice, ...]:
    order = list(choices)
    for last in range(len(order) - 1, 0, -1):
        at = ((question * 5 + last) * 4) % (len(digits) - 4)
        other = int(digits[at : at + 4], 16) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


def read_letters(reply: str, questions: list[Question]) -> list[str]:
    """One letter per question. Raises JudgeFailure for one that names no choice."""
    value, found = _object(reply), []
    for at, own in enumerate(questions):
        said = value.get(f"q{at + 1}")
        said = said if isinstance(said, str) else ""
        texts, letter = [_bare(text) for text in own.texts], _LETTER.fullmatch(said)
        named = texts.index(_bare(said)) if _bare(said) in texts else LETTERS.find(letter[1].upper() if letter else "-")
        if not 0 <= named < len(texts):
            raise JudgeFailure("wrong-form", f"The model's answer to q{at + 1} names none of its choices", reply)
        found.append(LETTERS[named])
    return found


def _bare(choice: str) -> str:
    """A choice as models repeat it."""
    return choice.strip().removesuffix(".").lower()


def parse_answer(response: str, choices: list[str]) -> int | None:
    """Index of the choice that an answer means, None if it fits none. Raises JudgeFailure without any verdict."""
    answer, texts, letters = response.strip().lower(), [c.strip().lower() for c in choices], LETTERS.lower()
    for at, text in enumerate(texts):
        if answer in (text, f"{letters[at]}. {text}", letters[at]):
            return at
    inside = [(answer.find(text), len(text), -at) for at, text in enumerate(texts) if text in answer]
    if len(inside) == 1:
        return -inside[0][2]
    if not answer:
        raise JudgeFailure("wrong-form", "the answer is empty", response)
    named, behind = letters.find(answer[0]), answer[1:2]
    if named < 0 or behind not in ("", "."):
        around = inside or [(0, len(text), -at) for at, text in enumerate(texts) if answer in text]
        if around:
            return -max(around)[2]
        if named < 0 or behind != "\n":
            return None
    if named >= len(choices):
        raise JudgeFailure("wrong-form", f"the answer {answer} names none of the {len(choices)} choices", response)
    return named


def scored(questions: list[Question], responses: list[str]) -> dict[str, Any]:
    """
    Score, parts and answers of a caption; a caption about another object scores at most 0.

    The score is None if the answers give no verdict.
    """
    found: dict[str, list[float]] = {"positive": [], "negative": []}
    answers, recognised, failed = [], None, False
    for own, response in zip(questions, responses, strict=True):
        chosen = parse_answer(response, own.texts)
        text, value = (None, 0.0) if chosen is None else own.choices[chosen]
        points: float | None = None
        if own.type == "recognition":
            failed = failed or isinstance(value, (int, float))
            recognised = value == "correct"
        else:
            failed = failed or recognised is None or isinstance(value, str)
            points = 0.0 if isinstance(value, str) else value if recognised else min(0.0, value)
            found[own.type].append(points)
        answers.append(
            {"type": own.type, "question": own.question, "choices": own.texts, "choice": text, "points": points}
        )
    if failed or recognised is None or not found["positive"]:
        return NO_VERDICT | {"answers": answers}
    whole = {"score": found["positive"] + found["negative"]} | found
    means = {name: sum(values) / len(values) if values else None for name, values in whole.items()}
    return means | {"recognised": recognised, "answers": answers, "failure": None}


def prepared_questions(text: str) -> Callable[[str], list[Question] | None]:
    """Finds the questions of a reference in the setting judgeWritten. Raises LabError for a damaged list."""
    with reading("The list of questions in judgeWritten", *FORM):
        value = json.loads(text)
        sets = value["sets"] if isinstance(value, dict) else value
        found: dict[str | None, list[Question]] = {}
        for entry in sets:
            reference = entry.get("reference")
            found[None if reference is None else reference.strip()] = [
                Question(q["type"], q["question"], tuple((c, score) for c, score in q["choices"]))
                for q in entry["questions"]
            ]
    return lambda reference: found.get(reference.strip(), found.get(None))
