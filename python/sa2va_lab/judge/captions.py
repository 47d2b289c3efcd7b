"""A judge behind an OpenAI-compatible address: verdicts on captions, under the run's limits and with its cache."""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from ..errors import LabError
from ..rewards import Term, term_of
from ..settings import Settings
from . import questions as q
from .dialect import Dialect
from .questions import JudgeFailure, Question
from .server import Cut, Server, compact, counted

T = TypeVar("T")
KEY = "SA2VA_LAB_JUDGE_KEY"
_DLC_TOKENS = 300
_LONGER, _BRIEFER = "raise judgeMaxTokens", "choose a judgeModel that answers without reasoning"
_WAIT, _LONGEST_WAIT, _LONGEST_ASKED = 0.5, 30.0, 120.0


@dataclass
class _Asked:
    """Requests for one verdict."""

    calls: int = 0
    hits: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    raw: list[str] = field(default_factory=list)


class CaptionJudge:
    """Terms named judge; without a verdict the value is None, never 0."""

    def __init__(
        self,
        settings: Settings,
        prompts: dict[str, str],
        replies: Path,
        place: tuple[int, int] = (0, 1),
        spent: tuple[float, float] = (0, 0),
    ) -> None:
        """
        `replies` is the cache of all runs. `place` is the rank among the processes, which share the rest of the budget
        of calls and cost after `spent`.

        Raises LabError without an address.
        """
        s = settings
        if not s.judge_url.strip():
            raise LabError("judge is on, but judgeUrl is empty; set the address of a server or turn the judge off")
        own = {"questions": s.judge_questions_prompt, "answers": s.judge_answers_prompt, "dlc": s.judge_dlc_prompt}
        self._prompts = {name: own[name] or prompts[name] for name in own}
        self._s, self._path, (rank, world) = s, replies, place
        text = compact([self._prompts[name] for name in ("questions", "answers", "dlc")])
        self._version = sha256(text.encode()).hexdigest()[:16]
        self._server = Server(s.judge_url, s.judge_model.strip(), s.judge_timeout, os.environ.get(KEY, "").strip())
        self._server.model = self._server.model or self._server.first_model()
        self._written = q.prepared_questions(s.judge_written) if s.judge == "dlc" else None
        self._pool = ThreadPoolExecutor(max(1, s.judge_parallel // world))
        self._lock, self._replies = threading.Lock(), self._stored()
        calls = max(0, s.judge_max_calls - int(spent[0]))
        self._calls = calls // world + (rank < calls % world) if s.judge_max_calls > 0 else math.inf
        self._cost = (s.judge_max_cost - spent[1]) / world if s.judge_max_cost > 0 else math.inf

    @property
    def described(self) -> dict[str, Any]:
        """The judge without its key, as in the run folder's judge.json."""
        return {
            "instrument": self._s.judge, "place": self._server.place,
            "model": self._server.model, "temperature": 0, "range": self._s.judge_range, "version": self._version,
            "prompts": self._prompts,
        }  # fmt: skip

    def _stored(self) -> "dict[str, Future[str]]":
        """Replies of earlier runs; a truncated line is skipped."""
        found: dict[str, Future[str]] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8", errors="replace").split("\n"):
                with contextlib.suppress(JudgeFailure, LookupError, TypeError):
                    entry = q.parsed(line, "")
                    found[entry["key"]] = Future()
                    found[entry["key"]].set_result(entry["reply"])
        return found

    def _price(self, prompt: float, reply: float) -> float:
        return float(prompt * self._s.judge_prompt_price + reply * self._s.judge_reply_price) / 1e6

    def _reserve(self, asked: _Asked, bound: float) -> None:
        """Reserves a call of at most this price from the budget."""
        s = self._s
        with self._lock:
            if self._calls < 1 or self._cost < bound:
                limit = f"{s.judge_max_calls} calls" if self._calls < 1 else f"{s.judge_max_cost:g}"
                raise JudgeFailure("budget", f"The judge's budget of {limit} is used up; raise it to continue")
            self._calls -= 1
            self._cost -= bound
        asked.calls += 1

    def _ask(self, asked: _Asked, messages: list[dict[str, str]], schema: Any, most: int) -> tuple[str, Cut | None]:
        """A reply, requested again after a temporary failure. A failed call costs its prompt."""
        s, repeat = self._s, 0
        guess: Dialect | None = None
        length = sum(len(message["content"]) + 16 for message in messages)
        sent = math.ceil((length + (0 if schema is None else len(compact(schema)))) / 2)
        while True:
            bound, price = self._price(sent, most), self._price(sent, 0)
            self._reserve(asked, bound)
            began, wait = time.monotonic(), 0.0
            try:
                text, cut, usage = self._server.complete(messages, schema, most, guess)
                tokens = counted(usage, "completion_tokens", math.ceil(len(text) / 2))
                price = self._price(counted(usage, "prompt_tokens", sent), tokens)
                return text, cut
            except JudgeFailure as failure:
                guess = failure.again
                if guess is None:
                    last = repeat == s.judge_retries or (failure.kind == "timeout" and repeat >= 1)
                    if last or not failure.passing or (failure.wait or 0) > _LONGEST_ASKED:
                        raise
                    wait = failure.wait if failure.wait is not None else min(_LONGEST_WAIT, _WAIT * 2**repeat)
                    repeat += 1
            finally:
                asked.seconds += time.monotonic() - began
                asked.cost += price
                with self._lock:
                    self._cost += bound - price
            time.sleep(wait)

    def _reply(
        self, asked: _Asked, content: str, schema: Any, most: int, read: Callable[[str, bool], T], longer: str
    ) -> T:
        """
        A reply that `read` accepts: that of an equal request, or the model's, which is told its error once.

        `longer` says how the user allows longer replies.
        """
        messages = [{"role": "user", "content": content}]
        model = self._server.model
        # The server decides which model an empty name means.
        named = f"{model} at {self._server.base}" if model == "default" else model
        asked_for = [self._s.judge, named, self._version, messages, schema, most]
        key = sha256(compact(asked_for).encode()).hexdigest()
        own: Future[str] = Future()
        with self._lock:
            known = self._replies.setdefault(key, own)
        if known is not own:
            stored = known.result()
            with contextlib.suppress(JudgeFailure):
                value = read(stored, False)
                asked.hits += 1
                asked.raw.append(stored)
                return value
        try:
            for again in (True, False):
                text, cut = self._ask(asked, messages, schema, most)
                asked.raw.append(text)
                try:
                    value = _read(text, cut, read)
                    break
                except JudgeFailure as failure:
                    if not again:
                        raise JudgeFailure(failure.kind, f"{failure}; {_remedy(cut, longer)}", failure.raw) from failure
                    complaint = f"{failure}. Reply again, in exactly the form that was asked for."
                    messages += [{"role": "assistant", "content": text[:2000]}, {"role": "user", "content": complaint}]
        except BaseException as cause:
            # Those that wait for this request fail with it; a later one is sent again.
            self._replies.pop(key, None)
            own.set_exception(cause)
            raise
        own.set_result(text)
        with self._lock:
            self._replies[key] = own
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                # Ends a truncated last line.
                file.write(f"\n{compact({'key': key, 'reply': text})}\n")
        return value

    def _questions(self, asked: _Asked, reference: str) -> list[Question]:
        s = self._s
        if self._written is not None:
            prepared = self._written(reference)
            if prepared is None:
                raise JudgeFailure("no-questions", "judgeWritten has no questions for this reference caption")
            return prepared
        described = q.plain_caption(reference)
        if not described:
            raise JudgeFailure("no-questions", "The reference caption is empty, so there is nothing to ask")
        counts = {"positives": str(s.judge_positives), "negatives": str(s.judge_negatives)}
        prompt = q.fill(self._prompts["questions"], reference=described, **counts)
        return self._reply(
            asked, prompt, q.question_schema(s.judge_positives, s.judge_negatives), s.judge_max_tokens,
            lambda text, _: q.read_questions(text, s.judge_positives, s.judge_negatives, prompt), _LONGER,
        )  # fmt: skip

    def _answers(self, asked: _Asked, questions: list[Question], caption: str) -> list[str]:
        if self._written is not None:
            return [self._chosen(asked, caption, own) for own in questions]
        listed = q.question_text(questions)
        prompt = q.fill(self._prompts["answers"], caption=q.plain_caption(caption), questions=listed)
        schema, most = q.answer_schema(questions), self._s.judge_max_tokens
        return self._reply(asked, prompt, schema, most, lambda text, _: q.read_letters(text, questions), _LONGER)

    def _chosen(self, asked: _Asked, caption: str, own: Question) -> str:
        def read(text: str, cut: bool) -> str:
            reply = text.rpartition("</think>")[2]
            begins = reply.strip().lower()
            named = begins[:1] in "abcde" and begins[1:2] in ("", ".", "\n")
            if cut and not named and not begins.startswith(tuple(choice.strip().lower() for choice in own.texts)):
                raise JudgeFailure("wrong-form", "The model's reply was cut off before it named a choice", text)
            q.parse_answer(reply, own.texts)
            return reply

        about = {"question": own.question, "choices": q.choice_text(own.texts), "caption": q.plain_caption(caption)}
        return self._reply(asked, q.fill(self._prompts["dlc"], **about), None, _DLC_TOKENS, read, _BRIEFER)

    def _ranged(self, score: float) -> float:
        return {"raw": score, "clamp": max(0.0, score), "rescale": (score + 1) / 2}[self._s.judge_range]

    def _term(self, pair: tuple[str, str]) -> dict[str, Any]:
        asked, (reference, caption) = _Asked(), pair
        try:
            if not q.plain_caption(caption):
                zero = {"score": 0.0, "positive": 0.0, "negative": 0.0, "recognised": False, "failure": None}
                outcome, note = q.NO_VERDICT | zero, "empty caption"
            else:
                questions = self._questions(asked, reference)
                outcome = q.scored(questions, self._answers(asked, questions, caption))
                note = "" if outcome["score"] is not None else "the answers give no verdict"
        except JudgeFailure as failure:
            outcome, note = q.NO_VERDICT | {"failure": failure.kind}, str(failure)
            asked.raw += [failure.raw] if failure.raw and failure.raw not in asked.raw else []
        detail = {
            "instrument": self._s.judge, "model": self._server.model, "version": self._version,
            **outcome, "raw": [text[:2000] for text in asked.raw], "calls": asked.calls,
            "cached": asked.calls == 0 and asked.hits > 0, "latencyMs": asked.seconds * 1000, "cost": asked.cost,
        }  # fmt: skip
        value = None if outcome["score"] is None else self._ranged(outcome["score"])
        return {"name": "judge", "value": value, "judge": detail} | ({"note": note} if note else {})

    def terms(self, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
        """One term per pair of reference and caption; equal pairs are judged once."""
        each = list(dict.fromkeys(pairs))
        found = dict(zip(each, self._pool.map(self._term, each), strict=True))
        out = []
        for pair in pairs:
            out.append(found[pair])
            known = found[pair]["value"] is not None
            free = {"calls": 0, "cost": 0.0, "latencyMs": 0.0, "cached": known}
            found[pair] = found[pair] | {"judge": found[pair]["judge"] | free}
        return out

    @staticmethod
    def utility(verdict: Term) -> Term:
        """Share of the positive questions that a verdict has as right, which the lab logs beside it."""
        detail = verdict.get("judge")
        if detail is None or detail["score"] is None:
            return term_of("utility", None, verdict.get("note", "no verdict"))
        positive = [answer for answer in detail["answers"] if answer["type"] == "positive"]
        if not positive:
            return term_of("utility", 0.0, verdict.get("note", ""))
        right = sum(answer["points"] == 1 for answer in positive)
        return term_of("utility", right / len(positive), f"{right} of {len(positive)} questions")


def _read(text: str, cut: Cut | None, read: Callable[[str, bool], T]) -> T:
    """What `read` makes of a reply. Raises JudgeFailure, cut-off if the reply is incomplete."""
    try:
        return read(text, cut is not None)
    except JudgeFailure as failure:
        if cut is None:
            raise
        by = f"the limit of {cut.limit} tokens" if cut.why == "limit" else "the judge's content filter"
        raise JudgeFailure("cut-off", f"The model's reply was cut off by {by}", text) from failure


def _remedy(cut: Cut | None, longer: str) -> str:
    """What the user can change after two replies that cannot be read."""
    if cut is None:
        return "choose a larger judgeModel or a server with structured output"
    if cut.why == "filter":
        return "choose another judgeModel"
    return "choose a judgeModel whose server allows more" if cut.own else longer
