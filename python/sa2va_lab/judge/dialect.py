"""
Optional fields of a chat request and how servers refuse them, as in the page's judge.

Only a refusal reveals what a server lacks: the field that it names takes its next form from then on, and every other
field stays.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_WORDS = (
    "error", "errors", "message", "msg", "detail", "details", "description", "error_message", "error_description",
    "metadata", "raw", "fieldViolations", "issues",
)  # fmt: skip
_FIELDS = ("param", "loc", "path", "field", "keys")
_STATUSES = ("code", "status", "status_code", "statusCode", "type")
_ROOTS = ("body", "query", "root", "$", "")
_LEVELS, _ITEMS = 8, 20
_PYTHON_PATH = re.compile(r"""['"]loc['"]\s*:\s*[\[(]([^\])]{0,200})[\])]""")
_NAMED = (
    ("rate.?limit|quota|resource.?exhausted|too.?many.?requests|throttl", 429),
    ("overload|unavailable|capacity", 503),
    ("time.?out|deadline", 504),
    ("unauth|api.?key|authentication", 401),
    ("permission|forbidden", 403),
    ("not.?found", 404),
    ("invalid|bad.?request|unsupported|validation|unprocessable|unrecognized", 400),
    ("internal|server.?error|api.?error", 500),
)
"""Statuses of the usual names of errors."""


@dataclass
class ServerError:
    """A decoded error: the server's words, the fields named outside them, and the status that it names."""

    words: dict[str, None] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    named: list[int] = field(default_factory=list)

    @property
    def said(self) -> str:
        """The words; a proxy repeats those of the server behind it."""
        return "; ".join(own for own in self.words if not any(own != other and own in other for other in self.words))

    @property
    def status(self) -> int | None:
        """The HTTP status; a number counts more than a name."""
        return next(iter(self.statuses + self.named), None)

    def _add(self, path: list[str]) -> None:
        names = (part.strip().strip("'\"") for part in path)
        self.fields.update(dict.fromkeys([name for name in names if name not in _ROOTS][:1]))

    def visit(self, value: Any, level: int = 0) -> "ServerError":
        """Adds what a part of the body says."""
        if level > _LEVELS:
            return self
        if isinstance(value, str) and value.strip():
            try:
                inner = json.loads(value) if value.lstrip()[0] in "[{" else None
            except (ValueError, RecursionError):
                inner = None
            if inner is not None:
                return self.visit(inner, level + 1)
            for path in _PYTHON_PATH.findall(value):
                self._add(path.split(","))
            self.words[value.strip()] = None
        elif isinstance(value, list):
            for item in value[:_ITEMS]:
                self.visit(item, level + 1)
        elif isinstance(value, dict):
            self._visit_record(value, level)
        return self

    def _visit_record(self, record: dict[str, Any], level: int) -> None:
        for key in _STATUSES:
            own = record.get(key)
            number = int(own) if isinstance(own, str) and re.fullmatch("[0-9]{3}", own) else own
            if isinstance(number, int) and 400 <= number < 600:
                self.statuses.append(number)
            if isinstance(own, str):
                self.named += [status for name, status in _NAMED if re.search(name, own, re.IGNORECASE)][:1]
        for key in _FIELDS:
            own = record.get(key)
            if isinstance(own, str):
                self._add(re.split(r"[.\[/]", own))
            elif isinstance(own, list):
                for path in [[str(name)] for name in own[:_ITEMS]] if key == "keys" else [list(map(str, own[:_ITEMS]))]:
                    self._add(path)
        if isinstance(record.get("loc"), list) and isinstance(record.get("msg"), str):
            path = [str(part) for part in record["loc"][:_ITEMS]]
            self.words[f"{'.'.join(part for part in path if part not in _ROOTS)}: {record['msg']}"] = None
            return
        for key in _WORDS:
            self.visit(record.get(key), level + 1)


def body_error(answer: Any) -> ServerError | None:
    """The error in an answer of status 200; None if the answer holds a reply or nothing known."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    inside = isinstance(first.get("error"), dict)
    source = first if inside else answer
    if not isinstance(source, dict) or (isinstance(first.get("message"), dict) and not inside):
        return None
    failed = source.get("error") or source.get("object") == "error" or source.get("type") == "error"
    return ServerError().visit(source) if failed else None


def _format(schema: Any, kind: str) -> dict[str, Any]:
    named = {"json_schema": {"name": "verdict", "strict": True, "schema": schema}} if kind == "json_schema" else {}
    return {} if schema is None else {"response_format": {"type": kind} | named}


_LIMIT = re.compile(r"\bmax[-_ ]?(?:completion[-_ ]?|output[-_ ]?|new[-_ ]?)?tokens\b", re.IGNORECASE)
_OPTIONS: dict[str, tuple[list[Any], str | re.Pattern[str]]] = {
    "seed": ([lambda _, __: {"seed": 0}], r"\b(?:random_)?seed\b"),
    "top_p": ([lambda _, __: {"top_p": 1}], r"\btop[-_ ]?p\b|\bnucleus"),
    "temperature": ([lambda _, __: {"temperature": 0}], r"\btemperature\b"),
    "format": (
        [lambda schema, _: _format(schema, "json_schema"), lambda schema, _: _format(schema, "json_object")],
        r"\bresponse[-_ ]?(?:formats?|schema)\b|\bjson[-_ ]?(?:schema|object|mode)\b|\bschemas?\b|\bgrammar\b"
        r"|\bstructured[-_ ]?outputs?\b|\bguided",
    ),
    "limit": (
        [lambda _, limit: {"max_tokens": limit}, lambda _, limit: {"max_completion_tokens": limit}],
        _LIMIT,
    ),
    "stream": ([lambda _, __: {"stream": False}], r"""[`'"]stream[`'"]|\bstream:"""),
}
"""
Forms of each field in the order in which they are tried, and its names in the words of servers.

The least valuable comes first: if words name several fields, only the first is changed before the request is repeated.
"""
_CONTEXT = re.compile(
    r"context[-_ ]?(?:length|size)|maximum context|exceeds?\b.{0,40}\bcontext|prompt is too long"
    r"|too many (?:input )?tokens",
    re.IGNORECASE,
)
_SIZES = (
    r"too (?:large|high|big|long|many|small|low)|exceed|greater|at least|at most"
    r"|must be (?:[a-z]+ than|at|in|between|positive)|between|range"
)
_ACCEPTED = re.compile(
    r"(?<!\bnot\s)(?<!\bnever\s)(?<!\bbe\s)(?<!n't\s)(?<!n’t\s)"
    r"\b(?:allowed|supported|valid|permitted|accepted|known|available|expected)\b[^.;:\[\n]{0,40}?"
    r"(?:\bare\b|\bone of\b|[:\[])[^;\n]*?(?=\.\s|;|\n|$)",
    re.IGNORECASE,
)
"""The part of a sentence that lists what the server does accept."""
_CAPS = (
    r"\d+ > (\d[\d,]*)",
    r"[\[(]\s*\d+\s*,\s*(\d+)\s*[\])]",
    r"between \d+ and (\d[\d,]*)",
    r"(?:at most|up to|(?:less|lower) than or equal to|<=|≤|not exceed|no more than)[^\d.]{0,20}(\d[\d,]*)",
    r"maximum(?: allowed)?(?: value| number| limit)?(?: of| is|:)?[^\d.]{0,40}(\d[\d,]*)",
)


def refuses_value(said: str) -> bool:
    """Whether the size of a reply or of the whole context is refused, which only the user can change."""
    return bool(_CONTEXT.search(said) or (_LIMIT.search(said) and re.search(_SIZES, said, re.IGNORECASE)))


def _cap(said: str) -> int | None:
    for pattern in _CAPS:
        found = re.search(pattern, said, re.IGNORECASE)
        if found and int(found[1].replace(",", "")) >= 1:
            return int(found[1].replace(",", ""))
    return None


@dataclass(frozen=True)
class Dialect:
    """What a server is known to accept: the form of each field, and the highest limit of a reply in tokens."""

    forms: tuple[int, ...] = (0,) * len(_OPTIONS)
    cap: float = float("inf")

    def limit(self, most: int) -> int:
        """Maximum tokens of a reply."""
        return int(min(self.cap, most))

    def _sent(self, schema: Any, most: int) -> dict[str, dict[str, Any]]:
        limit = self.limit(most)
        forms = zip(_OPTIONS.items(), self.forms, strict=True)
        return {name: own[at](schema, limit) if at < len(own) else {} for (name, (own, _)), at in forms}

    def fields(self, schema: Any, most: int) -> dict[str, Any]:
        """The optional fields of a request."""
        return {name: value for form in self._sent(schema, most).values() for name, value in form.items()}

    def next(self, name: str) -> "Dialect":
        """The dialect with the next form of a field."""
        forms = tuple(at + (own == name) for own, at in zip(_OPTIONS, self.forms, strict=True))
        return Dialect(forms, self.cap)

    def less_format(self, schema: Any) -> "Dialect | None":
        """The dialect with less format, for a refusal that names nothing; None if there is none."""
        return self.next("format") if self._sent(schema, 1)["format"] else None

    def joined(self, other: "Dialect") -> "Dialect":
        """What both are known to accept."""
        return Dialect(tuple(map(max, self.forms, other.forms)), min(self.cap, other.cap))

    def without(self, error: ServerError, schema: Any, most: int) -> "Dialect | None":
        """The dialect after a refusal; None if a repeat makes no sense."""
        said = error.said
        if _CONTEXT.search(said):
            return None
        sent = {name: next(iter(form)) for name, form in self._sent(schema, most).items() if form}
        words = _ACCEPTED.sub(" ", said)
        named = [name for name, key in sent.items() if key in error.fields]
        named += [name for name in sent if re.search(_OPTIONS[name][1], words, 0 if name == "limit" else re.IGNORECASE)]
        if not named:
            return None
        if named[0] == "limit":
            cap = _cap(said)
            if cap is not None and cap < self.limit(most):
                return Dialect(self.forms, cap)
            if refuses_value(said):
                return None
        return self.next(named[0])
