"""Advantages and the policy loss, compared with their formulas."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sa2va_lab.errors import LabError
from sa2va_lab.loss import (
    LossInputs,
    LossSettings,
    RewardGroup,
    effect_of,
    group_scores,
    inputs_of,
    policy_loss,
    spread_of,
)
from sa2va_lab.settings import COSTS, GAINS, LOOPS, Settings, attribute, parse_settings
from sa2va_lab.step_metrics import Recorded, _loss_metrics

SOURCE = Path(__file__).parents[1] / "sa2va_lab" / "settings.json"
KNOWN = json.loads(SOURCE.read_text(encoding="utf-8"))


def defaults() -> dict[str, object]:
    """A complete configuration."""
    names = KNOWN["used"] + [
        f"loop{loop}{t.capitalize()}{'Cost' if t in COSTS else ''}" for loop in LOOPS for t in (*GAINS, *COSTS)
    ]
    choices = {name: listed[0] for name, listed in KNOWN["choices"].items()}
    texts = dict.fromkeys(("leakWords", "userReward", "judgeUrl", "judgeModel", "judgeWritten"), "")
    texts |= dict.fromkeys(("judgeQuestionsPrompt", "judgeAnswersPrompt", "judgeDlcPrompt"), "")
    own = {"maskPolicy": "field", "maskAnchor": "none", "lrSchedulerType": "constant"}
    sizes = {"steps": 9, "promptsPerStep": 2, "accumulation": 1, "numIterations": 1, "topEntropyQuantile": 1}
    losses = {"epsilonLow": 0.2, "epsilonHigh": 0.2, "advantageEps": 1e-4, "klClamp": True}
    return dict.fromkeys(names, 0) | {"loraDropout": 0} | texts | choices | own | sizes | losses


def settings(**change: object) -> Settings:
    """Settings with changes."""
    return parse_settings(change, defaults())


def test_settings_of_the_tab_change_nothing_and_the_others_are_read() -> None:
    known = defaults() | dict.fromkeys(KNOWN["tab"], 0)
    for name in KNOWN["tab"]:
        assert parse_settings({name: 7}, known) == parse_settings({}, known), name
    for name in KNOWN["used"]:
        other = KNOWN["choices"][name][-1] if name in KNOWN["choices"] else 7
        assert getattr(parse_settings({name: other}, known), attribute(name)) == other, name


def test_an_unknown_setting_is_refused_unless_it_has_its_default() -> None:
    known = defaults() | {"newThing": 3}
    assert parse_settings({"newThing": 3}, known).steps == 9
    with pytest.raises(LabError, match="newThing"):
        parse_settings({"newThing": 4}, known)
    with pytest.raises(LabError, match="loraDropout"):
        settings(loraDropout=0.1)


def test_every_setting_that_is_read_is_listed() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCE.parent.rglob("*.py"))
    read = set(re.findall(r"\b(?:s|_s|settings)\.([a-z]+\d?_\w+)", sources))
    assert len(read) > 100
    assert read <= set(dir(settings()))


def test_costs_are_negative_weights() -> None:
    assert settings(loop1LengthCost=0.5).weights[1]["length"] == -0.5


def test_equal_rewards_have_no_advantage() -> None:
    assert spread_of([0.1, 0.1, 0.1]).zero
    scores = group_scores([RewardGroup([0.1, 0.1, None], None, []), RewardGroup([1.0, 0.0], None, [])], settings())
    assert scores[0].advantages == [0, 0, 0]
    assert scores[1].advantages == pytest.approx([0.5 / (math.sqrt(0.5) + 1e-4), -0.5 / (math.sqrt(0.5) + 1e-4)])
    with pytest.raises(LabError):
        group_scores([RewardGroup([math.inf], None, [])], settings())


def test_spread_is_that_of_what_advantages_are_made_of() -> None:
    # Equal sums of parts with different weights; and equal sums of normalised parts.
    skewed = RewardGroup([1.0, 1.0, 1.0], None, [(1.0, [0.0, 0.0, 1.0]), (2.0, [0.5, 0.5, 0.0])])
    opposed = RewardGroup([1.0, 2.0], None, [(1.0, [0.0, 2.0]), (1.0, [1.0, 0.0])])
    s = settings(multiObjectiveAggregation="normalize_then_sum", advantageEps=0)
    scores = group_scores([skewed, opposed], s)
    assert [own.spread.zero for own in scores] == [False, True]
    assert [own.spread.std for own in scores] == [0.0, math.sqrt(0.5)]
    assert [any(own.advantages) for own in scores] == [True, False]
    for group, own in zip((skewed, opposed), scores, strict=True):
        assert spread_of(inputs_of(group, s), None).zero == own.spread.zero
        assert inputs_of(group, settings()) is group.rewards


def _inputs(old: torch.Tensor | None) -> LossInputs:
    logps = torch.tensor([[-1.0, -2.0], [-0.5, -9.0]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    advantages = torch.tensor([1.0, -1.0], dtype=torch.float64)
    return LossInputs(logps, torch.zeros_like(logps), old, None, mask, advantages, None)


@pytest.mark.parametrize("bound", [0, 0.2])
def test_at_ratio_one_the_gradient_is_the_advantage(bound: float) -> None:
    inputs = _inputs(None)
    loss, _ = policy_loss(inputs, LossSettings(settings(epsilonLow=bound, epsilonHigh=bound), 2, 6, 4))
    loss.backward()
    assert inputs.logps.grad is not None
    assert inputs.logps.grad.tolist() == [[-0.125, -0.125], [0.25, 0.0]]


@pytest.mark.parametrize(
    ("name", "first"), [("dapo", -1 / 6), ("dr_grpo", -1 / 16), ("bnpo", -1 / 6), ("cispo", -0.2 / 6)]
)
def test_aggregations_weigh_a_token(name: str, first: float) -> None:
    inputs = _inputs(None)
    policy_loss(inputs, LossSettings(settings(lossType=name), 2, 6, 4))[0].backward()
    assert inputs.logps.grad is not None
    assert float(inputs.logps.grad[0, 0]) == pytest.approx(first)


def test_the_clip_removes_the_gradient() -> None:
    old = torch.tensor([[-2.0, -2.0], [-0.5, 0.0]], dtype=torch.float64)
    inputs = _inputs(old)
    policy_loss(inputs, LossSettings(settings(), 1, 3, 4))[0].backward()
    assert inputs.logps.grad is not None
    assert float(inputs.logps.grad[0, 0]) == 0
    assert float(inputs.logps.grad[0, 1]) == pytest.approx(-0.25)


def test_losses_with_their_own_weight_say_how_they_clip() -> None:
    inputs = _inputs(torch.tensor([[-2.0, -2.0], [-0.5, 0.0]], dtype=torch.float64))
    played: Any = SimpleNamespace(mask=inputs.mask.numpy(), advantages=[1.0, -1.0], reference=None)

    def metrics(**change: object) -> dict[str, float]:
        own = LossSettings(settings(**change), 1, 3, 4)
        seen = inputs.logps.detach().numpy(), inputs.entropies.numpy()
        return _loss_metrics(Recorded(played, effect_of(inputs, own), 0, 0, *seen), own)

    # One of three tokens of a good rollout exceeds the largest weight.
    assert metrics(lossType="cispo", epsilonHigh=2)["cispo_clip_ratio"] == pytest.approx(1 / 3)
    # φ = exp(λ + k · log w − λ · w) of w = e and of w = 1.
    own = {"vespoKPos": 2, "vespoLambdaPos": 3, "vespoKNeg": 3, "vespoLambdaNeg": 2}
    expected = (math.exp(3 + 2 - 3 * math.e) + 1) / 2
    assert metrics(lossType="vespo", **own)["vespo/phi_seq_mean"] == pytest.approx(expected)
