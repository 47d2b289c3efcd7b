"""A run folder and its data set with files that users add or change."""

import hashlib
import io
import json
import math
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image
from test_loss import KNOWN, defaults, settings

from sa2va_lab.data import RunData, image_id
from sa2va_lab.errors import LabError, reading
from sa2va_lab.evaluation.report import METRICS, report_of
from sa2va_lab.fingerprint import model_hash
from sa2va_lab.folder import RunFolder
from sa2va_lab.judge import drop_after, record, spending
from sa2va_lab.meteor import Wordnet
from sa2va_lab.order import Known, RowOrder
from sa2va_lab.records import exact_json
from sa2va_lab.run import open_run
from sa2va_lab.settings import parse_settings, read_contract
from sa2va_lab.shard import check_shares
from sa2va_lab.train import extend, main

FORMER: dict[str, str] = KNOWN["former"]
"""Today's names by those of earlier versions."""
CUT_TABLE = "sa2va-lab wordnet table 1\n\n" + "part n 0\n" * 7 + "part n 2\nran run"


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("run.json", "[1]", RunFolder),
        ("scale/contract.json", "[1]", read_contract),
        ("scale/contract.json", '{"format": "sa2va-lab-scale/2"}', read_contract),
        ("scale/data.json", "[1]", lambda path: RunData(path, [])),
        ("scale/data.json", "{}", lambda path: RunData(path, [])),
        ("wordnet.txt", "sa2va-lab wordnet table 1\n\nnouns n 7", lambda path: Wordnet(path / "wordnet.txt")),
        ("wordnet.txt", CUT_TABLE, lambda path: Wordnet(path / "wordnet.txt")),
        ("wordnet.txt", "some words", lambda path: Wordnet(path / "wordnet.txt")),
        ("model.safetensors", "abc", model_hash),
        ("model.safetensors", '{"a": 1, "b": 2}', model_hash),
    ],
)
def test_a_damaged_file_is_named(name: str, text: str, read: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "scale").mkdir()
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / name).write_text(text)
    with pytest.raises(LabError, match=f"{tmp_path / name} cannot be read"):
        read(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / "config.json").unlink()
    with pytest.raises(LabError, match=r"No such file|is missing|holds no config\.json"):
        read(tmp_path)


@pytest.mark.parametrize("wrong", ["the size", "another column"])
def test_a_damaged_picture_is_named(wrong: str, tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.new("RGB", (200, 100)).save(file, "BMP")
    data = bytearray(file.getvalue())
    if wrong == "the size":
        data[18:26] = b"\x00\x00\x7f\x00" * 2
    shard = tmp_path / "rows.arrow"
    table = pa.table({"image": [bytes(data)]})
    with pa.OSFile(str(shard), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    digest = hashlib.sha256(shard.read_bytes()).hexdigest()
    row = {"id": "rows.arrow#0", "imageId": image_id(bytes(data)), "caption": "a", "mask": "", "row": 0, "height": 100,
           "width": 200, "file": shard.name, "column": "photo" if wrong == "another column" else "image"}  # fmt: skip
    ids = hashlib.sha256(json.dumps([[row["id"], row["imageId"]]], separators=(",", ":")).encode()).hexdigest()
    known = {"name": shard.name, "bytes": shard.stat().st_size, "head": digest, "tail": digest}
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "rows.jsonl").write_text(json.dumps(row) + "\n")
    parts: dict[str, Any] = {"train": [0], "selection": [], "report": [], "hash": ids, "shards": [known]}
    (tmp_path / "scale" / "data.json").write_text(json.dumps(parts))
    with pytest.raises(LabError, match=r"(rows\.arrow|picture of row rows\.arrow#0) cannot be read"):
        RunData(tmp_path, [tmp_path]).row(0)


def test_a_mistake_of_the_program_is_not_a_damaged_file() -> None:
    with pytest.raises(KeyError), reading("rows.arrow"):
        {}["no such key"]


def test_copies_that_people_made_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": "sa2va-lab-run/1", "config": {}}')
    names = ["step-000001", "step-000002", "step-000002.bak", "step-000003 (1)"]
    for name in names:
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "checkpoints" / name / "complete.json").touch()
    (tmp_path / "rollouts").mkdir()
    for name in ("step-000002.arrow", "step-000002 (1).arrow"):
        (tmp_path / "rollouts" / name).touch()
    run = RunFolder(tmp_path)
    assert run.checkpoints() == [1, 2]
    run.truncate_after(1)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == [names[0], *names[2:]]
    assert [path.name for path in (tmp_path / "rollouts").iterdir()] == ["step-000002 (1).arrow"]


def test_what_the_judge_took_is_counted_after_its_steps_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(
        '{"format": "sa2va-lab-run/1", "config": {}, "forkedFrom": {"run": "a", "step": 1}}'
    )
    steps = [{"step": at, "judge/calls": 10**at, "judge/cost": 0.5} for at in range(1, 4)]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in steps))
    rows = [{"judge": {"calls": 7, "cost": 0.25}}, {}]
    evaluations = [{"report": {"step": at}, "rows": rows} for at in (1, 2, 3)]
    (tmp_path / "eval.jsonl").write_text("".join(f"{json.dumps(own)}\n" for own in evaluations))
    run = RunFolder(tmp_path)
    assert spending(run) == (1114, 1.5)
    drop_after(run, 2)
    assert RunFolder(tmp_path).manifest["judgeDropped"] == {"calls": 1007, "cost": 0.75}
    assert spending(RunFolder(tmp_path)) == (1114, 1.5)


def test_the_judge_of_each_step_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": "sa2va-lab-run/1", "config": {}}')
    run, judge = RunFolder(tmp_path), {"model": "m", "place": "a", "version": "v", "prompts": {}}
    for step, change in ((0, {}), (2, {"place": "b"}), (4, {"model": "n"}), (6, {"version": "w"}), (5, {"model": "n"})):
        record(run, step, judge | change)
    found = json.loads((tmp_path / "judge.json").read_text())
    assert [(own["fromStep"], own["model"], own["version"]) for own in found] == [(1, "m", "v"), (5, "n", "v")]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_files_of_one_name_in_several_folders_are_told_apart(order: str, tmp_path: Path) -> None:
    shards = []
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.arrow").write_text(name)
        digest = hashlib.sha256(name.encode()).hexdigest()
        shards.append({"name": f"{name}/rows.arrow", "bytes": 1, "head": digest, "tail": digest})
    about: dict[str, Any] = {"train": [], "selection": [], "report": [], "shards": shards}
    (tmp_path / "scale").mkdir()
    (tmp_path / "scale" / "data.json").write_text(json.dumps(about | {"hash": hashlib.sha256(b"[]").hexdigest()}))
    found = RunData(tmp_path, [tmp_path / name for name in order])._files
    assert found == {f"{name}/rows.arrow": tmp_path / name / "rows.arrow" for name in "ab"}
    (tmp_path / "b" / "rows.arrow").write_text("c")
    with pytest.raises(LabError, match="not the shard"):
        RunData(tmp_path, [tmp_path / name for name in order])


def test_an_evaluation_without_rows_is_one_that_the_lab_reads() -> None:
    report = report_of(1, [], settings(), [])
    found = json.loads(exact_json({"report": report, "zero": -0.0}, plain=True))
    assert found["report"]["means"] == dict.fromkeys(METRICS)
    assert found["report"]["ci"]["grounding_iou"] == [None, None]
    assert (found["report"]["n"], found["report"]["selection"], found["zero"]) == (0, None, 0)
    assert exact_json([-0.0, math.nan]) == '[{"$number":"-0"},{"$number":"NaN"}]'


def test_a_reward_and_its_difference_are_over_the_rows_with_a_verdict_at_both_steps() -> None:
    def rows(values: list[float | None]) -> list[dict[str, Any]]:
        same = dict.fromkeys((*METRICS, "partnerIou", "partnerMeteor"), 0.5) | {"groundingPixels": [1, 2]}
        return [
            same | {"rowId": str(at), "imageId": str(at), "part": "report", "rewards": {"reward2_sampled": value}}
            for at, value in enumerate(values)
        ]

    before = rows([0.1, 0.9, None, 0.3])
    first = {"report": report_of(0, before, settings(), []), "rows": before}
    found = report_of(4, rows([0.2, None, 0.8, 0.6]), settings(), [first])["reward"]["scores"]["reward2_sampled"]
    assert (found["n"], found["mean"]) == (2, pytest.approx(0.4))
    assert found["difference"]["mean"] == pytest.approx(0.2)


def test_one_process_has_nobody_to_share_layers_with() -> None:
    alone: Any = SimpleNamespace(world=1)
    with pytest.raises(LabError, match="start several by torchrun"):
        check_shares(settings(), alone)


def test_a_checkpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"format": "sa2va-lab-run/1", "config": {}}')
    given: Any = SimpleNamespace(run=tmp_path, model=tmp_path, dtype="f32")
    team: Any = SimpleNamespace(first=True)
    with pytest.raises(LabError, match=r"has no checkpoint of step 3, only of \[\]"):
        open_run(given, team, 3)


@pytest.mark.parametrize(("done", "steps"), [(0, 0), (3, 2), (3, 100_001)])
def test_a_length_that_the_lab_cannot_read_is_refused(done: int, steps: int) -> None:
    run: Any = SimpleNamespace(step=done, settings=settings())
    with pytest.raises(LabError, match=f"--steps {steps}"):
        extend(run, SimpleNamespace(first=True), steps)  # type: ignore[arg-type]


def exported(path: Path, config: dict[str, object], known: dict[str, object], **more: object) -> Path:
    """A run folder with the two files that hold settings."""
    (path / "scale").mkdir(parents=True)
    texts: dict[str, object] = {name: {} for name in ("wordings", "templates", "streams", "evaluation", "judge")}
    contract = texts | {"format": "sa2va-lab-scale/2", "defaults": known}
    (path / "scale" / "contract.json").write_text(json.dumps(contract))
    manifest = {"format": "sa2va-lab-run/1", "config": config, "model": {"name": "m", "hash": "h"}}
    (path / "run.json").write_text(json.dumps(manifest | more))
    return path


def test_settings_under_former_names_mean_the_same(tmp_path: Path) -> None:
    today: dict[str, object] = {
        new: KNOWN["choices"][new][-1] if new in KNOWN["choices"] else 7 for new in FORMER.values()
    }
    before = {former: today[new] for former, new in FORMER.items()}
    back = {new: former for former, new in FORMER.items()}
    known = {back.get(name, name): value for name, value in defaults().items()}
    assert len(FORMER) > 20 and known.keys() >= before.keys()
    change = {name: {"from": 1, "to": value} for name, value in before.items()}
    parts = [{"fromStep": 3, "engine": "sa2va_lab", "changed": change}]
    folder = RunFolder(exported(tmp_path / "run", before, known, segments=parts))
    contract = read_contract(folder.path)
    assert folder.manifest["config"] == today
    assert contract.defaults == defaults()
    assert parse_settings(folder.manifest["config"], contract.defaults) == settings(**today)
    assert settings(**today) != settings()
    assert folder.earlier_settings(2) == dict.fromkeys(today, 1)
    # What the package writes has today's names.
    folder.update(state="paused")
    written = json.loads((folder.path / "run.json").read_text())
    assert written["config"] == today
    assert written["segments"][0]["changed"].keys() == today.keys()


@pytest.mark.parametrize("flag", ["--num-generations", "--group-size"])
def test_the_command_line_changes_the_size_of_groups(
    flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = exported(tmp_path / "run", {"groupSize": 4}, defaults())
    words = ["train", str(run), "--model", str(tmp_path), "--shards", str(tmp_path), flag]
    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)}
    try:
        for size, said in (("99", "numGenerations 99 is not from 2 to 64"), ("6", "config.json cannot be read")):
            monkeypatch.setattr("sys.argv", [*words, size])
            assert main() == 2
            assert said in capsys.readouterr().err
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def test_rows_are_numbered_by_the_batch_of_each_step(tmp_path: Path) -> None:
    change = {"promptsPerStep": {"from": 2, "to": 4}}
    parts = [
        {"fromStep": 3, "changed": change},
        {"fromStep": 5},
        {"fromStep": 6, "changed": {"promptsPerStep": {"from": 4, "to": 8}}},
    ]
    folder = RunFolder(exported(tmp_path / "run", {"promptsPerStep": 8}, defaults(), segments=parts))

    def drawn(done: int, now: int, changes: bool = False) -> list[int]:
        own = settings(promptsPerStep=now, mixSources="")
        order = RowOrder(Known([0], ["a"], [1], [], {}), own, folder.batches(own, done, changes))
        return [order.before(step) for step in range(1, 10)]

    assert drawn(6, 8) == drawn(8, 8) == [0, 2, 4, 6, 10, 14, 18, 26, 34]
    # The next part changes it again, and one that left no step is replaced.
    assert drawn(7, 3, True) == [0, 2, 4, 6, 10, 14, 18, 26, 29]
    assert drawn(4, 8) == [0, 2, 4, 6, 10, 18, 26, 34, 42]
    assert drawn(2, 5, True) == [0, 2, 4, 9, 14, 19, 24, 29, 34]
    # A replay has the settings of its step.
    assert drawn(4, 4)[:5] == [0, 2, 4, 6, 10]
