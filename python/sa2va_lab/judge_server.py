"""The server behind an OpenAI-compatible address: requests to it, and how its answers are read."""

import json
import math
import re
import threading
import urllib.request
from concurrent.futures import Future
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

from . import questions as q
from .errors import LabError
from .questions import JudgeFailure

_SHORTEST_KEY = 4
_MOST_BYTES = 2**22
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


def _text_of(content: Any) -> str:
    """The text, or the text parts of a list, in which some services separate reasoning. Raises TypeError."""
    parts = [content] if isinstance(content, str) else [own.get("text") for own in content if isinstance(own, dict)]
    texts = [own for own in parts if isinstance(own, str)]
    if not texts:
        raise TypeError("no text")
    return "".join(texts)


def counted(usage: dict[str, Any], name: str, otherwise: int) -> float:
    """Tokens as counted by the server."""
    found = usage.get(name)
    return found if isinstance(found, (int, float)) and 0 <= found < math.inf else otherwise


@dataclass
class Server:
    """One model behind an address; request features that it refuses are left out from then on."""

    url: str
    model: str
    timeout: float
    key: str = ""
    form: str = "json_schema"
    limit: str = "max_tokens"
    steady: bool = True

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
            said = self._without_key(str(cause))
            raise JudgeFailure("unreachable", f"The judge gave no complete answer: {said}") from cause
        if not 200 <= status < 300:
            kind = "server" if status >= 500 else _KINDS.get(status, "bad-request" if status >= 400 else "unreachable")
            failure = JudgeFailure(kind, f"The judge answered with status {status}", text[:4096], q.waiting(wait))
            failure.refused = status in (400, 422)
            raise failure
        return q.parsed(text, "The judge's answer is not JSON")

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
        self, messages: list[dict[str, str]], schema: dict[str, Any] | None, most: int
    ) -> tuple[str, bool, Any]:
        """A reply at temperature 0, whether it is incomplete, and the counted tokens. Raises JudgeFailure."""
        used = (self.form, self.limit, self.steady)
        body: dict[str, Any] = {"model": self.model, "messages": messages, self.limit: most}
        body |= {"temperature": 0, "top_p": 1, "seed": 0} if self.steady else {}
        body["stream"] = False
        if schema is not None and self.form == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif schema is not None and self.form == "json_schema":
            named = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            answer = self._send("/chat/completions", body)
        except JudgeFailure as failure:
            failure.again = failure.refused and self._adapt(used, failure.raw, schema is not None)
            raise
        try:
            first, usage = answer["choices"][0], answer.get("usage")
            text = _text_of(first["message"]["content"])
            ended = first.get("finish_reason")
        except (LookupError, TypeError, AttributeError) as cause:
            raise JudgeFailure("wrong-form", "The judge's answer contains no reply", compact(answer)) from cause
        if ended == "abort":
            raise JudgeFailure("server", "The judge's model was interrupted in its reply", compact(answer))
        return text, ended in ("length", "content_filter"), usage if isinstance(usage, dict) else {}

    def _adapt(self, used: tuple[str, str, bool], refusal: str, structured: bool) -> bool:
        """Leaves out a feature that the server refuses; returns whether a repeat makes sense."""
        if used != (self.form, self.limit, self.steady):
            return True
        if self.limit == "max_tokens" and "max_completion_tokens" in refusal:
            self.limit = "max_completion_tokens"
        elif self.steady and any(word in refusal for word in ("temperature", "top_p", "'seed'", '"seed"')):
            self.steady = False
        elif structured and self.form != "none":
            self.form = "json_object" if self.form == "json_schema" else "none"
        else:
            return False
        return True
