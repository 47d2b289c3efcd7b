"""The run's rows: the lab's list of them (`scale/rows.jsonl`) and their pictures in the shards."""

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
from PIL import Image, ImageOps

from .errors import FORM, LabError, reading
from .masks import Mask, Rle, decode_rle
from .order import Known, word_count
from .settings import read_json, read_lines

Rgb = npt.NDArray[np.uint8]
_PIECE = 4096
_END = 2**20


@dataclass(frozen=True)
class Row:
    """A region of a picture with its caption."""

    id: str
    image_id: str
    caption: str
    rle: Rle
    mask: Mask
    rgb: Rgb
    """[height, width, 3]."""
    others: tuple[str, ...] = ()
    """Captions of the picture's other regions, without the row's own."""
    questions: tuple[tuple[str, str], ...] = ()
    """Questions about the region with their answers."""

    @cached_property
    def pixels(self) -> str:
        """CRC-32 of the decoded picture, 8 hexadecimal digits: decoders of JPEG differ."""
        return f"{zlib.crc32(self.rgb.tobytes()):08x}"

    def exchange(self, loop: int, step: int) -> tuple[str, str]:
        """
        The prompt of a loop (empty for a caption) and the row's own text; successive steps use successive questions.
        """
        return self.questions[step % len(self.questions)] if loop == 3 else ("", self.caption)


def image_id(data: bytes) -> str:
    """The lab's id of an encoded picture: SHA-256 of its length and its first, middle and last 4 KiB, 16 digits."""
    length = len(data)
    if length <= 3 * _PIECE or data[:2] == b"BM":
        parts = [data]
    else:
        middle = (length - _PIECE) >> 1
        parts = [data[:_PIECE], data[middle : middle + _PIECE], data[-_PIECE:]]
    return hashlib.sha256(struct.pack("<d", length) + b"".join(parts)).hexdigest()[:16]


class RunData:
    """Rows of a run by their index in the data set, and whether they train, select or report."""

    def __init__(self, run: Path, shards: list[Path]) -> None:
        """Raises LabError when a shard is missing or is not the one that the run used."""
        self._rows: list[dict[str, Any]] = read_lines(run / "scale" / "rows.jsonl")
        with reading(run / "scale" / "rows.jsonl", *FORM):
            ids = [[row["id"], row["imageId"]] for row in self._rows]
        text = json.dumps(ids, ensure_ascii=False, separators=(",", ":"))
        about = read_json(run / "scale" / "data.json")
        with reading(run / "scale" / "data.json", *FORM):
            parts: list[list[int]] = [about[name] for name in ("train", "selection", "report")]
            self.train, self.selection, self.report = parts
            ends = {own["name"]: (own["bytes"], own["head"], own["tail"]) for own in about["shards"]}
            same = about["hash"] == hashlib.sha256(text.encode()).hexdigest()
        if not same:
            raise LabError("scale/rows.jsonl is not the list of rows that run.json names; export the run again")
        self._files = {name: _find(name, known, shards) for name, known in ends.items()}
        self._captions: dict[str, dict[str, None]] = {}
        for row in self._rows:
            self._captions.setdefault(row["imageId"], {})[row["caption"]] = None
        self._tables: dict[str, pa.Table] = {}
        self._difficulty = read_lines(run / "difficulty.jsonl")
        self._pictures: dict[str, Rgb] = {}

    def known(self, streams: dict[str, int]) -> Known:
        """Inputs of the order of prompts."""
        ids, words = [row["id"] for row in self._rows], [word_count(row["caption"]) for row in self._rows]
        return Known(self.train, ids, words, self._difficulty, streams)

    def row(self, index: int) -> Row:
        """The row with its pixels. Raises LabError naming a row whose picture has changed."""
        about = self._rows[index]
        rle = {"counts": about["mask"], "size": [about["height"], about["width"]]}
        key = about["imageId"]
        if key not in self._pictures:
            if len(self._pictures) >= 256:
                self._pictures.pop(next(iter(self._pictures)))
            self._pictures[key] = self._picture(about)
        others = tuple(caption for caption in self._captions[key] if caption != about["caption"])
        questions = tuple((asked["question"], asked["answer"]) for asked in about.get("questions") or [])
        mask = decode_rle(rle)
        return Row(about["id"], key, about["caption"], rle, mask, self._pictures[key], others, questions)

    def _picture(self, about: dict[str, Any]) -> Rgb:
        path = self._files[about["file"]]
        if not about["column"]:
            raise LabError(f"{path} is not an Arrow or Parquet shard; convert the data set to train on it here")
        with reading(path, *FORM, pa.ArrowException):
            if about["file"] not in self._tables:
                self._tables[about["file"]] = _open_table(path)
            column, *inner = about["column"].split(".")
            cell = self._tables[about["file"]].column(column)[about["row"]].as_py()
            for name in inner:
                cell = [item[name] for item in cell] if isinstance(cell, list) else cell[name]
        with reading(path):
            same = next((data for data in _encoded(cell, path.parent) if image_id(data) == about["imageId"]), None)
        if same is None:
            raise LabError(f"Row {about['id']} has another picture than the run drew from; nothing was changed")
        # Pillow's decoders raise errors of many kinds.
        with reading(f"The picture of row {about['id']}", Exception):
            return pixels_of(same, about["height"], about["width"])


def _find(name: str, known: tuple[int, str, str], shards: list[Path]) -> Path:
    """The file in `shards` of a name, with this size and these hashes of its ends. Raises LabError without one."""
    # With several folders the lab prefixes a file's name with its folder's name.
    ends = (name, name.partition("/")[2] or name)
    places = [place / end if place.is_dir() else place for place in shards for end in ends]
    found = [path for path in places if path.is_file() and path.name == Path(name).name]
    for path in found:
        with reading(path), path.open("rb") as file:
            size = path.stat().st_size
            head = hashlib.sha256(file.read(_END)).hexdigest()
            file.seek(max(0, size - _END))
            tail = hashlib.sha256(file.read()).hexdigest()
        if (size, head, tail) == known:
            return path
    wrong = f"{found[0]} is not the shard that the run drew from" if found else f"--shards holds no {name}"
    raise LabError(f"{wrong}; nothing was changed")


def _open_table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path, memory_map=True)
    source = pa.memory_map(str(path))
    try:
        return pa.ipc.open_stream(source).read_all()
    except pa.ArrowInvalid:
        return pa.ipc.open_file(source).read_all()


def _encoded(cell: Any, beside: Path) -> Iterator[bytes]:
    """Every encoded picture in a cell: bytes, a struct of bytes and path, a path, or a list of these."""
    if isinstance(cell, bytes):
        yield cell
    elif isinstance(cell, str) and (beside / cell).is_file():
        yield (beside / cell).read_bytes()
    elif isinstance(cell, dict):
        yield from _encoded(cell.get("bytes") or cell.get("path"), beside)
    elif isinstance(cell, list):
        for item in cell:
            yield from _encoded(item, beside)


def pixels_of(data: bytes, height: int, width: int) -> Rgb:
    """RGB [h, w, 3] of an encoded picture, turned by its EXIF orientation where the size asks for it."""
    picture: Image.Image = Image.open(io.BytesIO(data))
    if picture.size != (width, height):
        picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I"):
        # 16-bit grey: Pillow makes every value above 255 white; the lab takes the upper byte.
        return np.repeat((np.asarray(picture) >> 8).astype(np.uint8)[..., None], 3, axis=2)
    return np.asarray(picture.convert("RGB"))
