"""The server shows a run and nothing else."""

import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from pathlib import Path

import pytest

from sa2va_lab.serve import Server, Shown, _Handler, main

ORIGIN = "http://localhost:5173"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    (folder / "checkpoints" / "step-000001").mkdir(parents=True)
    (folder / "checkpoints" / "step-000001" / "ema.safetensors").write_bytes(b"weights")
    (folder / "run.json").write_text("{}")
    (folder / "metrics.jsonl").write_text('{"step":1}\n')
    (tmp_path / "secret").write_text("no")
    (folder / "alarms.jsonl").symlink_to(tmp_path / "secret")
    return folder


@pytest.fixture
def server(run: Path) -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Shown(run, False), [ORIGIN], "abc")
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    place = HTTPConnection("127.0.0.1", server.server_address[1], timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    place.request(method, path, headers={"Authorization": "Bearer abc"} | named)
    answer = place.getresponse()
    return answer, answer.read()


def test_it_needs_the_token_and_the_origin(server: Server) -> None:
    assert ask(server, "/run.json", Authorization="Bearer abd")[0].status == 401
    assert ask(server, "/run.json", Authorization="")[0].status == 401
    assert ask(server, "/run.json", Origin="http://other.example")[0].status == 403
    answer, body = ask(server, "/run.json", Origin=ORIGIN)
    assert (answer.status, body) == (200, b"{}")
    assert answer.getheader("Access-Control-Allow-Origin") == ORIGIN
    question, _ = ask(server, "/run.json", "OPTIONS", Origin=ORIGIN, Authorization="")
    assert question.status == 204
    assert "Authorization" in str(question.getheader("Access-Control-Allow-Headers"))
    assert question.getheader("Access-Control-Allow-Private-Network") == "true"


@pytest.mark.parametrize(
    "path",
    ["/../secret", "/%2e%2e/secret", "/alarms.jsonl", "/scale/contract.json", "/", "//etc/passwd",
     "/run.json/../../secret", "/checkpoints/step-000001/ema.safetensors"],
)  # fmt: skip
def test_it_shows_nothing_else(server: Server, path: str) -> None:
    answer, body = ask(server, path)
    assert answer.status == 404
    assert body == b""


@pytest.mark.parametrize(("line", "host"), [("GET //[run HTTP/1.1", "localhost"), ("GET /run.json HTTP/1.1", "[")])
def test_an_address_of_no_form_is_answered(
    line: str, host: str, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(("127.0.0.1", server.server_address[1]), 20) as client:
        client.sendall(f"{line}\r\nHost: {host}\r\nAuthorization: Bearer abc\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 404"
    assert capfd.readouterr().err == ""


def test_it_writes_nothing(server: Server, run: Path) -> None:
    assert ask(server, "/run.json", "PUT")[0].status == 501
    assert ask(server, "/run.json", "DELETE")[0].status == 501
    assert (run / "run.json").read_text() == "{}"


def test_a_growing_file_is_read_on(server: Server, run: Path) -> None:
    answer, body = ask(server, "/metrics.jsonl")
    assert body == b'{"step":1}\n'
    tag = str(answer.getheader("ETag"))
    assert ask(server, "/metrics.jsonl", If_None_Match=tag)[0].status == 304
    assert ask(server, "/metrics.jsonl", Range=f"bytes={len(body)}-")[0].status == 416
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step":2}\n')
    more, added = ask(server, "/metrics.jsonl", Range=f"bytes={len(body)}-", If_None_Match=tag)
    assert (more.status, added) == (206, b'{"step":2}\n')
    assert more.getheader("Content-Range") == "bytes 11-21/22"


def test_the_listing_names_what_is_shown(server: Server) -> None:
    answer, body = ask(server, "/files.json")
    assert json.loads(body) == [{"path": "metrics.jsonl", "size": 11}, {"path": "run.json", "size": 2}]
    assert ask(server, "/files.json", If_None_Match=str(answer.getheader("ETag")))[0].status == 304
    head, nothing = ask(server, "/files.json", "HEAD")
    assert (head.status, nothing, head.getheader("Content-Length")) == (200, b"", str(len(body)))


def test_without_a_token_it_stays_at_home(run: Path) -> None:
    with pytest.raises(ValueError, match="token"):
        Server(("0.0.0.0", 0), Shown(run, False), [], None)


@pytest.mark.parametrize("origin", ["localhost:5173", "http://localhost:5173/index.html"])
def test_an_origin_of_another_form_is_refused(origin: str, run: Path) -> None:
    with pytest.raises(ValueError, match=f"--origin {origin} is not an origin"):
        Server(("127.0.0.1", 0), Shown(run, False), [origin], "abc")


def test_a_place_that_is_taken_is_named(
    server: Server, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = f"127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr("sys.argv", ["serve", str(run), "--port", place.partition(":")[2]])
    assert main() == 2
    assert f"{place} is not served: Address already in use" in capsys.readouterr().err


def test_a_part_is_that_of_the_file_that_was_begun(server: Server, run: Path) -> None:
    tag = str(ask(server, "/metrics.jsonl")[0].getheader("ETag"))
    assert ask(server, "/metrics.jsonl", Range="bytes=4-", If_Range=tag)[0].status == 206
    (run / "metrics.jsonl").write_text('{"step":2}\n{"step":3}\n')
    answer, body = ask(server, "/metrics.jsonl", Range="bytes=4-", If_Range=tag)
    assert (answer.status, len(body)) == (200, 22)
    assert ask(server, "/metrics.jsonl", Range=f"bytes={'1' * 5000}-")[0].status == 200


def test_a_file_may_be_removed_meanwhile(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, path = Shown(run, True), Shown.path

    def removing(self: Shown, name: str) -> Path | None:
        found = path(self, name)
        if found is not None and name != "run.json":
            found.unlink()
        return found

    monkeypatch.setattr(Shown, "path", removing)
    assert json.loads(shown.listing()) == [{"path": "run.json", "size": 2}]
    (run / "metrics.jsonl").write_text("")
    assert shown.open("metrics.jsonl") is None


def test_a_file_that_is_cut_meanwhile_ends_the_connection(
    server: Server, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = _Handler._begin

    def cutting(self: _Handler, status: int, length: int, **headers: str) -> None:
        begin(self, status, length, **headers)
        os.truncate(run / "metrics.jsonl", 3)

    monkeypatch.setattr(_Handler, "_begin", cutting)
    with pytest.raises(IncompleteRead):
        ask(server, "/metrics.jsonl")


def test_clients_that_hang_up_or_say_nothing(
    server: Server, run: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with (run / "metrics.jsonl").open("wb") as file:
        file.truncate(2**28)
    ended = threading.Event()
    monkeypatch.setattr(server, "shutdown_request", lambda request: (request.close(), ended.set()))
    client = socket.create_connection(("127.0.0.1", server.server_address[1]))
    client.sendall(b"GET /metrics.jsonl HTTP/1.1\r\nAuthorization: Bearer abc\r\n\r\n")
    client.recv(9)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    assert ended.wait(60)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(_Handler, "timeout", 0.01)
    with socket.create_connection(("127.0.0.1", server.server_address[1]), 60) as silent:
        assert silent.recv(1) == b""


def test_without_a_token_only_names_of_this_machine_are_answered(run: Path) -> None:
    made = Server(("::1", 0), Shown(run, False), [f"{ORIGIN}/"], None)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    for host, status in (("[::1]:8765", 200), ("localhost", 200), ("lab.example:8765", 403)):
        place = HTTPConnection("::1", made.server_address[1], timeout=20)
        place.request("GET", "/run.json", headers={"Host": host, "Origin": ORIGIN})
        assert place.getresponse().status == status
    made.shutdown()
    made.server_close()
