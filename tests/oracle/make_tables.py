"""Random nested tables as Parquet in many settings of pyarrow and as Arrow, with their values as Python reads them.

    make_tables.py OUT [--small] [--seed N]

expected.json holds the rows of every file: binary as hexadecimal, 64-bit integers as text, floats as they are.
"""

import json
import math
import random
import struct
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ARGS = sys.argv[1:]
SEED = int(ARGS[ARGS.index("--seed") + 1]) if "--seed" in ARGS else 7
SMALL = "--small" in ARGS


def maybe(draw, make, chance=0.15):
    return None if draw.random() < chance else make()


def text(draw):
    return "".join(draw.choice("aäb 矢\n\"x") for _ in range(draw.randrange(12)))


def number(draw, bits, signed):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    return draw.choice([low, high - 1, 0, 1, draw.randrange(low, high)])


def half(draw):
    return struct.unpack("e", struct.pack("e", draw.uniform(-8, 8)))[0]


def single(draw):
    return struct.unpack("f", struct.pack("f", draw.uniform(-1e6, 1e6)))[0]


def row(draw):
    out = {f"{'' if signed else 'u'}int{bits}": maybe(draw, lambda: number(draw, bits, signed))
           for bits in (8, 16, 32, 64) for signed in (True, False)}
    out["half"] = maybe(draw, lambda: half(draw))
    out["single"] = maybe(draw, lambda: single(draw))
    out["double"] = maybe(draw, lambda: draw.uniform(-1e9, 1e9))
    out["flag"] = maybe(draw, lambda: draw.random() < 0.5)
    out["sure"] = draw.randrange(100)
    out["text"] = maybe(draw, lambda: text(draw))
    out["few"] = maybe(draw, lambda: draw.choice(["one", "two", "three"]))
    out["bytes"] = maybe(draw, lambda: bytes(draw.randrange(256) for _ in range(draw.randrange(20))))
    out["four"] = maybe(draw, lambda: bytes(draw.randrange(256) for _ in range(4)))
    out["list"] = maybe(draw, lambda: [maybe(draw, lambda: number(draw, 32, True)) for _ in range(draw.randrange(6))])
    out["flags"] = maybe(draw, lambda: [draw.random() < 0.9 for _ in range(draw.randrange(40))])
    out["grid"] = maybe(draw, lambda: [
        maybe(draw, lambda: [draw.randrange(2) for _ in range(draw.randrange(30))]) for _ in range(draw.randrange(5))])
    out["struct"] = maybe(draw, lambda: {"a": maybe(draw, lambda: text(draw)), "b": maybe(draw, lambda: {
        "c": maybe(draw, lambda: [draw.randrange(9) for _ in range(draw.randrange(4))])})})
    out["turns"] = maybe(draw, lambda: [maybe(draw, lambda: {
        "role": maybe(draw, lambda: text(draw)),
        "content": maybe(draw, lambda: [{"type": "text", "text": maybe(draw, lambda: text(draw))}
                                        for _ in range(draw.randrange(3))])}) for _ in range(draw.randrange(4))])
    return out


PART = pa.struct([("type", pa.string()), ("text", pa.string())])
FIELDS = [pa.field(f"{'' if signed else 'u'}int{bits}", getattr(pa, f"{'' if signed else 'u'}int{bits}")())
          for bits in (8, 16, 32, 64) for signed in (True, False)]
SCHEMA = pa.schema([
    *FIELDS, ("half", pa.float16()), ("single", pa.float32()), ("double", pa.float64()), ("flag", pa.bool_()),
    pa.field("sure", pa.int32(), nullable=False), ("text", pa.string()), ("few", pa.string()), ("bytes", pa.binary()),
    ("four", pa.binary(4)), ("list", pa.list_(pa.int32())), ("flags", pa.list_(pa.bool_())),
    ("grid", pa.list_(pa.list_(pa.uint8()))),
    ("struct", pa.struct([("a", pa.string()), ("b", pa.struct([("c", pa.list_(pa.int64()))]))])),
    ("turns", pa.list_(pa.struct([("role", pa.string()), ("content", pa.list_(PART))]))),
])

SETTINGS = {
    "plain": {"compression": "none", "use_dictionary": False},
    "snappy": {"compression": "snappy"},
    "gzip": {"compression": "gzip", "row_group_size": 7},
    "zstd": {"compression": "zstd", "compression_level": 19, "data_page_version": "2.0"},
    "lz4": {"compression": "lz4", "data_page_size": 100},
    "pages": {"compression": "snappy", "data_page_size": 40, "write_batch_size": 3, "use_dictionary": False},
    "pages-v2": {"compression": "gzip", "data_page_size": 40, "write_batch_size": 3, "data_page_version": "2.0",
                 "write_page_index": True},
    "delta": {"compression": "zstd", "use_dictionary": False, "column_encoding": {
        "int32": "DELTA_BINARY_PACKED", "int64": "DELTA_BINARY_PACKED", "text": "DELTA_BYTE_ARRAY",
        "few": "DELTA_LENGTH_BYTE_ARRAY", "single": "BYTE_STREAM_SPLIT", "double": "BYTE_STREAM_SPLIT",
        "list.list.element": "DELTA_BINARY_PACKED", "flag": "RLE"}, "data_page_version": "2.0"},
    "old-lists": {"compression": "snappy", "use_compliant_nested_type": False, "version": "1.0", "store_schema": False},
}


# Arrow: form, codec, and the types of some columns in its other layouts.
ARROW = {
    "large": ("stream", "lz4", {"text": pa.large_string(), "bytes": pa.large_binary(), "list": pa.large_list(pa.int32())}),
    "view": ("file", "zstd", {"text": pa.string_view(), "bytes": pa.binary_view(), "list": pa.list_view(pa.int32())}),
    "words": ("stream", "zstd", {"text": pa.dictionary(pa.int8(), pa.string()), "few": pa.dictionary(pa.uint16(), pa.string())}),
    "raw": ("file", None, {"few": pa.dictionary(pa.int64(), pa.large_string())}),
}


def write_arrow(out, table, name):
    form, codec, types = ARROW[name]
    schema = pa.schema([field.with_type(types.get(field.name, field.type)) for field in table.schema])
    columns = [pa.array(table[field.name].to_pylist(), field.type) for field in schema]
    path = f"{name}.arrow"
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=form == "stream")
    with (pa.ipc.new_stream if form == "stream" else pa.ipc.new_file)(out / path, schema, options=options) as writer:
        writer.write_table(pa.table(columns, schema=schema), max_chunksize=7)
    return path


def plain(value, kind):
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [plain(one, kind.value_type) for one in value]
    if pa.types.is_struct(kind):
        return {field.name: plain(value[field.name], field.type) for field in kind}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (float, np.floating)):
        assert not math.isnan(value)
        return float(value)
    return str(value) if pa.types.is_integer(kind) and kind.bit_width == 64 else value


def main():
    out = Path(ARGS[0])
    out.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, options in (SETTINGS | dict.fromkeys(ARROW, {})).items():
        if SMALL and name not in ("snappy", "pages-v2"):
            continue
        draw = random.Random(f"{SEED}/{name}")
        schema = SCHEMA
        if name == "old-lists":
            # The first version of the format has no unsigned 32-bit integers, and no halves without the schema.
            schema = pa.schema([field for field in SCHEMA if field.name not in ("uint32", "half")])
        rows = [{key: value for key, value in row(draw).items() if key in schema.names}
                for _ in range(12 if SMALL else 60)]
        table = pa.Table.from_pylist(rows, schema=schema)
        path = f"{name}.parquet"
        if name in ARROW:
            path = write_arrow(out, table, name)
        else:
            pq.write_table(table, out / path, **options)
        expected[path] = [{field.name: plain(one[field.name], field.type) for field in schema} for one in rows]
    (out / "expected.json").write_text(json.dumps(expected, ensure_ascii=False) + "\n")


main()
