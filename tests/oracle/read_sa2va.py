"""A run's export for Sa2VA's own training code, read as that code reads it.

  read_sa2va.py EXPORT

The configuration is loaded by MMEngine and started by its Runner: hooks, loop, sampler, data loader, optimiser and
schedulers are MMEngine's, the LoRA settings PEFT's. Sa2VA and xtuner are no packages that can be installed here, so their
classes are replaced by the smallest ones of the same signature; the data set below follows the form of annotations.json
(docs/spec/formats.md, "Handing a run over to a larger engine"). Mixed precision needs a GPU, so the plain optimiser
wrapper stands in for it. Prints one JSON object.
"""
import json
import os
import sys
import tempfile
import types
from importlib.machinery import ModuleSpec

sys.modules["torchvision"] = None

import mmengine
import numpy as np
import torch
from mmengine.config import Config, ConfigDict
from mmengine.dataset import BaseDataset
from mmengine.model import BaseModel
from mmengine.runner import IterBasedTrainLoop, Runner
from PIL import Image
from pycocotools import mask as coco
from torch.utils.data import ConcatDataset, Sampler

TEMPLATES = {name: {"INSTRUCTION": "{input}"} for name in ("qwen_chat", "phi3_chat", "internlm2_chat", "vicuna", "llama3_chat")}


class FinetuneDataset(BaseDataset):
    """annotations.json: a list of {image, mask: [polygons of one object], text: [phrase of one object]}."""

    def __init__(self, data_root, ann_file, data_prefix, name, arch_type, repeats, tokenizer, special_tokens,
                 extra_image_processor, prompt_template, max_length, **kwargs):
        self.name, self.repeats = name, repeats
        self.asked = dict(arch_type=arch_type, template=prompt_template, special_tokens=special_tokens, max_length=max_length,
                          target_length=extra_image_processor["target_length"])
        super().__init__(data_root=data_root, ann_file=ann_file, data_prefix=data_prefix, pipeline=None, **kwargs)

    def load_data_list(self):
        prefix = self.data_prefix["img_path"]
        join = mmengine.fileio.get_file_backend(prefix).join_path
        rows = mmengine.load(self.ann_file, file_format="json")
        return [{"img_path": join(prefix, row["image"]), "mask": row["mask"], "text": row["text"]} for row in rows]

    def __len__(self):
        return int(len(self.data_list) * self.repeats)

    @property
    def modality_length(self):
        return [100] * len(self)

    def __getitem__(self, index):
        row = self.get_data_info(index)
        width, height = Image.open(row["img_path"]).convert("RGB").size
        masks = []
        for polygons in row["mask"]:
            mask = np.zeros((height, width), np.uint8)
            for polygon in polygons:
                mask += coco.decode(coco.frPyObjects([polygon], height, width)).squeeze()
            masks.append(mask)
        phrases = [text.lower()[:-1] if text.lower()[-1] == "." else text.lower() for text in row["text"]]
        assert len(masks) == len(phrases)
        return {"image": os.path.basename(row["img_path"]), "masks": masks, "phrases": phrases}


class Concat(ConcatDataset):
    def __init__(self, datasets):
        super().__init__([made(config) for config in datasets])

    @property
    def modality_length(self):
        return [length for part in self.datasets for length in part.modality_length]


class LengthGrouped(Sampler):
    def __init__(self, dataset, per_device_batch_size, length_property, seed=None, **_):
        self.lengths = getattr(dataset, length_property)
        assert per_device_batch_size > 0

    def __iter__(self):
        return iter(range(len(self.lengths)))

    def __len__(self):
        return len(self.lengths)


class Model(BaseModel):
    """Has the arguments of Sa2VAModel; trains one number."""

    def __init__(self, mllm, tokenizer, grounding_encoder, loss_mask=None, loss_dice=None, pretrained_pth=None,
                 frozen_sam2_decoder=True, special_tokens=None, loss_sample_points=False, template=None,
                 arch_type="intern_vl", training_bs=0):
        super().__init__()
        self.lora = made(mllm["llm_lora"])
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, data, data_samples=None, mode="loss"):
        return {"loss": self.weight**2}


class Loop(IterBasedTrainLoop):
    """Counts iterations; a length in epochs becomes one in iterations when the data loader is known."""

    def __init__(self, runner, dataloader, max_epochs):
        dataloader = runner.build_dataloader(dataloader, seed=runner.seed)
        super().__init__(runner, dataloader, max_iters=max_epochs * len(dataloader))


def collate(instances):
    return {"data": instances, "data_samples": None}


def made(config):
    config = dict(config)
    return config.pop("type")(**config)


def install_stubs():
    """Modules that the configuration imports and that no index offers."""
    def module(name, **members):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
        vars(sys.modules[name]).update(members)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, sys.modules[name])

    def holder(name):
        return type(name, (), {"__init__": lambda self, **fields: vars(self).update(fields)})

    for name in ("xtuner", "xtuner.dataset", "xtuner.engine", "projects", "projects.sa2va", "third_parts", "third_parts.mmdet",
                 "third_parts.mmdet.models"):
        module(name)
    module("xtuner.dataset.samplers", LengthGroupedSampler=LengthGrouped)
    module("xtuner.engine.runner", TrainLoop=Loop)
    module("xtuner.utils", PROMPT_TEMPLATE=ConfigDict(TEMPLATES))
    module("projects.sa2va.datasets", Sa2VAFinetuneDataset=FinetuneDataset, sa2va_collect_fn=collate)
    module("projects.sa2va.datasets.data_utils", ConcatDatasetSa2VA=Concat)
    module("projects.sa2va.models", Sa2VAModel=Model, **{name: holder(name) for name in ("DirectResize", "InternVLMLLM", "SAM2TrainRunner")})
    module("third_parts.mmdet.models.losses", CrossEntropyLoss=holder("CrossEntropyLoss"), DiceLoss=holder("DiceLoss"))


def main():
    export = sys.argv[1]
    install_stubs()
    path = os.path.join(export, "sa2va_finetune.py")
    cfg = Config.fromfile(path)
    told = {key: cfg[key] for key in ("path", "pretrained_pth", "template", "special_tokens", "max_epochs", "lr", "data_root")}
    told["resolved"] = {"optimizer": cfg.optim_wrapper.optimizer.type.__name__, "wrapper": cfg.optim_wrapper.type.__name__,
                        "tokenizer": cfg.tokenizer.type.__qualname__}
    # Without a GPU: no mixed precision, no NCCL, no worker processes.
    wrapper = {key: cfg.optim_wrapper[key] for key in ("optimizer", "clip_grad", "accumulative_counts")}
    cfg.optim_wrapper = dict(type="OptimWrapper", **wrapper)
    cfg.train_dataloader.num_workers = 0
    with tempfile.TemporaryDirectory() as work:
        cfg.work_dir = work
        runner = Runner.from_cfg(cfg)
        model = runner.model
        runner.train()
        rates = runner.optim_wrapper.get_lr()["lr"]
        told["saved"] = os.path.exists(os.path.join(work, os.path.basename(path)))
        data = runner.train_dataloader.dataset
        told["iterations"] = runner.iter
    rows = [row for part in data.datasets for row in (part[at] for at in range(len(part)))]
    told["asked"] = data.datasets[0].asked
    told["lora"] = {key: getattr(model.lora, key) for key in ("r", "lora_alpha", "lora_dropout")} | {"targets": sorted(model.lora.target_modules)}
    told["lr_at_end"] = rates
    told["rows"] = [
        {"image": row["image"], "phrases": row["phrases"], "most": [int(mask.max()) for mask in row["masks"]],
         "masks": [coco.encode(np.asfortranarray(mask))["counts"].decode() for mask in row["masks"]]}
        for row in rows
    ]
    print(json.dumps(told, default=str))


main()
