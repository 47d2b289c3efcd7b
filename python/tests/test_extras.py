"""The core runs without the parts that are extras, and names the one that is missing."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sa2va_lab import text
from sa2va_lab.errors import LabError
from sa2va_lab.extras import extra
from sa2va_lab.settings import Contract

PACKAGE = Path(__file__).parents[1] / "sa2va_lab"
PARTS = (
    "judge",
    "serve",
    "launch",
    "pieces",
    "evaluation",
    "sft",
    "shard",
    "qwen_vl",
    "mask_policies",
    "custom",
    "ahead",
    "mixes",
    "terms",
    "losses",
    "variants",
    "internlm2",
    "draws",
    "likelihood",
    "memory",
    "regions",
    "rotation",
)
CALLED = tuple(part for part in PARTS if part not in ("serve", "launch"))
"""Those that the core looks for."""
CORE = {
    "maskPolicy": "candidates", "candidateTemperature": 1, "loop1Confidence": 0, "loop2Confidence": 0,
    "topEntropyQuantile": 1, "partnerSamples": 1, "regionPrompt": "tokens", "featureStorage": "f32",
    "weightStorage": "f32", "towerStorage": "same", "loop3Weight": 0, "iouShape": "plain",
}  # fmt: skip
"""Settings of a step without any part, beside those of a small run."""


def test_the_core_imports_none_of_its_parts(tmp_path: Path) -> None:
    # A copy without their files: every module of the core still loads.
    left_out = shutil.ignore_patterns("__pycache__", *PARTS, *(f"{part}.py" for part in PARTS))
    shutil.copytree(PACKAGE, tmp_path / "sa2va_lab", ignore=left_out)
    code = (
        "import importlib, json, pkgutil, sa2va_lab as p\n"
        "from sa2va_lab.errors import LabError; from sa2va_lab.extras import _PARTS, _SWITCHED, extra, needed\n"
        "said = {}\n"
        "for own in pkgutil.iter_modules(p.__path__): importlib.import_module(f'sa2va_lab.{own.name}')\n"
        f"for part in {CALLED}:\n"
        "    try: extra(part, 'It')\n"
        "    except LabError as wrong: said[part] = str(wrong)\n"
        # Both loops of a step with IoU, METEOR and the policy of the core.
        "from whole_step import SIZES, Alone, context, settings; from sa2va_lab.step import grpo_step\n"
        f"own = {CORE}\n"
        "given = context(**own); needed(given.settings)\n"
        "out = grpo_step(given, Alone())\n"
        "said['step'] = sorted({len(group.played.rewards) for group in out.groups}), out.updates[-1].stepped\n"
        # Each setting that needs a part is refused by its name.
        "changes = [(kind, value, part) for kind, own in _PARTS.items() for value, part in own.items()]\n"
        "changes += [(kind, 2, part) for kind, (_, part) in _SWITCHED.items()]\n"
        "changes += [('loop1Box', 1, 'terms'), ('loop2Contrast', 1, 'likelihood')]\n"
        "from test_loss import defaults; names = defaults()\n"
        "for kind, value, part in changes:\n"
        "    if kind in names:\n"
        "        try: needed(settings(**SIZES | own | {kind: value})); raise SystemExit(f'{kind} was not refused')\n"
        "        except LabError as wrong: assert f'needs the extra {part}:' in str(wrong), wrong\n"
        "said['refused'] = sum(kind in names for kind, _, _ in changes)\n"
        "print(json.dumps(said))"
    )
    # Without the finder of an editable installation, which would find the files that were left out.
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("step") == [[3], True]
    assert found.pop("refused") > 30
    assert found == {
        part: f'It needs the extra {part}: pip install "./python[{part}]"; nothing was changed' for part in CALLED
    }


def test_a_tokenizer_of_pieces_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    monkeypatch.delitem(sys.modules, "sa2va_lab.pieces", raising=False)
    (tmp_path / "tokenizer.model").write_bytes(b"")
    contract = Contract({}, {"a": {"stopWords": [], "bos": False}}, {}, {}, {}, {})
    with pytest.raises(LabError, match=r'tokenizer.model needs the extra pieces: pip install "\./python\[pieces\]"'):
        text.Words(tmp_path, {"template": "a"}, contract)


def test_a_tokenizer_of_pieces_has_the_tokens_of_a_checkpoint() -> None:
    pytest.importorskip("sentencepiece")
    folder = PACKAGE.parents[1] / "tests" / "golden" / "sa2va-tiny-internlm2"
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    template = {"stopWords": ["<|im_end|>"], "bos": True}
    words = text.Words(folder, config, Contract({}, {config["template"]: template}, {}, {}, {}, {}))
    assert [words.decode([own], True) for own in (words.context, words.seg)] == ["<IMG_CONTEXT>", "[SEG]"]
    assert words.visual[0] == "<img>"


def test_an_extra_is_its_module() -> None:
    assert extra("judge", "It").CaptionJudge.__name__ == "CaptionJudge"
