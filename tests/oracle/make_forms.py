"""Rows in file formats written by Python: make_forms.py SHARDS GIVEN OUT.

SHARDS are Arrow streams of region rows. GIVEN holds refs.json (a list of refs), instances.json (COCO), truth.json (run
lengths by annotation id) and members/ (files of a tar shard). OUT gets refs.N.p in every protocol of pickle, shard.FORM.tar
in every form of tarfile, tables of pyarrow in several codings and a save_to_disk folder. Prints one JSON object: the pixels in
which pycocotools' masks of the instances differ from the run lengths.
"""

import json
import pickle
import sys
import tarfile
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
from pycocotools import mask as coco
from pycocotools.coco import COCO


def main(shards, given, out):
    refs = json.loads((given / "refs.json").read_text())
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        (out / f"refs.{protocol}.p").write_bytes(pickle.dumps(refs, protocol))
    forms = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    for name, form in forms.items():
        with tarfile.open(out / f"shard.{name}.tar", "w", format=form) as archive:
            for member in sorted((given / "members").iterdir()):
                archive.add(member, arcname=member.name)
    table = pa.concat_tables(pa.ipc.open_stream(path).read_all() for path in sorted(shards.glob("*.arrow")))
    for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
        pq.write_table(table, out / f"{codec}.parquet", compression=codec, row_group_size=2)
    pq.write_table(table, out / "pages-v2.parquet", data_page_version="2.0", data_page_size=4096)
    for codec in ["uncompressed", "lz4", "zstd"]:
        feather.write_feather(table, out / f"{codec}.feather", compression=codec)
    datasets.Dataset(table).save_to_disk(out / "saved", num_shards=2)
    truth = json.loads((given / "truth.json").read_text())
    instances = COCO(given / "instances.json")
    differ = {
        key: int((instances.annToMask(instances.anns[int(key)]) != coco.decode(rle)).sum()) for key, rle in truth.items()
    }
    return differ


if __name__ == "__main__":
    stdout, sys.stdout = sys.stdout, sys.stderr
    found = main(*map(Path, sys.argv[1:]))
    print(json.dumps(found), file=stdout)
