"""python png_rows.py --shard FILE --rows N --out FILE: rows of an Arrow shard with pictures as PNG, which every library decodes alike."""

import argparse
import io

import pyarrow
from PIL import Image


def as_png(row):
    out = io.BytesIO()
    Image.open(io.BytesIO(row["image"]["bytes"])).convert("RGB").save(out, "PNG")
    path = row["image"]["path"]
    return row | {"image": {"bytes": out.getvalue(), "path": path and path.rsplit(".", 1)[0] + ".png"}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("shard", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rows", type=int, required=True)
    given = parser.parse_args()
    with pyarrow.memory_map(given.shard) as source:
        table = pyarrow.ipc.open_stream(source).read_all().slice(0, given.rows)
    rows = [as_png(row) for row in table.to_pylist()]
    with pyarrow.OSFile(given.out, "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(pyarrow.Table.from_pylist(rows, table.schema))
