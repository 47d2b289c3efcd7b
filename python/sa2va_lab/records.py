"""Rollouts of a step as the lab's Arrow file (`rollouts/step-000123.arrow`)."""

import json
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from .step_metrics import Recorded

_MASK = pa.struct([("counts", pa.string()), ("size", pa.list_(pa.field("item", pa.int32())))])
_ACTION = pa.struct(
    [("label", pa.string()), ("id", pa.int32())]
    + [(name, pa.float64()) for name in ("logp", "sampling_logp", "ref_logp", "ratio", "kl", "entropy")]
    + [("clipped", pa.bool_())]
)
_WHOLES = pa.list_(pa.field("item", pa.int32()))
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("id", pa.string()), ("step", pa.int32()), ("loop", pa.int32()), ("group", pa.int32()), ("index", pa.int32()),
    ("row_id", pa.string()), ("image_id", pa.string()), ("prompt", pa.string()), ("completion", pa.string()),
    ("caption", pa.string()), ("reference_caption", pa.string()), ("caption_prime", pa.string()),
    ("given_mask", _MASK), ("predicted_mask", _MASK), ("greedy_mask", _MASK), ("reward", pa.float64()),
    ("advantage", pa.float64()), ("truncated", pa.bool_()), ("group_reward_mean", pa.float64()),
    ("group_reward_std", pa.float64()), ("group_zero_spread", pa.bool_()), ("prompt_runs", _WHOLES),
    ("answer_ids", _WHOLES), ("pixels", pa.string()),
    ("actions", pa.list_(pa.field("item", _ACTION))), ("terms_json", pa.string()),
]  # fmt: skip
_DTYPES = {pa.string(): "string", pa.int32(): "int32", pa.float64(): "float64", pa.bool_(): "bool"}


def exact_json(value: Any, indent: int | None = None, plain: bool = False) -> str:
    """JSON with sorted keys that keeps every double: numbers that JSON lacks are marked, or null if `plain`."""

    def mark(own: Any) -> Any:
        if isinstance(own, dict):
            return {str(key): mark(item) for key, item in own.items()}
        if isinstance(own, (list, tuple)):
            return [mark(item) for item in own]
        if not isinstance(own, float):
            return own
        return number(own) if not plain else number(own + 0.0) if math.isfinite(own) else None

    separators = (",", ":") if indent is None else (",", ": ")
    return json.dumps(mark(value), ensure_ascii=False, separators=separators, indent=indent, sort_keys=True)


def number(value: float) -> Any:
    """A number as JavaScript writes it; a marked one if JSON lacks it."""
    if not math.isfinite(value):
        return {"$number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if value == 0:
        return {"$number": "-0"} if math.copysign(1, value) < 0 else 0
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _feature(kind: pa.DataType) -> Any:
    """A type as named by `datasets`."""
    if pa.types.is_list(kind):
        return [_feature(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": _DTYPES[kind], "_type": "Value"}


def _runs(ids: list[int]) -> list[int]:
    """Pairs of id and repetitions."""
    return [part for token, run in groupby(ids) for part in (token, len(list(run)))]


def rollout_rows(step: int, record: Recorded) -> list[dict[str, Any]]:
    """Rows of one group's rollouts, by column."""
    played, scores = record.played, record.played.scores
    assert scores is not None
    grids = {"logp": record.logps, "sampling_logp": played.sampling, "ref_logp": played.reference,
             "ratio": record.effect.ratio, "kl": None if played.reference is None else record.effect.kl,
             "entropy": record.entropies}  # fmt: skip
    group = {
        "step": step, "loop": played.loop, "group": played.group, "group_reward_mean": scores.spread.mean,
        "group_reward_std": scores.spread.std, "group_zero_spread": scores.spread.zero,
        "prompt_runs": _runs(played.prompt_ids), "answer_ids": played.answer_ids,
    }  # fmt: skip
    rows, clipped = [], record.effect.low + record.effect.high + record.effect.delta
    for n, draft in enumerate(played.drafts):
        actions = [
            {"label": label, "id": token, "clipped": bool(clipped[n, t])}
            | {name: None if grid is None else float(grid[n, t]) for name, grid in grids.items()}
            for t, (token, label) in enumerate(played.labels[n])
        ]
        own = {"id": f"{step}-{played.loop}-{played.group}-{n}", "index": n, "advantage": scores.advantages[n]}
        own |= {"actions": actions, "terms_json": exact_json(draft["terms"])}
        rewards = {f"rewards/{term['name']}": term["value"] for term in draft["terms"]}
        rows.append(draft | group | own | rewards)
    return rows


def write_rollouts(path: Path, step: int, records: list[Recorded]) -> None:
    """Replaces the file of a step atomically."""
    rows = [row for record in records for row in rollout_rows(step, record)]
    terms = {name for row in rows for name in row if name.startswith("rewards/")}
    columns = [*_COLUMNS, *((name, pa.float64()) for name in sorted({"rewards/iou", "rewards/meteor"} | terms))]
    features = {"info": {"features": {name: _feature(kind) for name, kind in columns}}}
    table = pa.Table.from_pylist(rows, pa.schema(columns, metadata={"huggingface": json.dumps(features)}))
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    with pa.OSFile(str(unfinished), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    unfinished.replace(path)
