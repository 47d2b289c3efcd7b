"""The extra `custom`: a reward of the user in Python, in place of the lab's custom reward."""

import math
import runpy
from functools import partial
from pathlib import Path
from typing import Any

from .errors import LabError, reading
from .rewards import Custom, Facts, Term, term_of


def read(path: Path) -> Custom:
    """The function `reward` of a Python file as a term. Raises LabError when there is none."""
    with reading(f"--reward {path}", Exception):
        names = runpy.run_path(str(path), run_name=path.stem)
    if not callable(names.get("reward")):
        raise LabError(f"--reward {path} has no function reward(rollout)")
    return partial(term, names["reward"])


def term(reward: Any, group: list[Facts], terms: list[Term], at: int, loop: int) -> Term:
    """What a reward makes of a rollout. Raises LabError where it fails or returns no finite number."""
    try:
        value = reward(_rollout(group, terms, at, loop))
    except Exception as cause:
        raise LabError(
            f"The custom reward failed ({type(cause).__name__}: {cause}); nothing of this step was kept"
        ) from cause
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LabError(f"The custom reward returned {value!r}, not a finite number; nothing of this step was kept")
    return term_of("user", float(value))


def _rollout(group: list[Facts], terms: list[Term], at: int, loop: int) -> dict[str, Any]:
    """Input of a custom reward, with the lab's names; masks are arrays [height, width] of 0 and 1."""
    facts = group[at]
    counts = next((term["iou"] for term in terms if "iou" in term), None)
    both, either = (counts["intersection"], counts["union"]) if counts else (0, 0)
    return {
        "loop": loop, "caption": facts.caption or "", "reference": facts.reference, "given": facts.given,
        "predicted": facts.predicted, "confidence": facts.confidence, "truncated": facts.truncated,
        "iou": None if counts is None else counts | {"value": both / either if either else 0.0},
        "meteor": next((term["meteor"] for term in terms if "meteor" in term), None),
        "terms": {term["name"]: term["value"] for term in terms},
        "group": {"index": at, "size": len(group), "captions": [own.caption or "" for own in group]},
    }  # fmt: skip
