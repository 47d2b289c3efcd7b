"""
python tools/replay.py RUN --model DIR --shards DIR --step N: repeats a stored step and compares it with the record.

Rows, texts, masks and rewards must be equal; the gradient, read from the stored moments, and the weights after the
update must be close. A row whose picture decodes to other pixels is named. Use it to check a machine before a run
continues there.
"""

import hashlib
import json
import math
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from sa2va_lab.errors import LabError
from sa2va_lab.folder import step_name
from sa2va_lab.masks import Mask, decode_rle
from sa2va_lab.model import Values
from sa2va_lab.philox import Address
from sa2va_lab.policy import Actor
from sa2va_lab.records import rollout_rows
from sa2va_lab.run import OpenRun, arguments, open_run, step_of
from sa2va_lab.sampler import Drawn, Sampler, draw
from sa2va_lab.state import Update, adamw, average, copies, learning_rate
from sa2va_lab.step import Outcome
from sa2va_lab.team import Team

_MASKS = ("predicted_mask", "greedy_mask")
_EQUAL = ("completion", "caption", "caption_prime", *_MASKS, "given_mask", "prompt_runs",
          "answer_ids", "truncated")  # fmt: skip
_LABS = re.compile(r"step|loss|epoch|step_time|(time|memory)/.*|loop\d/(grad_snr|term_grad_norm/.*)")
"""Metrics that only a whole run has, and metrics of the page."""
_ROUNDING = ("grad_cosine", "ema/distance", "judge/latency_ms")
"""
Metrics that rounding decides, beside the difference between training and sampling: the angle to a loop whose gradient
vanishes, and the distance that Adam moved weights with such gradients.
"""
_ROUNDED = {"likelihood", "contrast", "confidence"}
"""Reward terms that are sums of floating-point numbers; the others are equal."""
_LOGIT, _SUM = 1e-5, 1e-6
"""Rounding in single precision of a mask's logits, relative to the largest, and of a running sum of probabilities."""
_NOTHING = 1e-9
"""
A tensor whose gradient is below this share of the largest has only rounding, such as the bias of attention's keys.
"""


def stored_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Rollouts of a file by id. A damaged or empty file raises LabError."""
    try:
        rows = pa.ipc.open_stream(path.read_bytes()).read_all().to_pylist()
    except pa.ArrowInvalid as wrong:
        raise LabError(f"{path} is damaged: {wrong}") from wrong
    if not rows:
        raise LabError(f"{path} holds no rollouts, so there is nothing to compare")
    return {row["id"]: row for row in rows}


def compare_rollouts(stored: dict[str, dict[str, Any]], own: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Number of rollouts that differ in each field, and the largest difference of numbers."""
    if stored.keys() != own.keys():
        raise LabError("The step has other rollouts than were stored; was the data set changed?")
    out: dict[str, Any] = {"rollouts": len(stored), "actions": 0, "actions_differ": 0}
    out |= {f"{name}_differ": 0 for name in _EQUAL} | {"mask_pixels": 0}
    out |= dict.fromkeys(("reward", "advantage", "logp", "ref_logp", "entropy", "terms"), 0.0)
    for key, before in stored.items():
        now = own[key]
        for name in _EQUAL:
            out[f"{name}_differ"] += before[name] != now[name]
            if name in _MASKS and before[name] and now[name]:
                out["mask_pixels"] = max(
                    out["mask_pixels"], int((decode_rle(before[name]) != decode_rle(now[name])).sum())
                )
        for name in ("reward", "advantage"):
            out[name] = max(out[name], abs((before[name] or 0) - (now[name] or 0)))
        out["actions"] += len(before["actions"])
        ids = [[action["id"] for action in row["actions"]] for row in (before, now)]
        out["actions_differ"] += sum(a != b for a, b in zip(*ids, strict=False)) + abs(len(ids[0]) - len(ids[1]))
        for a, b in zip(before["actions"], now["actions"], strict=False):
            for name in ("logp", "ref_logp", "entropy"):
                out[name] = max(out[name], abs((a[name] or 0) - (b[name] or 0)))
        terms = [{t["name"]: t["value"] for t in json.loads(row["terms_json"])} for row in (before, now)]
        known = (terms[0].keys() & terms[1].keys()) - _ROUNDED
        out["terms"] = max([out["terms"], *(abs((terms[0][name] or 0) - (terms[1][name] or 0)) for name in known)])
    return out


def other_pixels(stored: dict[str, dict[str, Any]], own: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """
    Rows whose picture decodes to other pixels here than in the record, with the hashes of both; files from before the
    hash name none.
    """
    pairs = ((before["row_id"], before.get("pixels"), own[key]["pixels"]) for key, before in stored.items())
    return {row: (there, here) for row, there, here in pairs if there not in (None, here)}


class Recorded(Actor):
    """An actor that follows the record if a number is within rounding of a border."""

    def __init__(self, actor: Actor, rows: list[dict[str, Any]]) -> None:
        """`rows` are the stored rollouts of the step."""
        super().__init__(actor.model, actor.words, actor.settings)
        self._masks = [decode_rle(row[name]) for row in rows for name in _MASKS if row[name]]
        self._ids = {
            (row["loop"], row["group"], row["index"]): [action["id"] for action in row["actions"]] for row in rows
        }
        self.pixels, self.draws = 0, 0
        """Pixels and tokens decided by the record."""

    def draw(
        self, logits: Tensor, sampler: Sampler, u: Tensor | None, seen: Tensor | None, addresses: list[Address]
    ) -> Drawn:
        """Tokens, or the recorded ones if a border to them is near."""
        drawn = super().draw(logits, sampler, u, seen, addresses)
        if u is None or addresses[0].loop == 2:
            return drawn
        known = [self._ids.get((own.loop, own.row, own.rollout), [])[own.position :] for own in addresses]
        wanted = drawn.ids.new_tensor([own[0] if own else -1 for own in known])
        for near in (u - _SUM, u + _SUM):
            other = draw(logits, sampler, near, seen)
            taken = (wanted >= 0) & (drawn.ids != wanted) & (other.ids == wanted)
            self.draws += int(taken.sum())
            drawn = Drawn(*(torch.where(taken, b, a) for a, b in zip(drawn, other, strict=True)))
        return drawn

    def inside(self, logits: Tensor) -> Tensor:
        """Masks, or the nearest recorded ones from which they differ only where logits are near 0."""
        return torch.stack([torch.from_numpy(self._nearest(own)).to(own.device) > 0 for own in logits])

    def _nearest(self, logits: Tensor) -> Mask:
        mask, size = (logits > 0).cpu().numpy().astype(np.uint8), logits.abs()
        far = (size > _LOGIT * size.max()).cpu().numpy()
        gaps = ((mask != other, other) for other in self._masks if other.shape == mask.shape)
        alike = [(int(gap.sum()), other) for gap, other in gaps if not gap[far].any()]
        pixels, found = min(alike, key=lambda item: item[0], default=(0, mask))
        self.pixels += pixels
        return found


def _moved(run: OpenRun, values: Values, after: dict[str, Values], count: int, there: list[bool]) -> None:
    """AdamW's `count`-th step on values, whose moments afterwards are those in `after`."""
    s, first = run.settings, after["first"]
    # Moments and a gradient from which these follow.
    second = [
        (own - (1 - s.adam_beta2) * m.square()) / s.adam_beta2 for own, m in zip(after["second"], first, strict=True)
    ]
    gradients = [m.clone() if reached else None for m, reached in zip(first, there, strict=True)]
    moments = (copies(first), second)
    adamw(run.context.model, values, moments, gradients, count, s, learning_rate(s, count - 1))


def _before_last(run: OpenRun, after: dict[str, Values], there: list[bool], count: int) -> Values:
    """The lab's weights before a step's last update, from those after it: an update is linear in the weights."""
    zeros, ones = ([torch.full_like(own, value) for own in after["policy"]] for value in (0.0, 1.0))
    for values in (zeros, ones):
        _moved(run, values, after, count, there)
    return [(end - zero) / (one - zero) for end, zero, one in zip(after["policy"], zeros, ones, strict=True)]


def _far(own: Values, wanted: Values) -> float:
    """The largest difference, relative to the largest value."""
    largest = max(float(value.abs().max()) for value in wanted)
    return max(float((a - b).abs().max()) for a, b in zip(own, wanted, strict=True)) / (largest or 1.0)


def _check_moments(
    run: OpenRun, outcome: Outcome, after: dict[str, Values], start: dict[str, Values], middle: Values | None
) -> dict[str, float]:
    """Relative error of AdamW and the average, computed from the lab's own moments and weights: only rounding."""
    s, there = run.settings, outcome.updates[-1].there
    count = run.context.state.optimiser_steps
    ema, found = copies(start["ema"]), {}
    if middle is None:
        values = copies(start["policy"])
        _moved(run, values, after, count, there)
        found["policy_update"] = _far(values, after["policy"])
        average(values, ema, count, s)
    else:
        average(middle, ema, count - 1, s)
        average(after["policy"], ema, count, s)
    return found | {"ema_update": _far(ema, after["ema"])}


def _compare_update(
    run: OpenRun, outcome: Outcome, after: dict[str, Values], start: dict[str, Values], middle: Values | None
) -> dict[str, float]:
    """
    Gradient from the stored moments, weights and averages; differences relative to the largest value.

    The moments of several updates hold the sum of their gradients, each decayed by the later updates.
    """
    s, model = run.settings, run.context.model
    stepped = [own for own in outcome.updates if own.stepped]
    if not stepped:
        return {}
    decays = [s.adam_beta1 ** (len(stepped) - 1 - at) * own.factor for at, own in enumerate(stepped)]
    mine, theirs = [], []
    for at, (m, earlier) in enumerate(zip(after["first"], start["first"], strict=True)):
        sums = [own.gradient[at].double() * decay for own, decay in zip(stepped, decays, strict=True)]
        mine.append(torch.stack(sums).sum(0))
        theirs.append((m.double() - s.adam_beta1 ** len(stepped) * earlier.double()) / (1 - s.adam_beta1))
    whole = max(float(value.abs().max()) for value in mine)
    own = [_far([a], [b]) for a, b in zip(theirs, mine, strict=True) if float(b.abs().max()) > _NOTHING * whole]
    gaps = [a - b for a, b in zip(mine, theirs, strict=True)]
    squares = [sum(float(value.square().sum()) for value in values) for values in (mine, gaps)]
    found = {"gradient": _far(theirs, mine), "gradient_tensor": max(own, default=0.0)}
    found["gradient_zeros"] = len(mine) - len(own)
    found["gradient_l2"] = (squares[1] / (squares[0] or 1.0)) ** 0.5
    if len(outcome.updates) == 1 or middle is not None:
        found |= _check_moments(run, outcome, after, start, middle)
    for name, values in (("policy", [p.data for p in model.trained]), ("ema", run.context.state.ema)):
        found[name] = _far(values, after[name])
        gap = torch.cat([(a.double() - b.double()).flatten() for a, b in zip(values, after[name], strict=True)])
        found[f"{name}_norm"] = float(gap.norm() / torch.cat([v.double().flatten() for v in after[name]]).norm())
    return found


def _compare_metrics(run: OpenRun, outcome: Outcome, step: int) -> dict[str, float]:
    """
    Largest difference of a metric, relative to the larger of it and 1, and the number of metrics that only one side
    has.
    """
    stored = next((row for row in run.folder.lines("metrics.jsonl") if row["step"] == step), {})
    gaps = [0.0]
    for name, value in outcome.metrics.items():
        before = float(stored.get(name, "nan"))
        if not math.isnan(before) and "logp_train" not in name and name not in _ROUNDING:
            gaps.append(abs(before - value) / max(1.0, abs(before)))
    alone = {name for name in stored if not _LABS.fullmatch(name)} ^ outcome.metrics.keys()
    return {"metrics": max(gaps), "metrics_differ": len(alone) if stored else 0}


def _take_features(run: OpenRun, folder: Path, rows: set[str]) -> dict[str, float]:
    """
    Uses the lab's features of rows from its cache, since two computations of a value near the middle of two numbers in
    half precision are rounded apart. Returns how far those computed here are from them, and how many values differ.
    """
    context, report = run.context, {"features": 0.0, "features_rounded": 0}
    files = {path.stem: path for path in folder.rglob("*.bin")}
    known = context.data.known(context.contract.streams).ids
    for row in (context.data.row(at) for at, name in enumerate(known) if name in rows):
        height, width = row.mask.shape
        picture = hashlib.sha256(struct.pack(">II", width, height) + row.rgb.tobytes()).hexdigest()
        if picture not in files:
            raise LabError(f"{folder} has no features of row {row.id}; nothing was compared")
        header, _, body = files[picture].read_bytes().partition(b"\n")
        about, at, taken = json.loads(header), 0, []
        dtype = np.dtype(np.float16 if about["half"] else np.float32)
        context.look(row)
        own = context.features[row.image_id]
        for name, here in zip(("vision", "f16", "f8", "f4"), (own.vision, *reversed(own.levels)), strict=True):
            there = np.frombuffer(body, dtype, here.numel(), at).astype(float) * about["units"][name]
            at += here.numel() * dtype.itemsize
            value = torch.from_numpy(there.reshape(about["shapes"][name])).to(here)
            value = value if value.dim() == 3 else value.permute(0, 3, 1, 2)
            report["features"] = max(report["features"], float((here - value).norm() / value.norm()))
            report["features_rounded"] += int((here != value).sum())
            taken.append(value)
        context.features[row.image_id] = replace(own, vision=taken[0], levels=taken[:0:-1])
    return report


def replay(run: OpenRun, step: int, team: Team, features: Path | None = None) -> tuple[dict[str, Any], Outcome]:
    """
    Runs the step after the run's own and compares it.

    If a logit of a mask is within rounding of 0, or a token's draw within rounding of a border, the record decides. In
    a step of two updates the second gradient is computed at the lab's weights at that time, so that Adam's
    amplification of the first one's rounding does not count as an error of the gradient. `features` is the lab's cache
    of features, which are then used instead of those computed here.
    """
    context, model = run.context, run.context.model
    start = {"policy": copies(model.trained), "ema": copies(context.state.ema), "first": copies(context.state.first)}
    after = run.folder.read_values(step, model) if step in run.folder.checkpoints() else None
    middle: list[Values] = []

    def put(update: Update, left: int) -> None:
        if left != 1 or middle or after is None or not update.stepped or context.state.optimiser_steps != count + 1:
            return
        middle.append(_before_last(run, after, update.there, count + 2))
        model.put(copies(middle[0]))

    path = run.folder.path / "rollouts" / f"{step_name(step)}.arrow"
    sampled = run.settings.mode == "rl"
    stored = stored_rows(path) if sampled and path.exists() else {}
    if sampled and not stored and team.first:
        print(f"The run kept no rollouts of step {step}: only metrics and weights are compared", file=sys.stderr)
    compared = {} if features is None else _take_features(run, features, {row["row_id"] for row in stored.values()})
    record = context.actor = Recorded(context.actor, list(stored.values()))
    count, context.between = context.state.optimiser_steps, put
    outcome = step_of(run, team)
    rows = {row["id"]: row for group in outcome.groups for row in rollout_rows(step, group)}
    report = (compare_rollouts(stored, rows) if stored else {}) | compared
    report["pixels_differ"] = len(other := other_pixels(stored, rows) if stored else {})
    for name, hashes in other.items() if team.first else ():
        print(
            f"Row {name} has the pixels {hashes[1]} here and had {hashes[0]} in the record: its picture was decoded by "
            "another decoder. Convert the pictures to PNG to compare further",
            file=sys.stderr,
        )
    report["pixels_rounded"], report["draws_rounded"] = map(
        sum, zip(*team.all_of([(record.pixels, record.draws)]), strict=True)
    )
    report |= _compare_metrics(run, outcome, step)
    if after is not None:
        report |= _compare_update(run, outcome, after, start, middle[0] if middle else None)
    return report, outcome


def main() -> int:
    """Command line; exit code 1 if something that must be equal is not."""
    parser = arguments(__doc__)
    parser.add_argument("--step", type=int, required=True, help="a stored step whose predecessor has a checkpoint")
    parser.add_argument("--save", type=Path, help="writes the summed gradient there")
    parser.add_argument("--features", type=Path, help="uses the lab's features in the cache of its tool `train`")
    parser.set_defaults(dtype="f32")
    given = parser.parse_args()
    team = Team()
    try:
        run = open_run(given, team, given.step - 1)
        report, outcome = replay(run, given.step, team, given.features)
    except LabError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    if team.first:
        if given.save:
            torch.save(torch.cat([g.flatten() for g in outcome.updates[-1].gradient]), given.save)
        print(json.dumps(report))
    team.leave()
    return int(any(report.get(f"{name}_differ", 0) for name in ("actions", "pixels", *_EQUAL)))


if __name__ == "__main__":
    sys.exit(main())
