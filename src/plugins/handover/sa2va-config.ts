/**
 * A complete configuration of supervised fine-tuning for Sa2VA's own code (MMEngine, xtuner 0.1.23), with the run's
 * values. Classes and fields are those of its trainer and data set (docs/spec/formats.md#10-handing-a-run-over-to-a-larger-engine).
 */
import { windowsPerStep } from "../../engine/config/derived.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import type { LoraFields } from "../../engine/formats/peft-names.ts";

interface Sa2vaSettings {
  readonly runId: string;
  /** Checkpoint that the run trained. */
  readonly model: string;
  /** Chat template in the checkpoint's config.json. */
  readonly template: string;
  /** InternVL checkpoint that the model is based on; null when unknown. */
  readonly base: string | null;
  readonly trainRows: number;
  readonly config: LabConfig;
  readonly lora: LoraFields;
}

/** File that `tools/convert_to_pth.py` must write next to the configuration. */
export const MERGED_PTH = "merged.pth";

export function sa2vaConfigText(settings: Sa2vaSettings): string {
  return [head(settings), values(settings), MODEL, DATA, OPTIMISER, schedule(settings.config), RUNTIME].join("\n");
}

const text = (value: string): string => JSON.stringify(value);

/** A number in a form that Python reads as a float, even if JSON would write an integer. */
const real = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value));

const head = ({
  runId,
  model,
}: Sa2vaSettings): string => `# Supervised fine-tuning of ${text(model)} after run ${runId}.
# Start it from the root of Sa2VA's repository, with this file's path in place of CONFIG:
#   bash tools/dist.sh train CONFIG 8
from mmengine.hooks import (CheckpointHook, DistSamplerSeedHook, IterTimerHook,
                            LoggerHook, ParamSchedulerHook)
from mmengine.optim import AmpOptimWrapper, CosineAnnealingLR, LinearLR
from peft import LoraConfig
from torch.optim import AdamW
from transformers import AutoTokenizer
from xtuner.dataset.samplers import LengthGroupedSampler
from xtuner.engine.runner import TrainLoop
from xtuner.utils import PROMPT_TEMPLATE

from projects.sa2va.datasets import Sa2VAFinetuneDataset, sa2va_collect_fn
from projects.sa2va.datasets.data_utils import ConcatDatasetSa2VA
from projects.sa2va.models import (DirectResize, InternVLMLLM, SAM2TrainRunner,
                                   Sa2VAModel)
from third_parts.mmdet.models.losses import CrossEntropyLoss, DiceLoss
`;

function values({ template, base, trainRows, config, lora }: Sa2vaSettings): string {
  // MMEngine counts micro-batches; a supervised step is one window of them.
  const iterations = config.accumulation * (config.mode !== "rl" ? 1 : windowsPerStep(config));
  const rows = config.steps * iterations * config.promptsPerStep;
  const epochs = Math.max(1, Math.ceil(rows / Math.max(1, trainRows)));
  const guess =
    base === null
      ? "# The InternVL checkpoint that the model is based on. No published checkpoint has its sizes: set this path."
      : "# The InternVL checkpoint that the model is based on.";
  return `# ---- values ----
# The folder of this file, which holds annotations.json and images/ too. MMEngine resolves modules such as os only later.
data_root = ('./' + __file__ if '/' not in __file__ else __file__).rpartition('/')[0] + '/'
${guess}
path = ${text(`./pretrained/${base ?? "InternVL"}`)}
# What tools/convert_to_pth.py makes of the merged export.
pretrained_pth = data_root + ${text(MERGED_PTH)}

template = ${text(template)}
prompt_template = PROMPT_TEMPLATE.${template}
special_tokens = ['[SEG]', '<p>', '</p>', '<vp>', '</vp>']
max_length = 8192

batch_size = ${config.promptsPerStep}
accumulative_counts = ${config.accumulation}
dataloader_num_workers = 4
max_epochs = ${epochs}
lr = ${real(config.learningRate)}
betas = (${real(config.adamBeta1)}, ${real(config.adamBeta2)})
eps = ${real(config.adamEpsilon)}
weight_decay = ${real(config.weightDecay)}
max_norm = ${config.maxGradNorm === 0 ? "None" : real(config.maxGradNorm)}
warmup_iters = ${config.warmupSteps * config.accumulation}
save_steps = ${config.saveSteps > 0 ? config.saveSteps * iterations : 500}
save_total_limit = ${config.saveTotalLimit}

lora_r = ${lora.r}
lora_alpha = ${lora.alpha}
lora_dropout = ${real(lora.dropout ?? 0)}
lora_targets = [${[...new Set(lora.targets)].sort().map(text).join(", ")}]
seed = ${config.seed}
`;
}

const MODEL = `# ---- model ----
tokenizer = dict(
    type=AutoTokenizer.from_pretrained,
    pretrained_model_name_or_path=path,
    trust_remote_code=True,
    padding_side='right')

model = dict(
    type=Sa2VAModel,
    training_bs=batch_size,
    special_tokens=special_tokens,
    pretrained_pth=pretrained_pth,
    loss_sample_points=True,
    frozen_sam2_decoder=False,
    arch_type='intern_vl',
    template=template,
    tokenizer=tokenizer,
    mllm=dict(
        type=InternVLMLLM,
        model_path=path,
        freeze_llm=True,
        freeze_visual_encoder=True,
        llm_lora=dict(
            type=LoraConfig,
            r=lora_r,
            lora_alpha=lora_alpha,
            lora_dropout=lora_dropout,
            target_modules=lora_targets,
            bias='none',
            task_type='CAUSAL_LM')),
    grounding_encoder=dict(type=SAM2TrainRunner),
    loss_mask=dict(
        type=CrossEntropyLoss,
        use_sigmoid=True,
        reduction='mean',
        loss_weight=2.0),
    loss_dice=dict(
        type=DiceLoss,
        use_sigmoid=True,
        activate=True,
        reduction='mean',
        naive_dice=True,
        eps=1.0,
        loss_weight=0.5))
`;

const DATA = `# ---- data: the run's training rows ----
train_dataset = dict(
    type=ConcatDatasetSa2VA,
    datasets=[
        dict(
            type=Sa2VAFinetuneDataset,
            name='run',
            data_root=data_root,
            data_prefix=dict(img_path='images/'),
            ann_file='annotations.json',
            arch_type='intern_vl',
            # Its length is read from the list that serialising empties.
            serialize_data=False,
            repeats=1,
            tokenizer=tokenizer,
            special_tokens=special_tokens,
            extra_image_processor=dict(type=DirectResize, target_length=1024),
            prompt_template=prompt_template,
            max_length=max_length)
    ])

train_dataloader = dict(
    batch_size=batch_size,
    num_workers=dataloader_num_workers,
    dataset=train_dataset,
    sampler=dict(
        type=LengthGroupedSampler,
        length_property='modality_length',
        per_device_batch_size=batch_size * accumulative_counts),
    collate_fn=dict(type=sa2va_collect_fn))
`;

const OPTIMISER = `# ---- optimiser ----
optim_wrapper = dict(
    type=AmpOptimWrapper,
    optimizer=dict(
        type=AdamW, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay),
    clip_grad=None if max_norm is None else dict(
        max_norm=max_norm, error_if_nonfinite=False),
    accumulative_counts=accumulative_counts,
    loss_scale='dynamic',
    dtype='bfloat16')
train_cfg = dict(type=TrainLoop, max_epochs=max_epochs)
`;

/**
 * Warm-up counts iterations and may overlap the decay, which counts epochs because the number of iterations depends on
 * the GPUs.
 */
function schedule({ lrSchedulerType, warmupSteps }: LabConfig): string {
  const warmUp = `    dict(
        type=LinearLR,
        start_factor=1e-5,
        by_epoch=False,
        begin=0,
        end=warmup_iters),
`;
  const decay = `    dict(
        type=CosineAnnealingLR,
        eta_min=0.0,
        by_epoch=True,
        begin=0,
        end=max_epochs,
        convert_to_iter_based=True),
`;
  return `param_scheduler = [\n${warmupSteps > 0 ? warmUp : ""}${lrSchedulerType === "constant" ? "" : decay}]\n`;
}

const RUNTIME = `# ---- runtime ----
custom_hooks = []
default_hooks = dict(
    timer=dict(type=IterTimerHook),
    logger=dict(type=LoggerHook, log_metric_by_epoch=False, interval=10),
    param_scheduler=dict(type=ParamSchedulerHook),
    checkpoint=dict(
        type=CheckpointHook,
        save_optimizer=False,
        by_epoch=False,
        interval=save_steps,
        max_keep_ckpts=save_total_limit),
    sampler_seed=dict(type=DistSamplerSeedHook))
env_cfg = dict(
    cudnn_benchmark=False,
    mp_cfg=dict(mp_start_method='fork', opencv_num_threads=0),
    dist_cfg=dict(backend='nccl'))
visualizer = None
log_level = 'INFO'
load_from = None
resume = False
randomness = dict(seed=seed, deterministic=False)
log_processor = dict(by_epoch=False)
`;
