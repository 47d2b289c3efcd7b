"""Servers of many dialects: each refusal costs the refused field alone; else a message names what to change."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_rewards import ASKED, LETTERS, _Server, judge, server, whole

from sa2va_lab.judge.dialect import Dialect, ServerError
from sa2va_lab.judge.questions import JudgeFailure, Question, read_letters
from sa2va_lab.judge.server import Server, plain

__all__ = ["server"]
REPLIES = json.loads((Path(__file__).parents[2] / "tests" / "fixtures" / "judge-replies.json").read_text())
"""Replies and answers that the lab reads in the same way."""
PAIR = ("a red ball", "the ball")
SCHEMA = {"type": "object"}
ALL = {"seed", "top_p", "temperature", "response_format", "max_tokens", "stream"}


def extra(*fields: str) -> dict[str, Any]:
    own = {"type": "extra_forbidden", "msg": "Extra inputs are not permitted", "input": 0}
    return {"detail": [own | {"loc": ["body", name]} for name in fields]}


def said(message: str, **more: object) -> dict[str, Any]:
    return {"error": {"message": message} | more}


PYTHON = "[{'type': 'extra_forbidden', 'loc': ('body', 'top_p'), 'input': {'seed': 0, 'temperature': 0}}]"
REFUSALS: list[tuple[object, set[str]]] = [
    ([said('Invalid JSON payload received. Unknown name "seed": Cannot find field.', code=400)], {"seed"}),
    (said("Unrecognized request argument supplied: seed"), {"seed"}),
    (said("Unrecognized request arguments supplied: response_format, seed"), {"seed"}),
    (said("`seed` is not supported by this model"), {"seed"}),
    (said("Invalid value", param="seed"), {"seed"}),
    (extra("seed"), {"seed"}),
    ({"object": "error", "message": extra("top_p")}, {"top_p"}),
    ({"object": "error", "message": json.dumps(extra("temperature"))}, {"temperature"}),
    ({"object": "error", "message": PYTHON}, {"top_p"}),
    (said("`temperature` and `top_p` cannot both be specified for this model."), {"top_p"}),
    (said("litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed']", code=500), {"seed"}),
    ("unknown field `seed`, expected one of `messages`, `temperature`, `top_p`, `max_tokens` at line 1", {"seed"}),
    (said("Supported parameters are: seed, top_p. Not supported: temperature"), {"temperature"}),
    (said("Provider returned error", metadata={"raw": json.dumps(said("Argument not supported: seed"))}), {"seed"}),
]


@pytest.mark.parametrize(("body", "left_out"), REFUSALS)
def test_a_refused_field_alone_is_left_out(body: object, left_out: set[str]) -> None:
    error = ServerError().visit(body if isinstance(body, str) else json.dumps(body))
    found = Dialect().without(error, SCHEMA, 500)
    assert found is not None
    assert set(found.fields(SCHEMA, 500)) == ALL - left_out
    assert found.fields(SCHEMA, 500)["response_format"]["type"] == "json_schema"


def test_fields_with_another_form_take_it() -> None:
    use = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    limit = Dialect().without(ServerError().visit(said(use, param="max_tokens")), SCHEMA, 500)
    assert limit is not None and limit.fields(SCHEMA, 500)["max_completion_tokens"] == 500
    schema = said("This model does not support response format `json_schema`.")
    less = Dialect().without(ServerError().visit(schema), SCHEMA, 500)
    assert less is not None and less.fields(SCHEMA, 500)["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 500. This model supports at most 256 completion tokens, whereas you provided 500.",
        "`max_tokens` must be less than or equal to `256`, the maximum value for this model",
        "max_tokens: 500 > 256, which is the maximum allowed number of output tokens",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 256]",
    ],
)
def test_a_limit_of_the_server_is_used(message: str) -> None:
    found = Dialect().without(ServerError().visit(said(message)), SCHEMA, 500)
    assert found == Dialect(cap=256)
    assert found.fields(SCHEMA, 500)["max_tokens"] == 256


def test_a_judge_with_a_dialect_gives_a_verdict(server: _Server, tmp_path: Path) -> None:
    server.script = [
        (400, [said('Unknown name "seed": Cannot find field.')]),
        (400, said("`temperature` and `top_p` cannot both be specified")),
        (200, ASKED),
        (200, LETTERS),
    ]
    term = judge(server, tmp_path).terms([PAIR])[0]
    assert (term["value"] is not None, term["judge"]["calls"]) == (True, 4)
    assert [ALL - set(call) for call in server.calls] == [set(), {"seed"}, {"seed", "top_p"}, {"seed", "top_p"}]


def test_a_refusal_without_a_name_costs_the_format_only_if_that_helps(server: _Server, tmp_path: Path) -> None:
    own = judge(server, tmp_path)
    server.script = [(400, "No.")] * 3
    assert own.terms([PAIR])[0]["judge"]["failure"] == "bad-request"
    kinds = [call.get("response_format", {}).get("type") for call in server.calls]
    assert kinds == ["json_schema", "json_object", None]
    server.calls.clear()
    server.script = [(400, "No."), (200, ASKED), (200, LETTERS)]
    assert own.terms([PAIR])[0]["value"] is not None
    kinds = [call.get("response_format", {}).get("type") for call in server.calls]
    assert kinds == ["json_schema", "json_object", "json_object"]


def reply(content: object, ended: str | None = "stop", **more: object) -> tuple[int, bytes]:
    message = {"content": content} | more
    return whole(None, choices=[{"message": message, "finish_reason": ended}])


@pytest.mark.parametrize(
    ("answer", "failure", "note"),
    [
        (reply("<think>\nstill thinking", "length"), "cut-off", "limit of 99 tokens; raise judgeMaxTokens"),
        (reply("<think>\nstill thinking", None), "cut-off", "raise judgeMaxTokens"),
        (reply("", "length", reasoning_content="hm"), "cut-off", "raise judgeMaxTokens"),
        (reply(""), "cut-off", "raise judgeMaxTokens"),
        (reply('{"subject": "c', "MAX_TOKENS"), "cut-off", "raise judgeMaxTokens"),
        (reply('{"subject": "c', "content_filter"), "cut-off", "choose another judgeModel"),
        (reply("Sure!"), "not-json", "choose a larger judgeModel"),
        (reply(None, refusal="I cannot."), "wrong-form", "refused to answer: I cannot.; choose another judgeModel"),
        ((200, b"HTTP/1.0 200 OK\r\n\r\n<html>"), "not-json", "web page; check that judgeUrl"),
        ((200, b'HTTP/1.0 200 OK\r\n\r\ndata: {"choices": []}'), "not-json", "turn streaming off"),
        (whole(None, error={"message": "overloaded", "code": 502}, choices=[]), "server", "status 502: overloaded"),
        (
            whole(None, error={"message": "Quota", "type": "insufficient_quota"}, choices=[]),
            "rate-limited",
            "429: Quota",
        ),
        (whole(None, error="slow down", choices=[]), "server", "status 500: slow down"),
        ((400, said("This model's maximum context length is 512 tokens.")), "bad-request", "change judgeMaxTokens"),
        ((400, said("model 'm' not found")), "no-model", "model 'm' not found"),
    ],
)
def test_a_judge_without_a_verdict_says_what_to_change(
    answer: tuple[int, Any], failure: str, note: str, server: _Server, tmp_path: Path
) -> None:
    server.script = [answer] * 2
    term = judge(server, tmp_path).terms([PAIR])[0]
    assert (term["value"], term["judge"]["failure"]) == (None, failure)
    assert note in term["note"]
    assert {call["response_format"]["type"] for call in server.calls} == {"json_schema"}


def test_a_reply_among_the_reasoning_is_read(server: _Server, tmp_path: Path) -> None:
    server.script = [reply(None, reasoning_content=json.dumps(own)) for own in (ASKED, LETTERS)]
    assert judge(server, tmp_path).terms([PAIR])[0]["value"] is not None


def test_an_error_of_status_200_is_repeated(server: _Server, tmp_path: Path) -> None:
    server.script = [whole(None, error={"message": "later", "code": 429}, choices=[]), (200, ASKED), (200, LETTERS)]
    term = judge(server, tmp_path, judgeRetries=1).terms([PAIR])[0]
    assert (term["value"] is not None, term["judge"]["calls"]) == (True, 3)


@pytest.mark.parametrize("status", [b"401 No", b"500 \x1b[31mred", b"200 OK"])
def test_no_message_holds_control_characters(status: bytes, server: _Server, tmp_path: Path) -> None:
    hostile = '\x1b[31m\x00\u202enoise\r\n\x07"'
    body = json.dumps({"error": {"message": hostile, "code": 401}}).encode()
    for text in (body, hostile.encode()):
        server.script = [(200, b"HTTP/1.0 " + status + b"\r\n\r\n" + text)] * 2
        note = judge(server, tmp_path).terms([PAIR])[0]["note"]
        assert note.isprintable(), ascii(note)
    server.script = [(200, b"HTTP/1.0 \x1b[2J\x07 gone\r\n\r\n")]
    assert judge(server, tmp_path).terms([PAIR])[0]["note"].isprintable()


def test_a_shown_text_is_one_short_line() -> None:
    assert plain("a\x1b[2Jb\n\tc\u202ed\x00", 20) == "ab cd"
    assert len(plain("x" * 10_000, 200)) == 200


@pytest.mark.parametrize("case", REPLIES["replies"], ids=lambda own: own["name"])
def test_a_reply_is_read_as_in_the_lab(case: dict[str, Any]) -> None:
    asked = [Question("positive", "?", tuple((text, 1) for text in choices)) for choices in REPLIES["questions"]]
    try:
        found: object = read_letters(case["reply"], asked)
    except JudgeFailure as failure:
        found = failure.kind
    assert found == case["expected"]


@pytest.mark.parametrize("case", REPLIES["answers"], ids=lambda own: own["name"])
def test_an_answer_is_read_as_in_the_lab(case: dict[str, Any]) -> None:
    limit, schema = case["limit"], SCHEMA if case["schema"] else None
    try:
        text, cut, _ = Server("http://a", "m", 1)._reply(case["answer"], schema, limit, limit)
        found: object = {"text": text, "cut": cut and cut.why}
    except JudgeFailure as failure:
        found = failure.kind
    assert found == case["expected"]
