"""Writes tests/fixtures/data/frames: LZ4 and Zstandard frames by pyarrow and by lz4 1.9 and zstd 1.5, of contents that the test of frames makes again.

Usage: python tests/oracle/make_frames.py
"""

import subprocess
from pathlib import Path

import pyarrow as pa

WORDS = "a the red green box ball on left of under person holding 42 .".split(" ")


def numbers(seed):
    """The generator that the test has too: Park and Miller's, the state's upper bits."""
    state = seed
    while True:
        state = state * 48271 % 0x7FFFFFFF
        yield state >> 8


def contents():
    draw = numbers(1)
    yield "empty", b""
    yield "one", b"a"
    yield "zeros", bytes(200_000)
    yield "noise", bytes(next(draw) % 256 for _ in range(3000))
    yield "words", " ".join(WORDS[next(draw) % len(WORDS)] for _ in range(3000)).encode()
    yield "skewed", bytes(min(next(draw) % 64, next(draw) % 64, next(draw) % 64) for _ in range(4000))
    yield "runs", b"".join(bytes([next(draw) % 5]) * (1 + next(draw) % 400) for _ in range(500))


out = Path(__file__).parents[1] / "fixtures" / "data" / "frames"
for name, content in contents():
    (out / f"{name}.lz4").write_bytes(pa.compress(content, codec="lz4", asbytes=True))
    for level in (1, 9, 19):
        frame = pa.Codec("zstd", compression_level=level).compress(content, asbytes=True)
        (out / f"{name}.{level}.zst").write_bytes(frame)
    if name == "skewed":
        for command in (["lz4", "-9", "-BX", "-BI", "--content-size"], ["zstd", "--check", "-B1024", "-5"]):
            frame = subprocess.run([*command, "-c"], input=content, capture_output=True, check=True).stdout
            (out / f"{name}.checked.{'lz4' if command[0] == 'lz4' else 'zst'}").write_bytes(frame)
