"""Region data in many layouts, written by `datasets`, pyarrow and Pillow, with what pycocotools says of every mask.

    make_regions.py OUT [NAME…]

Each layout is a folder below OUT; expected.json holds, per folder, the regions a reader must find: caption, compressed
counts, size, area and the SHA-256 of the encoded picture. With names only those layouts are written.
"""

import base64
import hashlib
import io
import json
import sys
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from PIL import Image
from pycocotools import mask as coco

HEIGHT, WIDTH = 48, 64
ROWS = 3


def mask(row, part=0):
    """A disc, a ring with a piece beside it, a wedge; `part` moves them."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    x = x - 4 * part
    disc = (y - 20) ** 2 + (x - 24) ** 2
    if row == 0:
        return (disc < 180).astype(np.uint8)
    if row == 1:
        return (((disc < 250) & (disc > 90)) | ((y > 40) & (x > 50) & (x < 58))).astype(np.uint8)
    return ((y > x // 2 + 6) & (x > 10) & (x < 40) & (y < 44)).astype(np.uint8)


def encoded(picture, form="PNG", **options):
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def picture(row, part=0):
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    rgb = np.stack([x * 4, y * 5, np.full_like(x, 60 * row + 20 * part)], -1).astype(np.uint8)
    rgb[mask(row) > 0] = [250, 40, 60]
    return encoded(Image.fromarray(rgb))


PICTURES = [picture(row) for row in range(ROWS)]
MASKS = [mask(row) for row in range(ROWS)]
CAPTIONS = ["A red disc.", "A ring with a piece beside it.", "A wedge, below the middle: 矢."]
TURNS = [
    [{"from": "human", "value": "<image>\nDescribe the masked region."}, {"from": "gpt", "value": text}]
    for text in CAPTIONS
]


def rle(pixels):
    out = coco.encode(np.asfortranarray(pixels))
    return {"counts": out["counts"].decode(), "size": [int(n) for n in out["size"]]}


def region(pixels, caption, encoded_picture):
    return {
        "caption": caption,
        **rle(pixels),
        "area": int(coco.area(coco.encode(np.asfortranarray(pixels)))),
        "picture": hashlib.sha256(encoded_picture).hexdigest(),
    }


PLAIN = [region(MASKS[n], CAPTIONS[n], PICTURES[n]) for n in range(ROWS)]
PAIRS = [region(mask(n, part), f"Part {part} of {n}.", PICTURES[n]) for n in range(ROWS) for part in range(2)]

Value, Sequence, Picture = datasets.Value, datasets.Sequence, datasets.Image
IMAGES = [{"bytes": data, "path": None} for data in PICTURES]


def save(out, columns, features=None, table=None):
    """A data set as written by save_to_disk."""
    table = datasets.Dataset.from_dict(columns, features=features and datasets.Features(features))
    table.save_to_disk(str(out))


def stream(out, columns, name="data-00000-of-00001.arrow", batch=2, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    out.mkdir(parents=True)
    with pa.ipc.new_stream(out / name, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=batch)


def parquet(out, columns, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    out.mkdir(parents=True)
    pq.write_table(table, out / "train-00000-of-00001.parquet", **options)


def base(mask_column, mask_type=None):
    return {
        "image": pa.array(IMAGES, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "mask": pa.array(mask_column, mask_type),
        "caption": pa.array(CAPTIONS),
    }


RLES = [rle(one) for one in MASKS]
RLE_TYPE = pa.struct([("counts", pa.string()), ("size", pa.list_(pa.int64()))])


def mask_image(one, mode):
    """A mask in Pillow's image modes."""
    grey = Image.fromarray(one * 255)
    if mode == "L":
        return encoded(grey)
    if mode == "L01":
        return encoded(Image.fromarray(one))
    if mode == "1":
        return encoded(grey.convert("1"))
    if mode == "RGB":
        return encoded(grey.convert("RGB"))
    if mode == "I;16":
        return encoded(Image.fromarray(one.astype(np.uint16) * 65535))
    if mode == "I;16-01":
        return encoded(Image.fromarray(one.astype(np.uint16)))
    if mode in ("P", "P-white-first", "P-tRNS"):
        first = mode == "P-white-first"
        indexed = Image.fromarray(1 - one if first else one * 3).convert("L")
        indexed = Image.frombytes("P", (WIDTH, HEIGHT), indexed.tobytes())
        colours = [255, 255, 255, 0, 0, 0] if first else [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0]
        indexed.putpalette(colours)
        return encoded(indexed, transparency=0) if mode == "P-tRNS" else encoded(indexed)
    if mode == "LA":
        return encoded(Image.merge("LA", [Image.new("L", grey.size, 255), grey]))
    if mode == "RGBA-cutout":
        photo = Image.open(io.BytesIO(PICTURES[0])).convert("RGB")
        photo.putalpha(grey)
        return encoded(photo)
    if mode == "RGBA-black":
        black = Image.new("RGB", grey.size)
        black.putalpha(grey)
        return encoded(black)
    if mode == "RGBA-opaque":
        return encoded(grey.convert("RGBA"))
    if mode == "smooth":
        big = grey.resize((WIDTH * 8, HEIGHT * 8), Image.NEAREST)
        return encoded(big.resize((WIDTH, HEIGHT), Image.BOX))
    raise ValueError(mode)


MODES = "L L01 1 RGB I;16 I;16-01 P P-white-first P-tRNS LA RGBA-cutout RGBA-black RGBA-opaque smooth".split()


def objects_of_pillow(mode):
    """Masks as Pillow's own objects, which `datasets` encodes: modes that PNG lacks become TIFF."""
    def write(out):
        grey = [Image.fromarray(one * 255) for one in MASKS]
        made = [Image.fromarray(np.asarray(one, np.float32)) if mode == "F" else one.convert(mode) for one in grey]
        save(out, {"image": IMAGES, "mask": made, "caption": CAPTIONS},
             {"image": Picture(), "mask": Picture(), "caption": Value("string")})
    return write, PLAIN


def array(dtype, kind=datasets.Array2D):
    def write(out):
        scale = 255 if dtype == "uint8-255" else 1
        name = dtype.split("-")[0]
        rows = [(one * scale).astype(name) for one in MASKS]
        save(out, {"image": IMAGES, "mask": rows, "caption": CAPTIONS},
             {"image": Picture(), "mask": kind((HEIGHT, WIDTH), name), "caption": Value("string")})
    return write, PLAIN


def stack(out):
    rows = [np.stack([mask(n, part) for part in range(2)]) for n in range(ROWS)]
    texts = [[f"Part {part} of {n}." for part in range(2)] for n in range(ROWS)]
    save(out, {"image": IMAGES, "masks": rows, "captions": texts},
         {"image": Picture(), "masks": datasets.Array3D((2, HEIGHT, WIDTH), "uint8"),
          "captions": Sequence(Value("string"))})


def nested(arrow_type, change=lambda one: one.tolist(), **options):
    return (lambda out: stream(out, base([change(one) for one in MASKS], arrow_type), **options)), PLAIN


def images(mode):
    def write(out):
        save(out, {"image": IMAGES, "mask": [{"bytes": mask_image(one, mode), "path": None} for one in MASKS],
                   "caption": CAPTIONS},
             {"image": Picture(), "mask": Picture(), "caption": Value("string")})
    return write, PLAIN


def replaced(name, column, **options):
    columns = {**base(RLES, RLE_TYPE), **{name: column}}
    return (lambda out: stream(out, columns, **options)), PLAIN


def beside(out):
    """Pictures and masks as files, rows with their paths only."""
    columns = base([{"bytes": None, "path": f"masks/{n}.png"} for n in range(ROWS)])
    columns["image"] = pa.array([{"bytes": None, "path": f"/srv/someone/set/images/{n}.png"} for n in range(ROWS)],
                                columns["image"].type)
    stream(out / "train", columns)
    for folder, files in (("images", PICTURES), ("masks", [mask_image(one, "L") for one in MASKS])):
        (out / "train" / folder).mkdir()
        for n, data in enumerate(files):
            (out / "train" / folder / f"{n}.png").write_bytes(data)


def parts(text):
    return [
        [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
         {"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": "What is it?"}]},
         {"role": "assistant", "content": [{"type": "text", "text": one}]}]
        for one in text
    ]


def with_column(name, column):
    return {"image": base(RLES, RLE_TYPE)["image"], "mask": pa.array(RLES, RLE_TYPE), name: column}


def odd_columns():
    ree = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    return {
        "view": pa.array([[1], [], [2, 3]], pa.list_view(pa.int32())),
        "wide_view": pa.array([["x"], None, []], pa.large_list_view(pa.string())),
        "runs": ree,
        "union": pa.UnionArray.from_dense(pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()),
                                          [pa.array([1, 2]), pa.array(["u"])]),
        "sparse": pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array("abc")]),
        "time": pa.array([1, 2, None], pa.time64("us")),
        "span": pa.array([1, 2, None], pa.duration("s")),
        "exact": pa.array([1, 2, None], pa.decimal128(12, 3)),
        "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int8())),
        "nothing": pa.nulls(3),
        **base(RLES, RLE_TYPE),
        "last": pa.array([1, 2, 3], pa.month_day_nano_interval()) if False else pa.array([1, 2, 3]),
    }


def used_views():
    """Arrow views and run-end encoding in the columns that are read."""
    columns = base(RLES, RLE_TYPE)
    columns["caption"] = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3], pa.int16()), pa.array(CAPTIONS))
    columns["mask"] = pa.array([one.tolist() for one in MASKS], pa.list_view(pa.large_list_view(pa.uint8())))
    return columns


OBJECT = pa.struct([("mask", RLE_TYPE), ("caption", pa.string()), ("category", pa.string())])


def objects():
    return [[{"mask": rle(mask(n, part)), "caption": f"Part {part} of {n}.", "category": "thing"} for part in range(2)]
            for n in range(ROWS)]


def large():
    columns = base([{"counts": one["counts"].encode(), "size": one["size"]} for one in RLES],
                   pa.struct([("counts", pa.large_binary()), ("size", pa.list_(pa.int32(), 2))]))
    columns["image"] = pa.array(IMAGES, pa.struct([("bytes", pa.large_binary()), ("path", pa.large_string())]))
    columns["caption"] = pa.array([[text] for text in CAPTIONS], pa.large_list(pa.large_string()))
    return columns


def several(out):
    """Two pictures a row: of different sizes, only the second fits the mask."""
    small = encoded(Image.new("RGB", (20, 20), (9, 9, 9)))
    columns = base(RLES, RLE_TYPE)
    kind = columns.pop("image").type
    columns["images"] = pa.array([[{"bytes": small, "path": None}, one] for one in IMAGES], pa.list_(kind))
    stream(out, columns)


def paired(out):
    """As many pictures as masks: each mask has its own."""
    columns = {
        "images": pa.array([[{"bytes": picture(n, part), "path": None} for part in range(2)] for n in range(ROWS)]),
        "masks": pa.array([[rle(mask(n, part)) for part in range(2)] for n in range(ROWS)], pa.list_(RLE_TYPE)),
        "captions": pa.array([[f"Part {part} of {n}." for part in range(2)] for n in range(ROWS)]),
    }
    stream(out, columns)


PAIRED = [region(mask(n, part), f"Part {part} of {n}.", picture(n, part)) for n in range(ROWS) for part in range(2)]


def as_feather(out):
    out.mkdir()
    feather.write_feather(pa.table(base(RLES, RLE_TYPE)), out / "regions.feather", compression="lz4")


def chunked(out):
    table = pa.concat_tables([pa.table(base(RLES, RLE_TYPE)).slice(n, 1) for n in range(ROWS)])
    stream(out, table, batch=1, compression="zstd")


def hub(**options):
    """As push_to_hub writes it: `datasets` names the features in the metadata."""
    def write(out):
        out.mkdir()
        rows = datasets.Dataset.from_dict(
            {"image": IMAGES, "mask": [np.asarray(one) for one in MASKS], "messages": parts(CAPTIONS)},
            features=datasets.Features({
                "image": Picture(), "mask": datasets.Array2D((HEIGHT, WIDTH), "uint8"),
                "messages": [{"role": Value("string"), "content": [{"type": Value("string"), "text": Value("string")}]}],
            }))
        rows.to_parquet(str(out / "train-00000-of-00001.parquet"), **options)
    return write, PLAIN


def pq_rle(**options):
    return (lambda out: parquet(out, {**base(RLES, RLE_TYPE), "objects": pa.array(objects(), pa.list_(OBJECT))},
                                **options)), PLAIN


def pq_nested(**options):
    columns = base([one.tolist() for one in MASKS], pa.list_(pa.list_(pa.uint8())))
    columns["caption"] = pa.array(TURNS)
    columns = {"image": columns["image"], "mask": columns["mask"], "conversations": columns["caption"]}
    return (lambda out: parquet(out, columns, **options)), PLAIN


def pq_images(**options):
    """Masks as a list of pictures, whose paths are a column without a value."""
    columns = {
        "image": base(RLES)["image"],
        "masks": pa.array([[{"bytes": mask_image(mask(n, part), "L"), "path": None} for part in range(2)]
                           for n in range(ROWS)]),
        "captions": pa.array([[f"Part {part} of {n}." for part in range(2)] for n in range(ROWS)]),
    }
    return (lambda out: parquet(out, columns, **options)), PAIRS


def pq_objects(**options):
    columns = {"image": base(RLES)["image"], "objects": pa.array(objects(), pa.list_(OBJECT))}
    return (lambda out: parquet(out, columns, **options)), PAIRS


B64 = [base64.b64encode(data).decode() for data in PICTURES]
WAYS = {
    "array2d-uint8": array("uint8"), "array2d-bool": array("bool"), "array2d-int32": array("int32"),
    "array2d-float": array("float32"), "array2d-255": array("uint8-255"), "array3d": (stack, PAIRS),
    "rows-uint8": nested(pa.list_(pa.list_(pa.uint8()))),
    "rows-bool": nested(pa.list_(pa.list_(pa.bool_())), lambda one: (one > 0).tolist()),
    "rows-int64-zstd": nested(pa.large_list(pa.list_(pa.int64())), compression="zstd"),
    "rows-probability": nested(pa.list_(pa.list_(pa.float32())), lambda one: (one * 0.6 + 0.2).tolist()),
    "rows-fixed": nested(pa.list_(pa.list_(pa.uint8(), WIDTH), HEIGHT)),
    "rows-one-channel": nested(pa.list_(pa.list_(pa.list_(pa.uint8()))), lambda one: one[:, :, None].tolist()),
    "flat-bool": nested(pa.list_(pa.bool_()), lambda one: (one > 0).ravel().tolist()),
    "flat-uint8": nested(pa.list_(pa.uint8()), lambda one: one.ravel().tolist()),
    "flat-bytes": nested(pa.binary(), lambda one: one.tobytes()),
    "masks-list-png": nested(pa.list_(pa.binary()), lambda one: [mask_image(one, "L")]),
    "mask-png-bytes": nested(pa.binary(), lambda one: mask_image(one, "1")),
    "mask-png-base64": nested(pa.string(), lambda one: base64.b64encode(mask_image(one, "P")).decode()),
    "mask-png-uint8": nested(pa.list_(pa.uint8()), lambda one: list(mask_image(one, "L"))),
    "mask-counts-text": nested(pa.string(), lambda one: rle(one)["counts"]),
    "mask-json": nested(pa.string(), lambda one: json.dumps(rle(one))),
    "mask-dictionary": replaced("mask", pa.array([json.dumps(one) for one in RLES]).dictionary_encode()),
    **{f"png-{mode}": images(mode) for mode in MODES},
    **{f"pillow-{mode}": objects_of_pillow(mode) for mode in ("1", "L", "P", "I", "F", "RGBA")},
    "image-binary": replaced("image", pa.array(PICTURES)),
    "image-base64": replaced("image", pa.array(B64)),
    "image-base64-large": replaced("image", pa.array(B64, pa.large_string()), compression="lz4"),
    "image-data-url": replaced("image", pa.array([f"data:image/png;base64,{one}" for one in B64])),
    "image-uint8": replaced("image", pa.array([list(data) for data in PICTURES], pa.list_(pa.uint8()))),
    "image-int64": replaced("image", pa.array([list(data) for data in PICTURES])),
    "image-struct-base64": replaced("image", pa.array([{"bytes": one, "path": None} for one in B64])),
    "image-beside": (beside, PLAIN),
    "images-several": (several, PLAIN),
    "images-paired": (paired, PAIRED),
    "messages-parts": ((lambda out: stream(out, with_column("messages", pa.array(parts(CAPTIONS))))), PLAIN),
    "messages-json": ((lambda out: stream(out, with_column(
        "messages", pa.array([json.dumps(one) for one in parts(CAPTIONS)])))), PLAIN),
    "messages-pairs": ((lambda out: stream(out, with_column(
        "texts", pa.array([[{"user": "What?", "assistant": one}] for one in CAPTIONS])))), PLAIN),
    "columns-odd": ((lambda out: stream(out, odd_columns(), batch=3)), PLAIN),
    "columns-views": ((lambda out: stream(out, used_views(), batch=3)), PLAIN),
    "columns-large": ((lambda out: stream(out, large(), compression="lz4")), PLAIN),
    "objects-list": ((lambda out: stream(out, {"image": base(RLES)["image"], "objects": pa.array(
        objects(), pa.list_(OBJECT))})), PAIRS),
    "objects-struct": ((lambda out: stream(out, {"sample": pa.StructArray.from_arrays(
        [base(RLES)["image"], pa.array(RLES, RLE_TYPE), pa.array(CAPTIONS)], ["image", "mask", "caption"])})), PLAIN),
    "objects-columns": ((lambda out: save(out, {"image": IMAGES, "objects": [
        {"mask": [one["mask"] for one in row], "caption": [one["caption"] for one in row]} for row in objects()]},
        {"image": Picture(), "objects": {"mask": Sequence({"counts": Value("string"), "size": Sequence(Value("int64"))})
         if False else [{"counts": Value("string"), "size": Sequence(Value("int64"))}],
         "caption": Sequence(Value("string"))}})), PAIRS),
    "feather": (as_feather, PLAIN),
    "chunked": (chunked, PLAIN),
    "parquet-hub": hub(), "parquet-hub-groups": hub(batch_size=1),
    "parquet-snappy": pq_rle(compression="snappy"), "parquet-gzip": pq_rle(compression="gzip"),
    "parquet-zstd": pq_rle(compression="zstd", row_group_size=2),
    "parquet-lz4": pq_rle(compression="lz4", data_page_version="2.0"),
    "parquet-none": pq_rle(compression="none", use_dictionary=False),
    "parquet-nested": pq_nested(compression="snappy", row_group_size=1),
    "parquet-nested-v2": pq_nested(compression="zstd", data_page_version="2.0", data_page_size=256,
                                   write_page_index=True),
    "parquet-nested-plain": pq_nested(compression="gzip", use_dictionary=False, data_page_size=512),
    "parquet-objects": pq_objects(compression="zstd"),
    "parquet-objects-pages": pq_objects(compression="snappy", data_page_size=64, use_dictionary=False),
    "parquet-images": pq_images(compression="gzip"),
    "parquet-delta": pq_rle(compression="snappy", use_dictionary=False, version="2.6", column_encoding={
        "caption": "DELTA_BYTE_ARRAY", "image.bytes": "DELTA_LENGTH_BYTE_ARRAY",
        "mask.size.list.element": "DELTA_BINARY_PACKED"}),
}


def main():
    out = Path(sys.argv[1])
    names = sys.argv[2:] or list(WAYS)
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        WAYS[name][0](out / name)
    expected = {name: WAYS[name][1] for name in names}
    (out / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n")


main()
