"""TRL's own GRPO loss and advantage code in float64: the loss on a stand-in model whose logits are given, the advantages cut
from GRPOTrainer._generate_and_score_completions."""

import inspect
import math
import sys
import textwrap
from collections import defaultdict
from types import MethodType, SimpleNamespace

import numpy as np
import torch
from accelerate import Accelerator
from trl import GRPOConfig, GRPOTrainer
from trl.trainer import grpo_trainer, utils

torch.set_default_dtype(torch.float64)
torch.Tensor.float = lambda self: self.double()  # TRL's casts to float32, widened

TYPES = ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"]
LEVELS = ["token", "sequence"]
OPTIONS = (
    "beta delta entropy_coef top_entropy_quantile off_policy_mask_threshold use_bias_correction_kl sapo_temperature_pos "
    "sapo_temperature_neg vespo_k_pos vespo_lambda_pos vespo_k_neg vespo_lambda_neg"
).split()
HYPER = {
    "temperature": 1.0, "epsilon_low": 0.2, "epsilon_high": 0.2, "delta": None, "beta": 0.0, "scale_rewards": "group",
    "multi_objective_aggregation": "sum_then_normalize", "reward_weights": None, "grad_accum": 1, "entropy_coef": 0.0,
    "top_entropy_quantile": 1.0, "off_policy_mask_threshold": None, "use_bias_correction_kl": False,
    "sapo_temperature_pos": 1.0, "sapo_temperature_neg": 1.05, "vespo_k_pos": 2.0, "vespo_lambda_pos": 3.0,
    "vespo_k_neg": 3.0, "vespo_lambda_neg": 2.0,
}  # fmt: skip
CISPO_CAP = 5.0
assert all(key in GRPOConfig.__dataclass_fields__ for key in OPTIONS), "this TRL has other options"


class StandIn(torch.nn.Module):
    """A model whose logits are given: the log-probability and entropy that TRL's fused head returns."""

    def __init__(self, logits, temperature):
        super().__init__()
        self.logits, self.temperature, self.logps = logits, temperature, None

    def forward(self, input_ids, attention_mask, labels, fused_lm_head):
        ids = input_ids[:, -self.logits.shape[1] :]
        mask = labels[:, -self.logits.shape[1] :] != -100
        logps, entropy = utils.selective_log_softmax_and_entropy(self.logits, ids, True, self.temperature, mask)
        self.logps = logps
        if logps.requires_grad:
            logps.retain_grad()
        return SimpleNamespace(log_probs=logps, entropy=entropy)


def trainer(hyper, loss_type, level, steps=1):
    """The part of a GRPOTrainer that its loss reads; every method is TRL's."""
    options = {key: hyper[key] for key in OPTIONS}
    cap = CISPO_CAP if loss_type == "cispo" else hyper["epsilon_high"]
    args = SimpleNamespace(**options, steps_per_generation=steps, entropy_target=hyper.get("entropy_target", 0.0))
    for key in ("entropy_coef_delta", "entropy_coef_min", "entropy_coef_max"):
        setattr(args, key, hyper.get(key, 0.0))
    adaptive = "entropy_target" in hyper
    own = SimpleNamespace(
        args=args, accelerator=Accelerator(cpu=True), loss_type=loss_type, importance_sampling_level=level,
        epsilon_low=hyper["epsilon_low"], epsilon_high=cap, beta=hyper["beta"], temperature=hyper["temperature"],
        top_entropy_quantile=hyper["top_entropy_quantile"], off_policy_mask_threshold=hyper["off_policy_mask_threshold"],
        max_completion_length=hyper["max_completion_length"], entropy_coef=hyper["entropy_coef"], use_vllm=False,
        use_adaptive_entropy=adaptive, _entropy_bonus_enabled=adaptive or hyper["entropy_coef"] != 0.0,
        _last_world_entropy=math.inf, _entropy_window_stats=None, aux_loss_enabled=False,
        vllm_importance_sampling_correction=False, current_gradient_accumulation_steps=steps,
        model=SimpleNamespace(training=True), _metrics={"train": defaultdict(list)},
        get_off_policy_mask=GRPOTrainer.get_off_policy_mask, get_gamma_weights=GRPOTrainer.get_gamma_weights,
    )  # fmt: skip
    for name in ("get_high_entropy_mask", "_get_per_token_logps_and_entropies", "_compute_loss"):
        setattr(own, name, MethodType(inspect.unwrap(getattr(GRPOTrainer, name)), own))
    return own


def run(own, inputs, advantages, rows=slice(None), tokens_total=None):
    """One call of TRL's loss on some rows: value, gradients, metrics and the routine's local tensors."""
    pick = lambda key: None if inputs[key] is None else torch.tensor(np.asarray(inputs[key])[rows])
    logits = pick("policy_logits").requires_grad_()
    mask = pick("completion_mask")
    count = len(mask)
    model = StandIn(logits, own.temperature)
    batch = {
        "prompt_ids": torch.zeros((count, 1), dtype=torch.long), "prompt_mask": torch.ones((count, 1), dtype=torch.long),
        "completion_ids": pick("completion_ids"), "completion_mask": mask, "advantages": advantages[rows],
        "num_items_in_batch": torch.tensor(float(mask.sum() if tokens_total is None else tokens_total)),
    }  # fmt: skip
    if inputs["old_logps"] is not None:
        batch["old_per_token_logps"] = pick("old_logps")
    if inputs["ref_logps"] is not None:
        batch["ref_per_token_logps"] = pick("ref_logps")
    local = {}

    def keep(frame, event, _):
        if event == "return" and frame.f_code.co_name == "_compute_loss":
            local.update(frame.f_locals)

    sys.setprofile(keep)
    loss = own._compute_loss(model, batch)
    sys.setprofile(None)
    loss.backward()
    metrics = {key: values[-1] for key, values in own._metrics["train"].items()}
    return SimpleNamespace(loss=loss.item(), logits=logits.grad, logps=model.logps.grad, metrics=metrics, local=local)


def advantages_of(rewards, hyper, group_size, weights):
    """Runs TRL's lines from the weighted sum to the last reward metric."""
    source = inspect.getsource(inspect.unwrap(GRPOTrainer._generate_and_score_completions))
    start, end = source.index("unscorable_mask ="), source.index("# Log prompts and completions")
    lines = textwrap.dedent(" " * 8 + source[start:end])
    own = SimpleNamespace(
        multi_objective_aggregation=hyper["multi_objective_aggregation"], scale_rewards=hyper["scale_rewards"],
        reward_weights=torch.tensor(weights), reward_funcs=weights, reward_func_names=[f"r{k}" for k in range(len(weights))],
        accelerator=SimpleNamespace(process_index=0), _metrics={"train": defaultdict(list)},
    )  # fmt: skip
    table = torch.tensor([[math.nan if r is None else r for r in row] for row in rewards])
    scope = {
        "self": own, "rewards_per_func": table, "num_generations": group_size, "device": "cpu", "mode": "train",
        "prompts": rewards,
    }  # fmt: skip
    exec(lines, vars(grpo_trainer), scope)
    metrics = {key: values[-1] for key, values in own._metrics["train"].items()}
    return SimpleNamespace(advantages=scope["advantages"], std=scope["std_rewards"], zero=scope["is_std_zero"],
                           total=scope["rewards"], metrics=metrics)  # fmt: skip
