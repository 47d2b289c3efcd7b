"""python make_trl.py --seed S --out DIR [--slim]: GRPO losses, gradients, advantages and metrics by TRL's own code in float64
(trl_run.py). --slim keeps one level a loss type (in turn), 9 digits, and the largest arrays of the first variant of a case.
"""

import argparse
import itertools
import json
import math
from pathlib import Path

import numpy as np
import torch
import trl
from trl_run import CISPO_CAP, HYPER, LEVELS, TYPES, advantages_of, run, trainer


def plain(value):
    """The golden notation: null for NaN, "inf" for infinity."""
    if isinstance(value, torch.Tensor):
        return plain(value.detach().tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def shortened(value):
    """Floats to 9 digits; advantages and their deviations, which are compared in double precision, stay whole."""
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, dict):
        whole = ("advantages", "reward_std_used", "reward_metrics", "trl")
        return {key: item if key in whole else shortened(item) for key, item in value.items()}
    return float(f"{value:.9g}") if isinstance(value, float) else value


class Maker:
    def __init__(self, seed, slim):
        self.random, self.slim, self.cases = np.random.default_rng(seed), slim, 0

    def uniform(self, low, high, digits=3):
        return round(float(self.random.uniform(low, high)), digits)

    def inputs(self, prompts=2, group=4, tokens=5, vocab=6, *, scale=1.5, old=None, ref=True, full=False):
        """Random logits, ids and masks; old and reference log-probabilities scatter around the policy's own by `old`."""
        rows, draw = prompts * group, self.random
        lengths = np.full(rows, tokens) if full else draw.integers(1, tokens + 1, rows)
        lengths[draw.integers(rows)] = tokens
        mask = (np.arange(tokens)[None] < lengths[:, None]).astype(int)
        logits = draw.normal(0, scale, (rows, tokens, vocab)).round(6)
        ids = draw.integers(0, vocab, (rows, tokens))
        near = torch.log_softmax(torch.tensor(logits), -1).gather(-1, torch.tensor(ids)[..., None])[..., 0].numpy()
        around = lambda spread: np.minimum(near + draw.normal(0, spread, near.shape), -1e-6).round(6)
        return {
            "policy_logits": logits.tolist(), "completion_ids": ids.tolist(), "completion_mask": mask.tolist(),
            "old_logps": None if old is None else around(old).tolist(),
            "ref_logps": around(0.3).tolist() if ref else None,
            "rewards": draw.uniform(0, 1, rows).round(4).tolist(),
        }  # fmt: skip

    def pairs(self, types, levels):
        """Loss types × levels; of a slim set one level a type, in turn."""
        self.cases += 1
        every = list(itertools.product(types, levels))
        if not self.slim or len(levels) == 1:
            return every
        return [(kind, level) for kind, level in every if (types.index(kind) + LEVELS.index(level) + self.cases) % 2]

    def case(self, name, description, inputs, changes=None, *, types=TYPES, levels=LEVELS, prompts=2):
        rows, tokens = np.shape(inputs["completion_ids"])
        hyper = HYPER | {"max_completion_length": tokens} | (changes or {})
        group = rows // prompts
        rewards = [[r] if not isinstance(r, list) else r for r in inputs["rewards"]]
        weights = hyper["reward_weights"] or [1.0] * len(rewards[0])
        scored = advantages_of(rewards, hyper, group, weights)
        shape = {"prompts": prompts, "group_size": group, "sequences": rows, "tokens": tokens,
                 "vocab": len(inputs["policy_logits"][0][0])}  # fmt: skip
        variants = {}
        shared = {}
        for loss_type, level in self.pairs(types, levels):
            made = run(trainer(hyper, loss_type, level), inputs, scored.advantages)
            bare = run(trainer(hyper | {"beta": 0.0, "entropy_coef": 0.0}, loss_type, level), inputs, scored.advantages)
            variant = {
                "epsilon_high_used": CISPO_CAP if loss_type == "cispo" else hyper["epsilon_high"], "loss": made.loss,
                "per_token_loss": made.local["per_token_loss"], "loss_policy_only": bare.loss,
                "grad_logps": made.logps, "grad_logits": made.logits, "metrics": made.metrics,
            }  # fmt: skip
            if level == "sequence":
                variant["sequence_ratio"] = torch.exp(made.local["log_importance_weights"])[:, 0]
            if self.slim and variants:
                del variant["grad_logits"], variant["per_token_loss"]
            if not shared:
                shared = {key: made.local[key] for key in ("per_token_logps", "entropies", "log_ratio")}
                if hyper["beta"] != 0:
                    shared["per_token_kl"] = made.local["per_token_kl"]
            variants[f"{loss_type}/{level}"] = variant
        expected = {
            "advantages": scored.advantages, "reward_std_used": scored.std, "group_std_is_zero": scored.zero,
            "reward_metrics": scored.metrics, "variants": variants,
        }  # fmt: skip
        return plain({"name": name, "description": description, "shape": shape, "hyper": hyper, "inputs": inputs,
                      "expected": expected | shared})  # fmt: skip

    def clear_quantile(self, make, quantile, ranges=((0, None),)):
        """Inputs in which no entropy lies near the quantile threshold of any of the row ranges."""
        while True:
            inputs = make()
            logps = torch.log_softmax(torch.tensor(inputs["policy_logits"]), -1)
            entropy = -(logps.exp() * logps).sum(-1)
            gaps = []
            for start, end in ranges:
                own = entropy[start:end][torch.tensor(inputs["completion_mask"])[start:end].bool()]
                gaps.append((own - torch.quantile(own, 1 - quantile)).abs().min().item())
            if min(gaps) > 1e-3:
                return inputs

    def on_policy(self):
        both = ["On-policy: every ratio is 1. ", "Without KL.", "With KL."]
        return [self.case(f"on_policy_beta_{beta}", both[0] + both[1 + (beta > 0)], self.inputs(ref=beta > 0, tokens=4),
                          {"beta": beta}) for beta in (0.0, self.uniform(0.01, 0.3))]  # fmt: skip

    def off_policy(self):
        low, high = self.uniform(0.1, 0.3), self.uniform(0.15, 0.6)
        stale = [self.inputs(old=self.uniform(0.3, 0.9)) for _ in range(2)]
        return [
            self.case("off_policy_symmetric", "Stale sampling log-probs.", stale[0], {"beta": 0.04}),
            self.case("off_policy_clip_higher", "The same with another upper bound.", stale[1],
                      {"epsilon_low": low, "epsilon_high": high, "beta": self.uniform(0, 0.2)}),
        ]  # fmt: skip

    def zero_std(self):
        cases = []
        for constant, scale in ((0.5, "group"), (0.7, "batch"), (0.3, "none")):
            inputs = self.inputs(old=0.4, tokens=3)
            inputs["rewards"][:4] = [constant] * 4
            cases.append(self.case(f"constant_group_{scale}", "One group without spread.", inputs,
                                   {"beta": 0.04, "scale_rewards": scale}, types=["grpo", "dapo"], levels=["token"]))  # fmt: skip
        return cases

    def masked(self):
        inputs = self.inputs(old=0.4)
        inputs["completion_mask"][int(self.random.integers(8))] = [0] * 5
        nothing = self.inputs(old=0.4, tokens=3)
        nothing["completion_mask"] = [[0] * 3] * 8
        options = {"beta": 0.05, "entropy_coef": 0.01}
        return [self.case("masked_row", "One row without an active token.", inputs, options),
                self.case("no_active_token", "No active token at all.", nothing, options, types=["grpo", "dapo", "luspo"])]  # fmt: skip

    def huge(self):
        inputs = self.inputs(scale=300, ref=False)
        inputs["policy_logits"] = np.round(np.array(inputs["policy_logits"]) * 8) / 8  # exact in float32
        inputs["policy_logits"] = inputs["policy_logits"].tolist()
        far = self.inputs(scale=2, tokens=6, ref=False, full=True)
        logps = torch.log_softmax(torch.tensor(far["policy_logits"]), -1)
        taken = logps.gather(-1, torch.tensor(far["completion_ids"])[..., None])[..., 0].numpy()
        jumps = self.random.uniform(-40, 40, taken.shape) * (np.arange(6) == self.random.integers(0, 9, (8, 1)))
        far["old_logps"] = np.minimum(taken + jumps, -1e-6).round(6).tolist()
        return [self.case("huge_logits", "Logits of order 1e2.", inputs),
                self.case("far_old", "Sampling log-probs up to 40 nats away.", far, types=["vespo", "cispo"])]  # fmt: skip

    def single(self):
        return [self.case("single_token", "T = 1.", self.inputs(tokens=1, old=0.4), {"beta": 0.04})]

    def delta(self):
        wide, tight = round(1.28 + self.uniform(0.1, 0.6), 3), self.uniform(1.05, 1.25)
        return [self.case(f"delta_{delta}", "Two-sided clip.", self.inputs(old=0.7, tokens=4),
                          {"epsilon_high": 0.28, "delta": delta, "beta": beta}, types=["grpo", "bnpo", "dr_grpo", "dapo", "luspo"])
                for delta, beta in ((wide, 0.0), (tight, 0.0), (tight, 0.05))]  # fmt: skip

    def temperature(self):
        return [self.case(f"temperature_{t}", "Log-probs of the tempered distribution.", self.inputs(old=0.4, tokens=3),
                          {"temperature": t, "beta": 0.04, "entropy_coef": 0.01}, types=["grpo", "dapo", "cispo"])
                for t in (self.uniform(0.4, 0.9), self.uniform(1.2, 2.0))]  # fmt: skip

    def entropy(self):
        quantile, coefficient = self.uniform(0.15, 0.6), self.uniform(0.005, 0.1)
        settings = (
            ("bonus", {"entropy_coef": coefficient, "beta": 0.02}),
            ("top_quantile", {"top_entropy_quantile": quantile, "beta": 0.02}),
            ("both", {"entropy_coef": coefficient, "top_entropy_quantile": quantile}),
            ("only_the_top", {"entropy_coef": coefficient, "top_entropy_quantile": 0.0}),
        )  # fmt: skip
        made = []
        for name, options in settings:
            share = options.get("top_entropy_quantile", 1.0)
            draw = lambda: self.inputs(old=0.4, tokens=4)
            inputs = self.clear_quantile(draw, share) if 0 < share < 1 else draw()
            made.append(self.case(name, "Entropy options.", inputs, options))
        return made

    def accumulation(self):
        cases = []
        quantile = self.uniform(0.3, 0.6)
        for name, options in (
            ("plain", {}),
            ("bonus", {"entropy_coef": 0.05}),
            ("bonus_and_quantile", {"entropy_coef": 0.05, "top_entropy_quantile": quantile, "beta": 0.03}),
        ):
            cuts = [[0, 4], [4, 8]]
            draw = lambda: self.inputs(old=0.4, tokens=4)
            inputs = self.clear_quantile(draw, quantile, ((0, 8), (0, 4), (4, 8)))
            hyper = HYPER | {"max_completion_length": 4, "grad_accum": 2} | options
            scored = advantages_of([[r] for r in inputs["rewards"]], hyper, 4, [1.0])
            total = int(np.sum(inputs["completion_mask"]))
            variants = {}
            for loss_type, level in self.pairs(TYPES, LEVELS):
                whole = run(trainer(hyper, loss_type, level), inputs, scored.advantages)
                own = trainer(hyper, loss_type, level, steps=2)
                micro = [run(own, inputs, scored.advantages, slice(*cut), total) for cut in cuts]
                loss = sum(part.loss for part in micro)
                variant = {
                    "epsilon_high_used": CISPO_CAP if loss_type == "cispo" else 0.2, "whole_loss": whole.loss,
                    "micro_losses": [part.loss for part in micro], "accumulated_loss": loss,
                    "invariant": math.isclose(loss, whole.loss, rel_tol=1e-9, abs_tol=1e-9),
                    "whole_grad_logits": whole.logits, "accumulated_grad_logits": torch.cat([m.logits for m in micro]),
                }  # fmt: skip
                if self.slim and variants:
                    del variant["whole_grad_logits"], variant["accumulated_grad_logits"]
                variants[f"{loss_type}/{level}"] = variant
            expected = {"advantages": scored.advantages, "reward_std_used": scored.std, "variants": variants}
            shape = {"prompts": 2, "group_size": 4, "sequences": 8, "tokens": 4, "vocab": 6}
            cases.append(plain({"name": name, "shape": shape, "hyper": hyper, "inputs": inputs, "micro_batches": cuts,
                                "expected": expected}))  # fmt: skip
        return cases

    def kl_and_masks(self):
        return [
            self.case("bias_corrected_kl", "KL times the importance ratio.", self.inputs(old=0.5),
                      {"beta": self.uniform(0.02, 0.3), "use_bias_correction_kl": True}),
            self.case("off_policy_mask", "Rows with A < 0 that the policy has left.", self.inputs(old=0.7),
                      {"beta": 0.04, "off_policy_mask_threshold": self.uniform(0.02, 0.2)}),
        ]  # fmt: skip

    def soft(self):
        draw = lambda low, high: self.uniform(low, high)
        options = {
            "sapo_temperature_pos": draw(0.5, 2), "sapo_temperature_neg": draw(0.5, 2), "vespo_k_pos": draw(1, 4),
            "vespo_lambda_pos": draw(1, 4), "vespo_k_neg": draw(1, 4), "vespo_lambda_neg": draw(1, 4), "beta": 0.03,
        }  # fmt: skip
        return [self.case("sapo_and_vespo", "Their own options.", self.inputs(old=0.5), options, types=["sapo", "vespo"]),
                self.case("vespo_lambda_0", "λ of 0 is raised to 1e-4.", self.inputs(old=0.15, tokens=3),
                          {"vespo_lambda_pos": 0.0, "vespo_lambda_neg": 0.0}, types=["vespo"])]  # fmt: skip

    def advantages(self):
        cases = []
        for functions, missing in ((1, 0.0), (1, 0.25), (3, 0.0), (3, 0.4)):
            group = int(self.random.integers(3, 7))
            rewards = self.random.uniform(0, 1, (3 * group, functions)).round(4).tolist()
            gone = self.random.random((3 * group, functions)) < missing
            table = [[None if gone[n][k] else r for k, r in enumerate(row)] for n, row in enumerate(rewards)]
            for k in range(functions):  # TRL has no deviation below two rewards of a group
                for start in range(0, 3 * group, group):
                    for n in (start, start + 1):
                        table[n][k] = rewards[n][k]
            if missing > 0:
                table[-1] = [None] * functions
            weights = [1.0] if functions == 1 else [self.uniform(-1, 2) for _ in range(functions)]
            case = {"name": f"{functions}_functions_missing_{missing}", "group_size": group, "reward_weights": weights,
                    "rewards_per_function": table, "trl": {}}  # fmt: skip
            for mode in ("group", "batch", "none", "normalize_then_sum"):
                several = mode == "normalize_then_sum"
                hyper = {"scale_rewards": "group" if several else mode,
                         "multi_objective_aggregation": mode if several else "sum_then_normalize"}  # fmt: skip
                made = advantages_of(table, hyper, group, weights)
                metrics = made.metrics
                case["trl"][mode] = {"total_reward": made.total, "advantages": made.advantages, "std_used": made.std,
                                     "frac_reward_zero_std": metrics["frac_reward_zero_std"], "metrics": metrics}  # fmt: skip
            cases.append(plain(case))
        return cases

    def adaptive(self):
        target = self.uniform(0.9, 1.4)
        cases = []
        for loss_type in ("grpo", "dapo"):
            hyper = HYPER | {"entropy_target": target, "entropy_coef_delta": 0.05, "entropy_coef_min": 0.0,
                             "entropy_coef_max": 0.12, "entropy_coef": 0.02, "max_completion_length": 3}  # fmt: skip
            own = trainer(hyper, loss_type, "token")
            steps = []
            for scale in self.random.uniform(0.3, 3, 6):
                inputs = self.inputs(prompts=1, group=3, tokens=3, vocab=5, scale=float(scale), ref=False)
                before = own.entropy_coef
                made = run(own, inputs, torch.zeros(3))
                steps.append({key: inputs[key] for key in ("policy_logits", "completion_ids", "completion_mask")} | {
                    "coefficient_before": before, "loss": made.loss, "mean_entropy": own._last_world_entropy,
                    "coefficient_after": own.entropy_coef})  # fmt: skip
            case = {"name": loss_type, "loss_type": loss_type, "initial_coefficient": 0.02, "steps": steps}
            keys = ("entropy_target", "entropy_coef_delta", "entropy_coef_min", "entropy_coef_max")
            cases.append(plain(case | {key: hyper[key] for key in keys}))
        return cases


FILES = {
    "01_on_policy": Maker.on_policy, "02_off_policy_clip": Maker.off_policy, "03_zero_std_groups": Maker.zero_std,
    "04_all_masked_row": Maker.masked, "05_huge_logits": Maker.huge, "06_single_token": Maker.single,
    "08_two_sided_delta": Maker.delta, "09_temperature": Maker.temperature, "10_entropy": Maker.entropy,
    "11_gradient_accumulation": Maker.accumulation, "12_kl_and_masks": Maker.kl_and_masks, "13_soft_gates": Maker.soft,
    "20_advantages": Maker.advantages, "25_adaptive_entropy": Maker.adaptive,
}  # fmt: skip
SCHEMAS = {"20_advantages": "grpo-advantages/1", "25_adaptive_entropy": "grpo-adaptive-entropy/1"}


def main(seed, out, slim):
    out.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        maker = Maker([seed, int(name[:2])], slim)
        golden = {"schema": SCHEMAS.get(name, "grpo-loss/1"), "trl_version": trl.__version__,
                  "provenance": f"TRL {trl.__version__} run in float64 by tests/oracle/make_trl.py, seed {seed}",
                  "cases": make(maker)}  # fmt: skip
        text = json.dumps(shortened(golden) if slim else golden, separators=(",", ":"))
        (out / f"{name}.json").write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--slim", action="store_true")
    given = parser.parse_args()
    main(given.seed, given.out, given.slim)
