"""Settings of the tab, by their effect: a step of both loops has the same numbers whatever they are."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_loss import KNOWN, defaults
from whole_step import SIZES, Alone, context

import sa2va_lab
from sa2va_lab.records import rollout_rows
from sa2va_lab.settings import parse_settings
from sa2va_lab.step import grpo_step

PACKAGE = Path(sa2va_lab.__file__).parent
OTHERS = ({"heldOutShare": 0.4}, {name: 7 for name in KNOWN["tab"]}, {name: "other" for name in KNOWN["tab"]})


def result(**change: object) -> tuple[Any, ...]:
    given = context(**change)
    out = grpo_step(given, Alone())  # type: ignore[arg-type]
    rows = [row for group in out.groups for row in rollout_rows(1, group)]
    return out.metrics, rows, [own.detach() for own in given.model.trained], out.updates[-1].gradient


def test_a_step_does_not_depend_on_settings_of_the_tab() -> None:
    metrics, rows, weights, gradient = result()
    for change in OTHERS:
        other = result(**change)
        np.testing.assert_equal(other[0], metrics)
        np.testing.assert_equal(other[1], rows)
        assert all(map(torch.equal, (*other[2], *other[3]), (*weights, *gradient)))
    # The comparison can fail.
    assert result(seed=3)[1] != rows


@pytest.mark.parametrize("name", KNOWN["tab"])
def test_no_module_can_see_a_setting_of_the_tab(name: str) -> None:
    known = defaults() | dict.fromkeys(KNOWN["tab"], 0) | SIZES
    for value in (7, "other", True, -1.5):
        assert parse_settings({name: value}, known) == parse_settings({}, known)
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(rf"""["']{name}["']""", path.read_text(encoding="utf-8")), path
