"""The lab's fingerprint of a checkpoint folder."""

import json
from hashlib import sha256
from pathlib import Path

from .errors import FORM, LabError, reading


def model_hash(folder: Path) -> str:
    """
    The lab's fingerprint of a checkpoint folder: whole configurations, and the name and three pieces of every tensor.

    It equals run.json's model.hash where the lab opened the same files from a folder. Raises LabError for a folder
    without a checkpoint and for a damaged file.
    """
    if not (folder / "config.json").is_file():
        raise LabError(f"--model {folder} holds no config.json; nothing was changed")
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    parts = []
    for path in paths:
        if path.endswith(".safetensors"):
            parts.append(f"{path} {_file_hash(folder / path)}")
        elif path.endswith("config.json"):
            parts.append(f"{path} {sha256((folder / path).read_bytes()).hexdigest()}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _file_hash(path: Path, piece: int = 1024) -> str:
    whole = sha256()
    with reading(path, *FORM), path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        for name, about in header.items():
            start, end = about["data_offsets"]
            size = end - start
            whole.update(f"{name} {about['dtype']} {','.join(map(str, about['shape']))}\n".encode())
            short = size <= 3 * piece
            for at in (0,) if short else (0, (size - piece) // 2, size - piece):
                file.seek(8 + length + start + at)
                whole.update(file.read(size if short else piece))
    return whole.hexdigest()
