"""The data that `wandb sync` sends for an offline run, read from its file with W&B's own message types.

  read_wandb.py FOLDER

Prints one JSON object: name, project, notes, tags, config, history by step, tables by name.
"""
import json
import sys
from pathlib import Path

from wandb.proto.wandb_internal_pb2 import Record

HEADER, BLOCK, BEFORE_A_RECORD = 7, 2**15, 7
FIRST, MIDDLE = 2, 3


def records(data):
    """Records of a LevelDB log: parts inside blocks of 32 KiB, each after its checksum, length and kind."""
    at, part = HEADER, b""
    while at + BEFORE_A_RECORD <= len(data):
        room = BLOCK - at % BLOCK
        if room < BEFORE_A_RECORD:
            at += room
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        at += BEFORE_A_RECORD
        part += data[at : at + size]
        at += size
        if kind not in (FIRST, MIDDLE):
            record = Record()
            record.ParseFromString(part)
            yield record
            part = b""


def name_of(item):
    return item.key or "/".join(item.nested_key)


folder = Path(sys.argv[1])
(file,) = folder.glob("run-*.wandb")
said = {"config": {}, "history": {}}
for record in records(file.read_bytes()):
    kind = record.WhichOneof("record_type")
    if kind == "run":
        run = record.run
        said |= {"id": run.run_id, "name": run.display_name, "project": run.project, "notes": run.notes}
        said["tags"] = list(run.tags)
        said["config"] |= {name_of(entry): json.loads(entry.value_json) for entry in run.config.update}
    elif kind == "history":
        row = {name_of(item): item.value_json for item in record.history.item}
        values = {name: value if value == "NaN" else json.loads(value) for name, value in row.items() if name[0] != "_"}
        said["history"][row["_step"]] = values
said["tables"] = {
    path.name.split("_")[0]: json.loads(path.read_text())["data"] for path in (folder / "files").rglob("*.table.json")
}
print(json.dumps(said))
