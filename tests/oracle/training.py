"""The golden training steps by automatic differentiation: token and mask losses, points, AdamW, EMA and GRPO."""

import torch
import torch.nn.functional as F

import model
import preprocess
import sam2

BCE_WEIGHT, DICE_WEIGHT = 2.0, 0.5


def leaves(run, with_masks):
    """Trainable copies: adapter factors, projector and, with masks, prompt head, prompt encoder and mask decoder."""
    prefixes = ("mlp1.",) + (("text_hidden_fcs.", sam2.PROMPT, sam2.DECODER) if with_masks else ())
    names = [n for n in run.w if n.startswith(prefixes) and "gaussian" not in n]
    own = {n: run.w[n].clone().requires_grad_() for n in names}
    factors = {n: v.clone().requires_grad_() for n, v in run.folder.adapter.factors.items()}
    return own, factors


def gradients(own, factors):
    named = {f"lora.{n}": v for n, v in factors.items()} | own
    grads = {n: torch.zeros_like(v) if v.grad is None else v.grad for n, v in named.items()}
    norm = torch.stack([g.double().pow(2).sum() for g in grads.values()]).sum().sqrt()
    return named, grads, float(norm)


def point_sample(maps, points):
    """Bilinear values [n, P] of maps [n, h, w] at (x, y) in [0, 1]."""
    grid = 2 * points[:, :, None] - 1
    return F.grid_sample(maps[:, None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[:, 0, :, 0]


def dice(p, t):
    p, t = p.flatten(1), t.flatten(1)
    return 1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)


def segmentation_step(run, advantages, oversample, uniform, settings, updated):
    """Arrays of golden_train_seg and the entries train.seg and train.adamw."""
    case, c = run.segmenting(), run.config
    own, factors = leaves(run, True)
    w = run.w | own
    adapter = model.Adapter(factors, run.folder.adapter.scale)
    prompt, answer = run.ids(case)
    hidden = run.hidden(case, prompt + answer, adapter, w)
    _, logps = run.scores(hidden, prompt, answer, w)
    lang = model.seg_prompt(w, hidden[run.seg_positions(prompt, answer)])
    masks, iou = sam2.decode(w, c["sam2_config"], run.levels, lang)[:2]
    low, _ = sam2.choose(masks, iou)
    truth = torch.stack([preprocess.nearest(m, *low.shape[2:]) for m in run.masks[: len(lang)]]).float()
    policy = -(advantages * logps).mean()
    bce = F.binary_cross_entropy_with_logits(low[:, 0], truth)
    dice_loss = dice(low[:, 0].sigmoid(), truth).mean()
    loss = policy + BCE_WEIGHT * bce + DICE_WEIGHT * dice_loss
    loss.backward()
    named, grads, norm = gradients(own, factors)
    out = {
        "advantages": advantages,
        "answer_logprobs": logps,
        "lang_embed": lang,
        "low_res_mask": low,
        "gt_low_res": truth,
        "ious": iou[:, 1:],
    }
    out |= {f"grad.{n}": g for n, g in grads.items()}

    with torch.no_grad():
        uncertain = -point_sample(low[:, 0], oversample).abs()
        count = 3 * uniform.shape[1]
        order = uncertain.topk(count, 1).indices
        picked = oversample.gather(1, order[..., None].expand(-1, -1, 2))
        points = torch.cat([picked, uniform], 1)
        pred, target = point_sample(low[:, 0], points), point_sample(truth, points)
        n, size = pred.shape
        ce = F.binary_cross_entropy_with_logits(pred, target, reduction="sum")
        point_mask = BCE_WEIGHT * ce / (n * size + 1e-4)
        point_dice = DICE_WEIGHT * dice(pred.sigmoid(), target).sum() / (n + 1e-4)
    out |= {"points.rand_oversample": oversample, "points.rand_uniform": uniform, "points.selected": points}
    out |= {"points.pred": pred, "points.gt": target}

    entry = {
        "loss": loss.item(),
        "policy_loss": policy.item(),
        "bce": bce.item(),
        "dice": dice_loss.item(),
        "grad_global_norm": norm,
        "zero_gradient_parameters": [n for n, g in grads.items() if not bool(g.any())],
        "point_loss_mask": float(point_mask),
        "point_loss_dice": float(point_dice),
    }
    clip = min(1.0, settings["max_grad_norm"] / (norm + 1e-6))
    tensors = [v.detach().clone().requires_grad_() for v in named.values()]
    for tensor, grad in zip(tensors, grads.values(), strict=True):
        tensor.grad = grad * clip
    torch.optim.AdamW(
        tensors,
        lr=settings["lr"],
        betas=settings["betas"],
        eps=settings["eps"],
        weight_decay=settings["weight_decay"],
    ).step()
    after = dict(zip(named, tensors, strict=True))
    decay = settings["ema_decay"]
    for name in updated:
        out[f"after_adamw.{name}"] = after[name]
        out[f"after_ema.{name}"] = decay * named[name] + (1 - decay) * after[name]
    adamw = settings | {"clip_coefficient": clip, "tensors": list(updated)}
    return {k: v.detach() for k, v in out.items()}, entry, adamw


def completion_logps(run, case, prompt, completions, adapter, w):
    """Log-probabilities [G, T] of unequal completions, zero behind their ends."""
    rows = []
    for ids in completions:
        _, logps = run.scores(run.hidden(case, prompt + ids, adapter, w), prompt, ids, w)
        rows.append(logps)
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def grpo_step(run, case, completions, rewards, old, clip, beta):
    """Arrays of golden_train_grpo and the entry train.grpo. `old` may be a function of the policy's values."""
    prompt, _ = run.ids(case)
    own, factors = leaves(run, False)
    w = run.w | own
    adapter = model.Adapter(factors, run.folder.adapter.scale)
    with torch.no_grad():
        reference = completion_logps(run, case, prompt, completions, None, run.w)
    logps = completion_logps(run, case, prompt, completions, adapter, w)
    mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(c)) for c in completions], batch_first=True)
    if callable(old):
        old = old(logps.detach()) * mask
    advantages = (rewards - rewards.mean()) / (rewards.std(unbiased=True) + 1e-4)
    ratio = (logps - old).exp()
    spread = advantages[:, None]
    plain, clipped = ratio * spread, ratio.clamp(1 - clip, 1 + clip) * spread
    gap = reference - logps
    per_token = (-torch.minimum(plain, clipped) + beta * (gap.exp() - gap - 1)) * mask
    loss = (per_token.sum(1) / mask.sum(1)).mean()
    loss.backward()
    _, grads, norm = gradients(own, factors)
    pad = run.folder.pad
    padded = [torch.tensor(c, dtype=torch.int32) for c in completions]
    out = {
        "prompt_ids": torch.tensor(prompt, dtype=torch.int32),
        "completion_ids": torch.nn.utils.rnn.pad_sequence(padded, batch_first=True, padding_value=pad),
        "completion_mask": mask.to(torch.uint8),
        "rewards": rewards,
        "advantages": advantages,
        "old_logprobs": old,
        "ref_logprobs": reference,
        "logprobs": logps,
        "per_token_loss": per_token,
    }
    out |= {f"grad.{n}": g for n, g in grads.items()}
    entry = {
        "loss_sequence_mean": loss.item(),
        "loss_token_mean": (per_token.sum() / mask.sum()).item(),
        "clip_eps": clip,
        "beta": beta,
        "group_size": len(completions),
        "advantage": "(r-mean)/(std_unbiased+1e-4)",
        "clipped_tokens": int(((clipped < plain) * mask).sum()),
        "tokens": int(mask.sum()),
        "grad_global_norm": norm,
        "completions": completions,
    }
    return {k: v.detach() for k, v in out.items()}, entry
