"""
python -m sa2va_lab.serve RUN --origin http://localhost:5173: shows a run to the lab's page while it is computed.

Read-only: a fixed list of files, no other listing, no links followed. It listens on the loopback; with --host it
listens elsewhere, but only with a token.
"""

import argparse
import contextlib
import hashlib
import json
import os
import re
import secrets
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

_SHOWN = re.compile(
    r"run\.json|files\.json|(metrics|phases|alarms|eval)\.jsonl|judge\.json|rollouts/step-\d{6,}\.arrow"
)
_WEIGHTS = re.compile(r"checkpoints/step-\d{6,}/[a-z_]+\.(safetensors|json)")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TYPES = {".json": "application/json", ".jsonl": "application/x-ndjson"}
_PIECE = 2**20


class Shown:
    """The readable files of a run folder."""

    def __init__(self, run: Path, weights: bool) -> None:
        """`weights` also shows the checkpoints."""
        self.run, self.weights = run.resolve(), weights

    def path(self, name: str) -> Path | None:
        """The file of a name; None for anything that is not shown."""
        if not (_SHOWN.fullmatch(name) or (self.weights and _WEIGHTS.fullmatch(name))):
            return None
        path = self.run / name
        # A link may lead anywhere.
        return path if path.is_file() and path.resolve() == path else None

    def open(self, name: str) -> tuple[BinaryIO, str] | None:
        """The current content of a name, and its tag; None for anything not shown."""
        if name == "files.json":
            listed = self.listing()
            return BytesIO(listed), f'"{hashlib.sha256(listed).hexdigest()[:16]}"'
        path = self.path(name)
        # The run may remove a file meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if path is not None:
                content = path.open("rb")
                about = os.fstat(content.fileno())
                return content, f'"{about.st_size:x}-{about.st_mtime_ns:x}"'
        return None

    def listing(self) -> bytes:
        """`files.json`: every shown file with its current size."""
        paths = (Path(folder, name) for folder, _, names in os.walk(self.run) for name in names)
        files = []
        for name in sorted(path.relative_to(self.run).as_posix() for path in paths):
            path = self.path(name) if name != "files.json" else None
            # The run may remove a file meanwhile.
            with contextlib.suppress(FileNotFoundError):
                files += [{"path": name, "size": path.stat().st_size}] if path is not None else []
        return json.dumps(files).encode()


class Server(ThreadingHTTPServer):
    """Serves one run."""

    daemon_threads = True

    def __init__(self, place: tuple[str, int], shown: Shown, origins: list[str], token: str | None) -> None:
        """Raises ValueError for an address beyond the loopback without a token, and for an invalid origin."""
        if token is None and place[0] not in _LOOPBACK:
            raise ValueError("other machines can reach it, so it needs a token")
        wrong = next((own for own in origins if not re.fullmatch(r"https?://[^/]+/?", own)), None)
        if wrong is not None:
            raise ValueError(f"--origin {wrong} is not an origin such as http://localhost:5173")
        self.shown, self.origins, self.token = shown, [origin.rstrip("/") for origin in origins], token
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        super().__init__(place, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that disconnect."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60

    def _begin(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        origin = self.headers.get("Origin")
        if origin in self.server.origins:
            self.send_header("Access-Control-Allow-Origin", str(origin))
            self.send_header("Access-Control-Expose-Headers", "Content-Range, Content-Length, ETag, Accept-Ranges")
        self.send_header("Vary", "Origin")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def do_OPTIONS(self) -> None:
        """Answers the browser's preflight request of a call from another origin."""
        asked = {"Methods": "GET, HEAD", "Headers": "Authorization, Range, If-None-Match", "Private_Network": "true"}
        allowed = {f"Access_Control_Allow_{name}": value for name, value in asked.items()}
        self._begin(204, 0, Access_Control_Max_Age="600", **allowed)

    def do_GET(self) -> None:
        """One file or a range of it, with its length at this moment."""
        origin, token = self.headers.get("Origin"), self.server.token
        given = self.headers.get("Authorization", "").encode()
        host, path = "", ""
        # An unclosed bracket.
        with contextlib.suppress(ValueError):
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            path = urlsplit(self.path).path
        # Without a token, a page under another name that resolves to this machine would have this server's origin.
        if (origin is not None and origin not in self.server.origins) or (token is None and host not in _LOOPBACK):
            self._begin(403, 0)
        elif token is not None and not secrets.compare_digest(given, f"Bearer {token}".encode()):
            self._begin(401, 0, WWW_Authenticate="Bearer")
        else:
            self._send(unquote(path).lstrip("/"))

    do_HEAD = do_GET

    def _send(self, name: str) -> None:
        opened = self.server.shown.open(name)
        if opened is None:
            self._begin(404, 0)
            return
        content, tag = opened
        with content:
            size = content.seek(0, SEEK_END)
            if self.headers.get("If-None-Match") == tag:
                self._begin(304, 0, ETag=tag)
                return
            asked = self.headers.get("Range", "") if self.headers.get("If-Range", tag) == tag else ""
            found = re.fullmatch(r"bytes=(\d{1,18})-(\d{0,18})", asked)
            first, last = (0, size - 1) if found is None else (int(found[1]), min(size - 1, int(found[2] or size)))
            if found is not None and (first >= size or last < first):
                self._begin(416, 0, Content_Range=f"bytes */{size}", ETag=tag)
                return
            kind = _TYPES.get(Path(name).suffix, "application/octet-stream")
            headers = {"Content_Range": f"bytes {first}-{last}/{size}"} if found else {}
            length, status = last - first + 1, 206 if found else 200
            self._begin(status, length, ETag=tag, Content_Type=kind, Accept_Ranges="bytes", **headers)
            content.seek(first)
            left = 0 if self.command == "HEAD" else length
            while left > 0 and (piece := content.read(min(left, _PIECE))):
                self.wfile.write(piece)
                left -= len(piece)
            # The file became shorter meanwhile: the client would wait for the rest.
            self.close_connection |= left > 0

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: a line per request would bury the token and the address."""


def main() -> int:
    """Command line; serves until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--origin", action="append", help="origin of the lab's page; may be given several times")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--weights", action="store_true", help="shows checkpoints too")
    parser.add_argument("--no-token", action="store_true", help="lets every program of this machine read")
    given = parser.parse_args()
    if not (given.run / "run.json").is_file():
        print(f"{given.run} holds no run.json; nothing is served", file=sys.stderr)
        return 2
    token = None if given.no_token else secrets.token_hex(16)
    origins = given.origin or ["http://localhost:5173"]
    try:
        server = Server((given.host, given.port), Shown(given.run, given.weights), origins, token)
    except (ValueError, OSError, OverflowError) as wrong:
        why = getattr(wrong, "strerror", None) or wrong
        print(f"{given.host}:{given.port} is not served: {why}", file=sys.stderr)
        return 2
    port = server.server_address[1]
    host = f"[{given.host}]" if ":" in given.host else given.host
    print(f"http://{host}:{port}", flush=True)
    if token is not None:
        print(f"token {token}", flush=True)
    if given.host in _LOOPBACK:
        print(f"from another machine: ssh -L {port}:{host}:{port} <this machine>", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
