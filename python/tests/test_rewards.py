"""Rewards that call out: the judge behind a failing server, rewards in Python, and the effect of a missing verdict."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_loss import settings

from sa2va_lab import custom
from sa2va_lab.errors import LabError
from sa2va_lab.judge import CaptionJudge
from sa2va_lab.judge.questions import Question, parse_answer, scored, waiting
from sa2va_lab.judge.server import Server
from sa2va_lab.language import Slots, visibility
from sa2va_lab.masks import Mask
from sa2va_lab.memory import halved
from sa2va_lab.meteor import Meteor, Wordnet
from sa2va_lab.model import Features
from sa2va_lab.rewards import Facts, Likelihood, Scorer, score_group
from sa2va_lab.variants import Bonus, after, bonus, mean_scores

TABLE = Path(__file__).parents[2] / "public" / "wordnet" / "wordnet30.txt"

MASK = np.ones((4, 4), np.uint8)
PROMPTS = {"questions": "Q {{reference}}", "answers": "A {{caption}} {{questions}}", "dlc": "{{question}}"}
ASKED = {"subject": "ball", "attributes": [{"part": "ball", "attribute": "colour", "value": "red"}], "absent": ["dog"]}


TRICKLE = object()
"""A reply whose header never ends."""


class _Server(ThreadingHTTPServer):
    closed: threading.Event
    script: list[tuple[int, Any]]
    calls: list[dict[str, Any]]
    keys: list[str | None]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls.append(body)
        status, reply = self.server.script.pop(0)
        self.server.keys.append(self.headers["Authorization"])
        if isinstance(reply, bytes):
            # A complete answer with its header.
            self.wfile.write(reply)
            return
        if reply is TRICKLE:
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
                while not self.server.closed.wait(0.05):
                    self.wfile.write(b"x")
            return
        text = json.dumps(reply if status != 200 else {"choices": [{"message": {"content": json.dumps(reply)}}]})
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Does nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    made = _Server(("127.0.0.1", 0), _Handler)
    made.script, made.calls, made.keys, made.closed = [], [], [], threading.Event()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.closed.set()
    made.shutdown()
    made.server_close()


LETTERS = {"q1": "A", "q2": "A", "q3": "A"}
SHARE: dict[str, Any] = {"place": (0, 1), "spent": (0, 0)}


def whole(text: object, head: str = "HTTP/1.0 200 OK", **more: object) -> tuple[int, bytes]:
    """An answer of a judge with its header; `more` is added next to the reply."""
    answer = {"choices": [{"message": {"content": text}, "finish_reason": more.pop("ended", "stop")}]} | more
    return 200, f"{head}\r\n\r\n{json.dumps(answer)}".encode()


def judge(server: _Server, folder: Path, share: dict[str, Any] = SHARE, **change: object) -> CaptionJudge:
    given = {"judge": "questions", "judgeUrl": f"http://127.0.0.1:{server.server_address[1]}", "judgeModel": "m",
             "judgePositives": 2, "judgeNegatives": 1, "judgeMaxTokens": 99, "judgeParallel": 1, "judgeTimeout": 20,
             "judgeRetries": 0}  # fmt: skip
    return CaptionJudge(settings(**(given | change)), PROMPTS, folder / "judge" / "replies.jsonl", **share)


@pytest.mark.parametrize(
    "said", [r"sk-AbC/dEf+12==", r"sk-AbC\/dEf+12==", r"sk-AbC/dEf+12\u003d\u003D", "sk-AbC%2FdEf%2b12%3D%3D"]
)
def test_a_key_is_taken_out_however_it_is_spelled(said: str) -> None:
    asked = Server("http://localhost", "m", 1, "sk-AbC/dEf+12==")
    assert asked._without_key(f'{{"error": "wrong key {said}"}}') == '{"error": "wrong key [key]"}'


def test_replies_of_an_unnamed_model_are_those_of_its_server(server: _Server, tmp_path: Path) -> None:
    server.script = [(200, ASKED), (200, {"q1": "A", "q2": "A", "q3": "A"})] * 4
    other = _Server(("127.0.0.1", 0), _Handler)
    other.script, other.calls, other.keys = server.script, [], []
    threading.Thread(target=other.serve_forever, daemon=True).start()
    for one in (server, server, other):
        judge(one, tmp_path, judgeModel="").terms([("a red ball", "the ball")])
    other.shutdown()
    other.server_close()
    assert server.calls and len(other.calls) == len(server.calls)


def test_a_judge_is_asked_once_and_its_replies_are_kept(server: _Server, tmp_path: Path) -> None:
    # The server refuses the first form, then sends the questions, then the answers.
    server.script = [(400, {"error": "no response_format"}), (200, ASKED), (200, {"q1": "A", "q2": "A", "q3": "A"})]
    terms = judge(server, tmp_path).terms([("a red ball", "the ball"), ("a red ball", "the ball"), ("a red ball", "")])
    assert [term["judge"]["calls"] for term in terms] == [3, 0, 0]
    assert terms[0]["value"] == terms[1]["value"] is not None
    assert (terms[2]["value"], terms[2]["note"]) == (0.0, "empty caption")
    assert [call["response_format"]["type"] for call in server.calls] == ["json_schema", "json_object", "json_object"]
    again = judge(server, tmp_path).terms([("a red ball", "the ball")])
    assert again[0]["judge"]["cached"]
    assert again[0]["value"] == terms[0]["value"]
    assert len(server.calls) == 3


def test_a_failure_is_no_verdict(server: _Server, tmp_path: Path) -> None:
    server.script = [(500, {}), (200, ASKED), (200, {"q1": "Z"}), (200, {"q1": "A"})]
    terms = judge(server, tmp_path, judgeRetries=1).terms([("a red ball", "the ball")])
    assert terms[0]["value"] is None
    assert terms[0]["judge"]["failure"] == "wrong-form"
    assert terms[0]["judge"]["calls"] == 4
    spent = judge(server, tmp_path / "other", judgeMaxCalls=1)
    server.script = [(200, ASKED)]
    assert spent.terms([("a dog", "cat")])[0]["judge"]["failure"] == "budget"


FENCED = f"```JSON\n{json.dumps(ASKED)}\n```"


@pytest.mark.parametrize(
    "odd",
    [
        whole([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": json.dumps(ASKED)}]),
        whole(FENCED),
        whole(json.dumps(ASKED), usage={"prompt_tokens": None, "completion_tokens": "9"}),
        whole(json.dumps(ASKED), usage=[1]),
        whole(json.dumps(ASKED | {"subject": "\ud83d ball"})),
    ],
)
def test_odd_replies_are_read(odd: tuple[int, bytes], server: _Server, tmp_path: Path) -> None:
    server.script = [odd, (200, LETTERS)]
    term = judge(server, tmp_path, judgePromptPrice=1, judgeReplyPrice=1).terms([("a red ball", "the ball")])[0]
    assert (term["value"] is not None, term["judge"]["calls"]) == (True, 2)
    json.dumps(term, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("odd", "failure"),
    [
        (whole(json.dumps(ASKED), ended="abort"), "server"),
        (whole("[" * 200_000), "not-json"),
        ((200, b"SSH-2.0-OpenSSH\r\n"), "unreachable"),
        ((200, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"), "unreachable"),
        ((200, b"HTTP/1.0 429 Wait\r\nRetry-After: \xb2\r\n\r\n{}"), "rate-limited"),
        ((200, b"HTTP/1.0 200 OK\r\n\r\n" + b" " * (2**22 + 1)), "too-long"),
    ],
)
def test_an_odd_server_ends_no_run(odd: tuple[int, bytes], failure: str, server: _Server, tmp_path: Path) -> None:
    server.script = [odd] * 2
    term = judge(server, tmp_path).terms([("a red ball", "the ball")])[0]
    assert (term["value"], term["judge"]["failure"]) == (None, failure)


def test_a_header_that_never_ends_is_a_timeout(server: _Server, tmp_path: Path) -> None:
    server.script = [(200, TRICKLE)] * 2
    term = judge(server, tmp_path, judgeTimeout=1).terms([("a red ball", "the ball")])[0]
    assert (term["value"], term["judge"]["failure"]) == (None, "timeout")


def test_a_key_goes_to_the_named_server_only(server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SA2VA_LAB_JUDGE_KEY", " sk-secret\n")
    other = _Server(("127.0.0.1", 0), _Handler)
    place = f"http://127.0.0.1:{other.server_address[1]}/v1"
    server.script = [(200, f"HTTP/1.0 302 Found\r\nLocation: {place}\r\n\r\n".encode())]
    term = judge(server, tmp_path).terms([("a red ball", "the ball")])[0]
    other.server_close()
    assert (server.keys, term["judge"]["failure"]) == (["Bearer sk-secret"], "unreachable")
    assert "sk-secret" not in json.dumps(term)


@pytest.mark.parametrize(("rank", "calls"), [(0, 2), (1, 1), (2, 1)])
def test_processes_and_resumed_runs_share_a_budget(rank: int, calls: int, server: _Server, tmp_path: Path) -> None:
    server.script = [(500, {})] * 9
    share = {"place": (rank, 3), "spent": (6, 0.5)}
    own = judge(server, tmp_path, share, judgeRetries=0, judgeMaxCalls=10)
    for caption in ("one", "two", "three"):
        term = own.terms([("a red ball", caption)])[0]
    assert (len(server.calls), term["judge"]["failure"]) == (calls, "budget")


def test_a_cost_is_never_passed(server: _Server, tmp_path: Path) -> None:
    # A call of 16 prompt tokens and at most 99 reply tokens; the first reply costs what the server counts.
    server.script = [whole(json.dumps(ASKED), usage={"prompt_tokens": 10, "completion_tokens": 20}), (200, LETTERS)]
    own = judge(server, tmp_path, judgeReplyPrice=1e6, judgeMaxCost=118)
    term = own.terms([("a red ball", "the ball")])[0]
    assert (term["judge"]["failure"], term["judge"]["cost"], len(server.calls)) == ("budget", 20, 1)


def test_questions_are_made_once_and_their_failure_is_shared(server: _Server, tmp_path: Path) -> None:
    server.script = [(200, ASKED), (200, LETTERS), (200, LETTERS), (500, {})]
    own = judge(server, tmp_path, judgeParallel=4)
    terms = own.terms([("a red ball", ""), ("a red ball", "one"), ("a red ball", "two")])
    assert [term["judge"]["calls"] for term in terms] == [0, 2, 1]
    # Each verdict shows the questions that it answers.
    assert [len(term["judge"]["raw"]) for term in terms] == [0, 2, 2]
    failed = own.terms([("a dog", "one"), ("a dog", "two"), ("a dog", " ")])
    assert [term["judge"]["failure"] for term in failed] == ["server", "server", None]
    assert len(server.calls) == 4


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), (" 1.5 ", 1.5), ("Thu, 01 Jan 1970 00:02:00 GMT", 20), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("", None),
     ("soon", None), ("-3", None), ("Thu, 99 Jan 1970 00:00:00 GMT", None)],
)  # fmt: skip
def test_a_server_says_how_long_to_wait(header: str, seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 100.0)
    assert waiting(header) == seconds


@pytest.mark.parametrize("url", ["http://[::1/v1", "localhost:8000", "http://me:secret@host/v1"])
def test_an_address_of_another_form_is_named(url: str) -> None:
    with pytest.raises(LabError, match="is not a plain web address"):
        Server(url, "m", 1).first_model()


def test_a_cache_that_was_cut_is_gone_on_with(server: _Server, tmp_path: Path) -> None:
    kept = tmp_path / "judge" / "replies.jsonl"
    kept.parent.mkdir()
    # Also half a character, as JavaScript writes it.
    kept.write_bytes('{"key":"b","reply":"\\ud83d"}\n{"key":"a","reply":"Ä'.encode()[:-1])
    assert {key: own.result() for key, own in judge(server, tmp_path)._replies.items()} == {"b": "\ufffd"}
    server.script = [(200, ASKED), (200, LETTERS)]
    for _ in range(2):
        assert judge(server, tmp_path).terms([("a red ball", "the ball")])[0]["value"] is not None
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("answer", "choice"), [("B", 1), ("b. no", 1), ("I say yes", 0), ("maybe", None), ("no yes", 0)]
)
def test_answers_are_read_as_in_the_benchmark(answer: str, choice: int | None) -> None:
    assert parse_answer(answer, ["yes", "no"]) == choice


def test_another_thing_earns_nothing() -> None:
    questions = [Question("recognition", "?", (("Yes", "correct"), ("No", "incorrect"))),
                 Question("positive", "?", (("a", 1), ("b", -1)))]  # fmt: skip
    assert scored(questions, ["A", "A"])["score"] == 1
    assert scored(questions, ["B", "A"])["score"] == 0
    assert scored(questions, ["perhaps", "A"])["score"] is None


class _Fixed:
    utility = staticmethod(CaptionJudge.utility)

    def terms(self, pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
        return [{"name": "judge", "value": 0.5 if caption == "ball" else None} for _, caption in pairs]


@pytest.fixture(scope="module")
def meteor() -> Meteor:
    table = Path(__file__).parents[2] / "public" / "wordnet" / "wordnet30.txt"
    if not table.exists():
        pytest.skip("the lab's WordNet table is not beside this package")
    return Meteor(Wordnet(table))


@pytest.mark.parametrize(("policy", "rewards"), [("drop", [0.5, None]), ("group", [None, None]), ("meteor", None)])
def test_a_missing_verdict(policy: str, rewards: list[float | None] | None, meteor: Meteor) -> None:
    group = [Facts("ball", caption, MASK, MASK, 1.0) for caption in ("ball", "dog")]
    own = settings(loop2Judge=1, missingVerdict=policy)
    found, terms = score_group(group, 2, own, Scorer(meteor, _Fixed()))
    assert found == (rewards or [next(t["value"] for t in row if t["name"] == "meteor") for row in terms])
    with pytest.raises(LabError, match="no verdict"):
        score_group(group, 2, settings(loop2Judge=1, missingVerdict="pause"), Scorer(meteor, _Fixed()))


def test_rewards_in_python(tmp_path: Path, meteor: Meteor) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def reward(rollout):\n    return rollout['predicted'].mean() * 2 - rollout['terms']['iou']\n")
    own = parse_own(loop1User=2)
    group = [Facts("ball", "ball", MASK, MASK, 1.0)]
    assert score_group(group, 1, own, Scorer(meteor, None, custom.read(path)))[0] == [2.0]
    with pytest.raises(LabError, match="ZeroDivisionError"):
        score_group(group, 1, own, Scorer(meteor, None, partial(custom.term, lambda rollout: 1 / 0)))
    with pytest.raises(LabError, match="not a finite number"):
        score_group(group, 1, own, Scorer(meteor, None, partial(custom.term, lambda rollout: "much")))
    path.write_text("rewards = 3")
    with pytest.raises(LabError, match="no function reward"):
        custom.read(path)


def parse_own(**change: object) -> Any:
    """Settings with a custom reward that is given in Python."""
    from test_loss import defaults  # noqa: PLC0415

    from sa2va_lab.settings import parse_settings  # noqa: PLC0415

    return parse_settings(change, defaults(), own_reward=True)


def test_likelihoods_and_several_texts(meteor: Meteor) -> None:
    own = settings(loop2Likelihood=1, loop2Contrast=1)
    group = [
        Facts("ball", "ball", MASK, MASK, 1.0, known) for known in (Likelihood(0.25, 0.5), Likelihood(0.5, None), None)
    ]
    rewards, terms = score_group(group, 2, own, Scorer(meteor))
    assert rewards == [0.75, None, 0.0]
    one, two = (
        score_group(group[:1], 2, settings(loop2Meteor=1), Scorer(meteor)),
        ([0.0], [[terms[0][1] | {"value": 0.0}]]),
    )
    means, noted = mean_scores([one, two], [["ball"], ["dog"]])
    assert means[0] == pytest.approx((one[0][0] or 0) / 2)
    assert "mean over 2 captions" in next(term["note"] for term in noted[0] if term["name"] == "meteor")


def test_an_adaptive_bonus_follows_its_target() -> None:
    own = settings(useAdaptiveEntropy=True, entropyTarget=1, entropyCoefDelta=0.1, entropyCoefMax=0.15)
    start: Bonus = {"coefficient": 0.1, "lastEntropy": None}
    assert bonus(start, own) == 0
    low = after(start, 0.5, own)
    assert (bonus(low, own), bonus(after(low, 2, own), own)) == (0.15, 0)
    assert after(low, float("nan"), own) == low


def test_rounded_features_keep_their_range() -> None:
    values = torch.tensor([[1.0, 1 + 2**-13, 3e5]])
    both = halved(Features(values, [values / 3e5], (1, 1), 1))
    found = both.vision
    gaps = [(kept - own).norm() / own.norm() for kept, own in ((found, values), (both.levels[0], values / 3e5))]
    assert both.error is not None
    assert both.error == pytest.approx(float(max(gaps)), rel=1e-3) and 0 < both.error < 5e-4
    assert found[0, 0] == found[0, 1] == 1
    assert float(found[0, 2]) == pytest.approx(3e5, rel=1e-3)


def test_slots_give_what_a_growing_cache_gives() -> None:
    keys = torch.randn(1, 2, 5, 3)
    cache = Slots(1, 3)
    cache.update(keys[:, :, :3], keys[:, :, :3], 0)
    cache.at = 3
    wide = Slots.joined([cache], [2], 3, 5)
    wide.update(keys[:, :, 3:].repeat(2, 1, 1, 1), keys[:, :, 3:].repeat(2, 1, 1, 1), 0)
    assert torch.equal(wide.buffers[0][0], keys.repeat(2, 1, 1, 1))
    places = torch.arange(5)[None]
    seen = visibility(places, places, torch.tensor([[True, True, False, True, True]]), 2, keys)[0, 0] == 0
    assert seen.sum(1).tolist() == [1, 2, 1, 1, 2]


def test_terms_of_a_band_of_no_object_and_of_an_end() -> None:
    one, none = np.eye(2, dtype=np.uint8), np.zeros((2, 2), np.uint8)
    s = settings(bandSlope=2, bandCentre=0.25, bandLow=-0.4, bandHigh=1, emptyPairReward=1, iouShape="squared")

    def terms(given: Mask, predicted: Mask | None, **more: Any) -> dict[str, tuple[float, str]]:
        facts = Facts("a", "a", given, predicted, 0.5, **more)
        found = score_group([facts], 1, s, Scorer(Meteor(Wordnet(TABLE))))[1][0]
        return {own["name"]: (own["value"], own.get("note", "")) for own in found}

    half = np.array([[1, 0], [0, 0]], np.uint8)
    assert terms(one, half)["banded"] == (0.5, "")
    assert terms(one, None)["banded"] == (-0.4, "no mask")
    assert terms(none, none)["banded"] == (1.0, "both masks empty")
    assert terms(one, half)["target"] == terms(none, None)["target"] == (1.0, "")
    assert terms(one, none)["target"] == (0.0, "no mask for the object")
    assert terms(none, one)["target"] == (0.0, "a mask without an object")
    assert terms(one, one)["form"] == (1.0, "")
    assert terms(one, one, truncated=True)["form"] == (0.0, "no end token")
    assert terms(one, one, segments=0)["form"] == (1.0, "")
    assert terms(one, one, truncated=True, segments=0)["form"] == (0.5, "no end token")
    assert terms(one, one, truncated=True, segments=2)["form"] == (0.0, "no end token, 2 [SEG] instead of 0")
