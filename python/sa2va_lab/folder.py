"""Reads and writes the lab's run folder: manifest, metrics, evaluations and checkpoints."""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import TrainerState

from .errors import FORM, LabError, reading
from .model import Sa2va, Values
from .records import exact_json, number
from .settings import BATCH, Settings, attribute, read_json, read_lines, renamed, whole_lines
from .state import State

_MARKER = "complete.json"
_PIECE = 32 * 2**20
_LORA = ".lora_"


def step_name(step: int) -> str:
    """The lab's name of a step: step-000123."""
    return f"step-{step:06d}"


def piecewise_hash(path: Path) -> str:
    """SHA-256 over the SHA-256 of each piece of 32 MiB."""
    digests = []
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digests.append(hashlib.sha256(piece).hexdigest())
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _line(row: dict[str, Any]) -> str:
    """A line of metrics; numbers that JSON lacks are text."""

    def plain(value: Any) -> Any:
        if not isinstance(value, float) or value == 0:
            return value
        found = number(value)
        return found["$number"] if isinstance(found, dict) else found

    return json.dumps({name: plain(value) for name, value in row.items()}, separators=(",", ":"))


class RunFolder:
    """One run. Only the first process writes."""

    def __init__(self, path: Path) -> None:
        """Raises LabError when there is no run."""
        self.path = path
        self.manifest = self._read()

    def _read(self) -> dict[str, Any]:
        """run.json, its settings under today's names."""
        path = self.path / "run.json"
        found: dict[str, Any] = read_json(path)
        with reading(path, *FORM):
            if found["format"] != "sa2va-lab-run/1":
                raise LabError(f"{path} is not of the form sa2va-lab-run/1; nothing was changed")
            found["config"] = renamed(found["config"])
            for segment in found.get("segments", []):
                segment |= {"changed": renamed(segment["changed"])} if "changed" in segment else {}
        return found

    def update(self, **change: Any) -> None:
        """Rewrites run.json; unknown keys are kept."""
        self.manifest = self._read() | change
        self.replace_json("run.json", self.manifest)

    def replace_json(self, name: str, value: Any) -> None:
        """Replaces a file of JSON atomically."""
        self._replace(name, json.dumps(value, ensure_ascii=False, indent=2) + "\n")

    def _replace(self, name: str, text: str) -> None:
        unfinished = self.path / f"{name}.tmp"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path / name)

    def append(self, name: str, row: dict[str, Any]) -> None:
        """Adds a line to a file of lines and flushes it."""
        with (self.path / name).open("a", encoding="utf-8") as file:
            file.write(_line(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Complete lines of a file; empty if the file does not exist."""
        return read_lines(self.path / name)

    def replace_lines(self, name: str, rows: list[str]) -> None:
        """Replaces a file of lines atomically."""
        self._replace(name, "".join(f"{row}\n" for row in rows))

    def checkpoints(self) -> list[int]:
        """Steps with a complete checkpoint, ascending."""
        return sorted(at for at, path in self._numbered("checkpoints", "") if (path / _MARKER).exists())

    def _numbered(self, folder: str, end: str) -> list[tuple[int, Path]]:
        """Steps and paths of the entries named step-N plus `end`. Other entries belong to the user."""
        paths = [(path, re.fullmatch(rf"step-(\d{{6,}}){end}", path.name)) for path in (self.path / folder).glob("*")]
        return [(int(named[1]), path) for path, named in paths if named]

    def earlier_settings(self, step: int) -> dict[str, Any]:
        """Settings that later parts of the run changed, as they were in the step after this one."""
        found: dict[str, Any] = {}
        for segment in reversed(self.manifest.get("segments", [])):
            if segment["fromStep"] > step:
                found |= {name: change["from"] for name, change in segment.get("changed", {}).items()}
        return found

    def batches(self, settings: Settings, done: int, changes: bool) -> list[tuple[int, Settings]]:
        """
        Settings with the batches of earlier steps, each with its last step up to `done`, by ascending step.

        `changes` says that the next part, which is not written yet, changes them too.
        """
        ends = [own["fromStep"] for own in self.manifest.get("segments", []) if "changed" in own]
        found = []
        for end in sorted({min(end, done) for end in (*ends, *([done] if changes else ()))}):
            written = self.manifest["config"] | self.earlier_settings(end - 1)
            batch = {attribute(name): written[name] for name in BATCH if name in written}
            found.append((end, settings.changed(**batch)))
        return found

    def truncate_after(self, step: int) -> None:
        """
        Removes lines, rollouts and checkpoints after a step, so that no step exists twice.
        """
        # Everything is read before anything is removed.
        texts: dict[str, str] = {}
        for name in ("metrics.jsonl", "phases.jsonl", "alarms.jsonl", "eval.jsonl"):
            if (self.path / name).exists():
                steps = [row.get("report", row)["step"] for row in self.lines(name)]
                lines = zip(whole_lines(self.path / name), steps, strict=True)
                texts[name] = "".join(f"{line.decode()}\n" for line, at in lines if at <= step)
        # Checkpoints first, so that a run that is killed midway continues from this step, not after removed lines.
        for at, path in self._numbered("checkpoints", r"(?:\.tmp)?"):
            if at > step:
                self._remove(path)
        for name, text in texts.items():
            self._replace(name, text)
        for at, path in self._numbered("rollouts", r"\.arrow"):
            if at > step:
                path.unlink()

    def _remove(self, folder: Path) -> None:
        """The marker first, so that a partly removed folder never counts."""
        (folder / _MARKER).unlink(missing_ok=True)
        shutil.rmtree(folder)

    def _checkpoint(self, step: int) -> Path:
        folder = self.path / "checkpoints" / step_name(step)
        about = read_json(folder / _MARKER)
        with reading(folder / _MARKER, *FORM):
            files = [(folder / name, size, about.get("hashes", {}).get(name)) for name, size in about["files"].items()]
        for path, size, written in files:
            if not path.exists() or path.stat().st_size != size:
                raise LabError(f"{path} is missing or has a different size")
            if written not in (None, piecewise_hash(path)):
                raise LabError(f"{path} does not have the contents that were written")
        return folder

    def read_values(self, step: int, model: Sa2va) -> dict[str, Values]:
        """Tensors of a checkpoint in the order of the model's names, by kind: policy, ema, first…"""
        folder, named = self._checkpoint(step), dict(zip(model.names, model.trained, strict=True))
        found: dict[str, dict[str, Tensor]] = {}
        for file, tensors in _layout(model, (folder / "reference.safetensors").exists()).items():
            read = _tensors(folder / f"{file}.safetensors")
            for stored, (kind, name) in tensors.items():
                if stored not in read or read[stored].shape != named[name].shape:
                    raise LabError(f"{folder} does not fit the trained tensors at {name}")
                found.setdefault(kind, {})[name] = read[stored].to(named[name])
        return {kind: [own[name] for name in model.names] for kind, own in found.items()}

    def load_start(self, model: Sa2va) -> None:
        """Loads the weights that the run started with, if that was an opened adapter."""
        start = self.path / "start"
        if not start.exists():
            return
        files = [_tensors(path) for path in start.glob("*.safetensors")]
        known = {name: value for file in files for name, value in file.items()}
        for name, parameter in zip(model.names, model.trained, strict=True):
            value = known.get(model.peft_name(name) if _LORA in name else name)
            if value is not None:
                parameter.data = value.to(parameter)

    def restore(self, step: int, model: Sa2va, state: State) -> None:
        """Weights and state of a checkpoint."""
        values = self.read_values(step, model)
        model.put(values["policy"])
        state.ema, state.first, state.second = values["ema"], values["first"], values["second"]
        state.reference = values.get("reference")
        path = self.path / "checkpoints" / step_name(step) / "trainer_state.json"
        about = read_json(path)
        with reading(path, *FORM):
            trainer = about["sa2va_lab"]["trainer"]
            state.optimiser_steps, state.skipped_steps = trainer["optimiserSteps"], trainer["skippedSteps"]
            state.entropy |= {int(loop): kept for loop, kept in trainer.get("entropy", {}).items()}

    def write_checkpoint(self, step: int, model: Sa2va, state: State) -> None:
        """Writes all files, then the marker that makes the checkpoint valid."""
        folder = self.path / "checkpoints" / step_name(step)
        unfinished = folder.with_name(folder.name + ".tmp")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        kinds: dict[str, Sequence[Tensor]] = {"policy": model.trained, "ema": state.ema, "first": state.first}
        kinds |= {"second": state.second} | ({} if state.reference is None else {"reference": state.reference})
        values = {kind: dict(zip(model.names, own, strict=True)) for kind, own in kinds.items()}
        for file, tensors in _layout(model, state.reference is not None).items():
            written = {
                stored: values[kind][name].detach().to("cpu", torch.float32).contiguous()
                for stored, (kind, name) in tensors.items()
            }
            save_file(written, unfinished / f"{file}.safetensors", metadata={"format": "pt"})
        described = {"adapter_config": _adapter_config(model, self.manifest)}
        described["trainer_state"] = _trainer_state(step, model, state, self.manifest)
        for name, own in described.items():
            (unfinished / f"{name}.json").write_text(exact_json(own, 2) + "\n", encoding="utf-8")
        paths = sorted(unfinished.iterdir())
        marker = {
            "format": "sa2va-lab-checkpoint/1",
            "step": step,
            "files": {path.name: path.stat().st_size for path in paths},
            "hashes": {path.name: piecewise_hash(path) for path in paths},
        }
        for path in paths:
            with path.open("rb") as opened:
                os.fsync(opened.fileno())
        if folder.exists():
            self._remove(folder)
        unfinished.replace(folder)
        self._replace(f"checkpoints/{folder.name}/{_MARKER}", exact_json(marker, 2) + "\n")

    def prune(self, keep: int, best: int | None) -> None:
        """Keeps the last checkpoints and the best one. Also removes folders that a kill left incomplete."""
        known = self.checkpoints()
        kept = {*known[-max(1, keep) :], best}
        for at, path in self._numbered("checkpoints", ""):
            if known and at < known[-1] and at not in kept:
                with contextlib.suppress(FileNotFoundError):
                    self._remove(path)


def _tensors(path: Path) -> dict[str, Tensor]:
    with reading(path, SafetensorError):
        return dict(load_file(path))


def _layout(model: Sa2va, reference: bool) -> dict[str, dict[str, tuple[str, str]]]:
    """Files of a checkpoint: every name in them with its values and its trainable tensor."""
    names = model.names
    return {
        "adapter_model": {model.peft_name(name): ("policy", name) for name in names if _LORA in name},
        "modules": {name: ("policy", name) for name in names if _LORA not in name},
        "ema": {name: ("ema", name) for name in names},
        "optimizer": {f"exp_avg.{name}": ("first", name) for name in names}
        | {f"exp_avg_sq.{name}": ("second", name) for name in names},
    } | ({"reference": {name: ("reference", name) for name in names}} if reference else {})


def _adapter_config(model: Sa2va, manifest: dict[str, Any]) -> dict[str, Any]:
    config, targets = manifest["config"], model.adapted()
    return {
        "base_model_name_or_path": manifest["model"]["name"], "bias": "none", "lora_alpha": config["loraAlpha"],
        "lora_dropout": config["loraDropout"], "peft_type": "LORA", "r": config["loraR"],
        "target_modules": targets[0] if model.family.layers else targets, "task_type": "CAUSAL_LM",
    }  # fmt: skip


def _trainer_state(step: int, model: Sa2va, state: State, manifest: dict[str, Any]) -> dict[str, Any]:
    """Fields for Hugging Face tools, and the state for an exact resume."""
    config = manifest["config"]
    lora = {"alpha": config["loraAlpha"], "dropout": config["loraDropout"], "r": config["loraR"]}
    trainer: dict[str, Any] = {"optimiserSteps": state.optimiser_steps, "skippedSteps": state.skipped_steps}
    if config.get("useAdaptiveEntropy"):
        trainer["entropy"] = {str(loop): kept for loop, kept in state.entropy.items()}
    ours = {
        "format": "sa2va-lab-trainer/1",
        "optimiserStep": state.optimiser_steps,
        "config": config,
        "trainer": trainer,
        "lora": lora | {"targets": model.adapted()},
        "order": model.names,
        "baseModel": {"name": manifest["model"]["name"], "hash": manifest["model"]["hash"]},
    }
    state_of = TrainerState(
        epoch=0, global_step=step, max_steps=config["steps"], logging_steps=1, eval_steps=0,
        save_steps=config["saveSteps"], train_batch_size=config["promptsPerStep"],
    )  # fmt: skip
    return asdict(state_of) | {"sa2va_lab": ours}
