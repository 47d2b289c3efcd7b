"""The server behind an OpenAI-compatible address: requests to it, and how its answers are read."""

import json
import math
import re
import threading
import urllib.request
from concurrent.futures import Future
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from ..errors import LabError
from . import questions as q
from .dialect import Dialect, ServerError, body_error, refuses_value
from .questions import JudgeFailure

_SHORTEST_KEY = 4
_MOST_BYTES = 2**22
_REFUSING = (400, 404, 415, 422, 500, 501)
"""Statuses with which servers and proxies refuse a field."""
_NO_MODEL = re.compile(r"model.{0,80}(?:not found|does not exist|unknown)|unknown model", re.IGNORECASE | re.DOTALL)
_CUT = {
    "length": "limit", "max_tokens": "limit", "max_output_tokens": "limit", "model_length": "limit",
    "content_filter": "filter", "safety": "filter",
}  # fmt: skip
"""Stop reasons of an incomplete reply."""
_ESCAPE = re.compile(r"[\x1b\x9b]\[?[0-?]*[ -/]*[@-~]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)
_KINDS = {401: "bad-key", 403: "bad-key", 404: "no-model", 408: "timeout", 429: "rate-limited"}


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Returns answers of every status and follows no redirection, so that the key reaches only the named server."""

    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:
        """The received bytes."""
        return response

    https_response = http_response


_OPENER = urllib.request.build_opener(_AsItIs)


def compact(value: object) -> str:
    """JSON without spaces, as the lab writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _spelled(char: str) -> str:
    """Pattern of a character as JSON or a URL may spell it."""
    url = "".join(f"%{byte:02x}" for byte in char.encode())
    behind = "" if char.isalnum() else r"\\{0,3}"
    return rf"(?:\\{{1,3}}u{ord(char):04x}|{url}|{behind}{re.escape(char)})"


def _text_of(content: Any) -> str | None:
    """
    The text, the JSON of an object that the server has parsed, or the text parts of a list, in which some services
    separate reasoning; None without any.
    """
    if isinstance(content, dict):
        return compact(content)
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [own["text"] for own in parts if isinstance(own, dict) and isinstance(own.get("text"), str)]
    return "".join(texts) if texts else None


def _structured(message: dict[str, Any]) -> str | None:
    """A structured reply that stands beside the text: parsed, or as arguments of the only call of a function."""
    called = message.get("function_call")
    match message.get("tool_calls"):
        case [{"function": called}]:
            pass
    arguments = called.get("arguments") if isinstance(called, dict) else None
    return _text_of(message.get("parsed")) or _text_of(arguments)


def plain(text: str, most: int) -> str:
    """A foreign text on one line without control characters, shortened in the middle."""
    line = " ".join(_UNSEEN.sub("", _ESCAPE.sub("", text[: 8 * most])).split())
    return line if len(line) <= most else f"{line[: most - most // 4 - 3]} … {line[-(most // 4) :]}"


def _foreign(text: str) -> str:
    """What an answer is that is often mistaken for that of a chat server."""
    if text.lstrip().startswith("<"):
        return "The judge's answer is a web page; check that judgeUrl ends in /v1"
    if re.match(r"\s*(?:data|event|id)?:", text):
        return "The judge's answer is a stream although none was requested; turn streaming off in the server or proxy"
    return "The judge's answer is not JSON"


def counted(usage: dict[str, Any], name: str, otherwise: int) -> float:
    """Tokens as counted by the server."""
    found = usage.get(name)
    return found if isinstance(found, (int, float)) and 0 <= found < math.inf else otherwise


@dataclass(frozen=True)
class Cut:
    """Why a reply is incomplete: `limit` or `filter`, the limit in tokens, and whether it is the server's own."""

    why: str
    limit: int
    own: bool


@dataclass
class Server:
    """One model behind an address; request fields that it refuses take another form from then on."""

    url: str
    model: str
    timeout: float
    key: str = ""
    dialect: Dialect = field(default_factory=Dialect)

    def __post_init__(self) -> None:
        """Raises LabError for an address of another form."""
        wrong = LabError(f"judgeUrl {self.url} is not a plain web address such as http://localhost:11434/v1")
        try:
            parts = urlsplit(self.url.strip())
        except ValueError as cause:
            # A bracket that is not closed.
            raise wrong from cause
        if parts.scheme not in ("http", "https") or parts.username or parts.password:
            raise wrong
        path = parts.path.rstrip("/").removesuffix("/chat/completions").rstrip("/") or "/v1"
        self.base, self.query = f"{parts.scheme}://{parts.netloc}{path}", parts.query and f"?{parts.query}"

    @property
    def place(self) -> str:
        """The address without key and query."""
        return self._without_key(self.base)

    def _send(self, end: str, body: dict[str, Any] | None) -> Any:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        data = None if body is None else compact(body).encode()
        asked = urllib.request.Request(f"{self.base}{end}{self.query}", data, headers)
        try:
            status, wait, text = self._answer(asked)
        except (OSError, HTTPException, ValueError) as cause:
            if isinstance(getattr(cause, "reason", cause), TimeoutError):
                raise JudgeFailure("timeout", f"The judge did not answer within {self.timeout:g} s") from cause
            said = plain(self._without_key(str(cause)), 200)
            raise JudgeFailure("unreachable", f"The judge gave no complete answer: {said}") from cause
        accepted = 200 <= status < 300
        value = q.parsed(text, _foreign(text)) if accepted else None
        error = body_error(value) if accepted else ServerError().visit(text)
        if error is not None:
            raise self._refusal(error.status or 500 if accepted else status, error, text, wait)
        return value

    def _refusal(self, status: int, error: ServerError, text: str, wait: str) -> JudgeFailure:
        kind = "server" if status >= 500 else _KINDS.get(status, "bad-request" if status >= 400 else "unreachable")
        said = plain(self._without_key(error.said or text), 200)
        advice = ""
        if refuses_value(error.said) and kind in ("server", "bad-request", "no-model"):
            kind, advice = "bad-request", "; change judgeMaxTokens, or choose a judgeModel with a longer context"
        elif kind == "bad-request" and _NO_MODEL.search(said):
            kind = "no-model"
        quote = f": {said}" if said else ""
        failure = JudgeFailure(
            kind, f"The judge answered with status {status}{quote}{advice}", text[:4096], q.waiting(wait)
        )
        failure.error = error if status in _REFUSING and kind != "no-model" else None
        return failure

    def _answer(self, asked: urllib.request.Request) -> tuple[int, str, str]:
        """
        Status, Retry-After and text. The time limit covers the whole answer, so that a server that sends byte by byte
        cannot extend it.
        """
        answered: Future[tuple[int, str, str]] = Future()

        def ask() -> None:
            try:
                answered.set_result(self._read(asked))
            except Exception as cause:
                answered.set_exception(cause)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(self.timeout)
        if not answered.done():
            raise TimeoutError
        return answered.result()

    def _read(self, asked: urllib.request.Request) -> tuple[int, str, str]:
        with _OPENER.open(asked, timeout=self.timeout) as answer:
            data = answer.read(_MOST_BYTES + 1)
            if len(data) > _MOST_BYTES:
                raise JudgeFailure("too-long", f"The judge's answer has more than {_MOST_BYTES} bytes")
            text = self._without_key(data.decode("utf-8-sig", "replace"))
            return answer.status, answer.headers.get("Retry-After", ""), text

    def _without_key(self, text: str) -> str:
        """Removes the key, however JSON or a URL spells its characters."""
        key = self.key.strip()
        if len(key) < _SHORTEST_KEY:
            return text
        return re.sub("".join(map(_spelled, key)), "[key]", text, flags=re.IGNORECASE)

    def first_model(self) -> str:
        """The first model that the server lists; servers without a list accept any name."""
        try:
            found = self._send("/models", None)
            listed = found["data"] if isinstance(found, dict) else found
            return next(own["id"] for own in listed if isinstance(own["id"], str))
        except (JudgeFailure, LookupError, TypeError, StopIteration):
            return "default"

    def complete(
        self, messages: list[dict[str, str]], schema: dict[str, Any] | None, most: int, guess: Dialect | None = None
    ) -> tuple[str, Cut | None, Any]:
        """
        A reply at temperature 0, why it is incomplete, and the counted tokens.

        Raises JudgeFailure, whose `again` is the dialect of the next try; the caller passes it as `guess`.
        """
        used = guess or self.dialect
        body: dict[str, Any] = {"model": self.model, "messages": messages} | used.fields(schema, most)
        try:
            answer = self._send("/chat/completions", body)
        except JudgeFailure as failure:
            if failure.error is not None:
                failure.again = used.without(failure.error, schema, most)
                if failure.again is not None and guess is None:
                    self.dialect = failure.again = self.dialect.joined(failure.again)
                sizes = refuses_value(failure.error.said)
                if failure.again is None and failure.kind == "bad-request" and not sizes:
                    failure.again = used.less_format(schema)
            raise
        # What was only a guess is accepted.
        self.dialect = self.dialect.joined(used)
        return self._reply(answer, schema, used.limit(most), most)

    def _reply(self, answer: Any, schema: Any, limit: int, most: int) -> tuple[str, Cut | None, Any]:
        try:
            first, usage = answer["choices"][0], answer.get("usage")
            message, reason = first["message"], first.get("finish_reason") or first.get("stop_reason")
            reasoning = _text_of(message.get("reasoning_content")) or _text_of(message.get("reasoning")) or ""
            text, refusal = _text_of(message.get("content")), message.get("refusal")
        except (LookupError, TypeError, AttributeError) as cause:
            said = plain(ServerError().visit(answer).said, 150)
            missing = f"The judge's answer contains no reply{said and f': {said}'}"
            raise JudgeFailure("wrong-form", missing, compact(answer)) from cause
        if reason == "abort":
            raise JudgeFailure("server", "The judge's model was interrupted in its reply", compact(answer))
        if isinstance(refusal, str) and refusal:
            refused = f"The judge's model refused to answer: {plain(refusal, 100)}; choose another judgeModel"
            raise JudgeFailure("wrong-form", refused, compact(answer))
        why = _CUT.get(str(reason).lower())
        if schema is not None and not (text or "").strip():
            text = _structured(message) or text
        if text is None and not reasoning and why is None:
            raise JudgeFailure("wrong-form", "The judge's answer contains no reply", compact(answer))
        text, usage = text or "", usage if isinstance(usage, dict) else {}
        if not text.strip() and why is None and schema is not None and "{" in reasoning:
            # Some servers take a whole structured reply for reasoning.
            text = reasoning
        unfinished = not text.strip() or (text.lstrip().startswith("<think>") and "</think>" not in text)
        # Some servers give no reason.
        full = not isinstance(reason, str) and counted(usage, "completion_tokens", 0) >= limit
        if why is None and (unfinished or full):
            why = "limit"
        return text, None if why is None else Cut(why, limit, limit < most), usage
