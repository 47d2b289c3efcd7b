"""Every array and number of a whole-model golden folder, computed from its checkpoint and a few inputs."""

import numpy as np
import torch

import model
import preprocess
import sam2
from resize import bicubic

FIRST = 8


class Run:
    """Forward results of one folder that several golden files share. `cases`: dicts of name, text, answer, marks."""

    def __init__(self, folder, rles, cases):
        self.folder, self.w, self.config = folder, folder.weights, folder.config
        self.cases = {case["name"]: case for case in cases}
        c = self.config
        side = int(c["force_image_size"] // c["vision_config"]["patch_size"] * c["downsample_ratio"])
        self.side, self.rles = side, rles
        self.masks = [preprocess.rle_decode(rle) for rle in rles]
        self.grids = [preprocess.nearest(mask, side, side) for mask in self.masks]
        self.tiles, self.grid = preprocess.tiles_of(folder.image, c)
        size = c["sam2_config"]["image_size"]
        self.sam_u8 = bicubic(folder.image, size, size)
        self.arrays = {}
        with torch.no_grad():
            kept = {}
            x = model.vision(self.w, c, preprocess.normalise(self.tiles), kept.__setitem__)
            self.shuffled = kept["pixel_shuffle"] = model.pixel_shuffle(x, c["ps_version"])
            kept["mlp1"] = model.projector(self.w, self.shuffled)
            self.arrays["golden_vision"] = kept
            kept = {}
            pixels = preprocess.normalise(self.sam_u8[None])
            self.levels = sam2.encode(self.w, c["sam2_config"], pixels, kept.__setitem__)
            self.arrays["golden_sam2"] = kept
        pixels = preprocess.normalise(self.tiles)
        self.arrays["golden_preprocess"] = {
            "pixel_values_corner": pixels[:, :, :FIRST, :FIRST],
            "tiles_u8": torch.from_numpy(self.tiles),
            "sam_u8": torch.from_numpy(self.sam_u8),
            "region_masks_u8": torch.from_numpy(np.stack(self.masks)),
            "region_masks_grid": torch.stack(self.grids),
        }

    def prompt(self, case):
        counts = [int(g.sum()) for g in self.grids] if case["marks"] else []
        return preprocess.prompt_text(
            case["text"], self.config["template"], len(self.tiles), self.side**2, counts
        )

    def ids(self, case):
        return self.folder.prompt_ids(self.prompt(case)), self.folder.encode(case["answer"])

    def embed(self, case, ids, w=None):
        w = w or self.w
        grids = self.grids if case["marks"] else []
        return model.embed(w, self.config, ids, self.folder.ids["<IMG_CONTEXT>"], model.projector(w, self.shuffled), grids)

    def hidden(self, case, ids, adapter=None, w=None, keep=lambda name, value: None, start=None):
        """Hidden states of all ids; those from `start` on entered one at a time, as in cached decoding."""
        w = w or self.w
        return model.language(w, self.config, self.embed(case, ids, w), adapter, keep, start)

    def scores(self, hidden, prompt, answer, w=None):
        """Logits of the last prompt position and all answer positions, and the answer's log-probabilities."""
        logits = model.head(w or self.w, self.config, hidden[len(prompt) - 1 :])
        picked = logits[:-1].log_softmax(-1).gather(1, torch.tensor(answer)[:, None])[:, 0]
        return logits, picked

    def seg_positions(self, prompt, answer):
        return [len(prompt) + i for i, t in enumerate(answer) if t == self.folder.ids["[SEG]"]]

    def segmenting(self):
        return next(c for c in self.cases.values() if self.folder.ids["[SEG]"] in self.folder.encode(c["answer"]))

    @torch.no_grad()
    def language_case(self, case):
        """The arrays of one case and its entry in cases.json."""
        prompt, answer = self.ids(case)
        ids, kept = prompt + answer, {}
        hidden = self.hidden(case, ids, keep=kept.__setitem__)
        out = {k if k.startswith("layer") else "base." + k: v for k, v in kept.items()}
        out["input_ids"] = torch.tensor(ids, dtype=torch.int32)
        out["labels"] = torch.tensor([-100] * len(prompt) + answer, dtype=torch.int32)
        out["inputs_embeds"] = kept["hidden.0"]
        out["base.logits"], out["base.answer_logprobs"] = self.scores(hidden, prompt, answer)
        out["lora.hidden.last"] = self.hidden(case, ids, self.folder.adapter)
        out["lora.logits"], out["lora.answer_logprobs"] = self.scores(out["lora.hidden.last"], prompt, answer)
        entry = {
            "name": case["name"],
            "text": case["text"],
            "answer": case["answer"],
            "prompt_ids": prompt,
            "answer_ids": answer,
            "prompt_string": self.prompt(case),
            "sft_loss_base": -float(out["base.answer_logprobs"].mean()),
            "sft_loss_lora": -float(out["lora.answer_logprobs"].mean()),
            "seg_positions": self.seg_positions(prompt, answer),
            "vp_overall_mask": [0] * (len(self.tiles) - 1) + [1] if case["marks"] else None,
        }
        self.arrays["golden_llm_" + case["name"]] = out
        return entry

    @torch.no_grad()
    def greedy(self, case):
        """Most likely tokens until the end id, a stop word at the end of the text, or the limit."""
        prompt, _ = self.ids(case)
        ids, steps, words = [], [], preprocess.STOP_WORDS[self.config["template"].replace("-", "_")]
        while len(ids) < self.folder.limit:
            steps.append(model.head(self.w, self.config, self.hidden(case, prompt + ids, start=len(prompt))[-1]))
            ids.append(int(steps[-1].argmax()))
            text = self.folder.decode(ids).replace("\r", "").replace("\n", "")
            if ids[-1] == self.folder.eos or any(text.endswith(word) for word in words):
                break
        logits = torch.stack(steps)
        top = logits.topk(2, 1).values
        seg = self.folder.ids["[SEG]"]
        entry = {
            "ids": ids,
            "prediction": self.folder.decode(ids).strip(),
            "n_masks": sum(1 for t in ids[:-1] if t == seg),
            "min_top1_margin": float((top[:, 0] - top[:, 1]).min()),
            "logprobs": logits.log_softmax(-1)[torch.arange(len(ids)), ids].tolist(),
        }
        return entry, logits

    @torch.no_grad()
    def segmentation(self, greedy, step_logits):
        """The SAM2 arrays: teacher-forced with every intermediate, and of the greedy answer."""
        case, c, kept = self.segmenting(), self.config["sam2_config"], self.arrays["golden_sam2"]
        prompt, answer = self.ids(case)
        hidden = self.hidden(case, prompt + answer)[self.seg_positions(prompt, answer)]
        kept["seg_hidden"] = hidden
        kept["lang_embed"] = model.seg_prompt(self.w, hidden)
        masks, iou, tokens, score = sam2.decode(self.w, c, self.levels, kept["lang_embed"], kept.__setitem__)
        low, best = sam2.choose(masks, iou)
        width, height = self.folder.image.size
        large, final = sam2.enlarge(low, c["image_size"], height, width)
        kept |= {
            "low_res_multimasks": masks[:, 1:],
            "ious": iou[:, 1:],
            "best_idx": best.int(),
            "low_res_mask": low,
            "obj_ptr": sam2.object_pointer(self.w, tokens, best, score),
            "mask_logits_sam_res": large[:1],
            "final_logits": final[:, 0],
            "final_mask": (final[:, 0] > 0).to(torch.uint8),
            "generated.step_logits": step_logits,
        }
        ids = greedy["ids"]
        places = self.seg_positions(prompt, ids[:-1])
        if places:
            lang = model.seg_prompt(self.w, self.hidden(case, prompt + ids)[places])
            low, _ = sam2.choose(*sam2.decode(self.w, c, self.levels, lang)[:2])
            for i, one in enumerate(sam2.enlarge(low, c["image_size"], height, width)[1]):
                kept[f"generated.final_logits.{i}"] = one
                kept[f"generated.mask.{i}"] = (one > 0).to(torch.uint8)
        return iou
