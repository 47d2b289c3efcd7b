"""A run's export for TRL, read by TRL itself.

  read_trl.py EXPORT CHECKPOINT [YAML…]

Parses trl_grpo.yaml and every further YAML with TRL's own parser, constructs a GRPOTrainer from each on CHECKPOINT's
language model, reads the completions with `datasets`, and encodes their prompts with CHECKPOINT's tokenizer. Prints one
JSON object.
"""
import json
import os
import sys
import tempfile

sys.modules["torchvision"] = None

from datasets import Dataset, load_dataset
from transformers import PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer, ModelConfig, ScriptArguments, TrlParser, get_peft_config

import peft_logits


def construct(yaml, checkpoint, tokenizer):
    """The GRPOConfig, ModelConfig and trainer on the checkpoint's language model that TRL makes of a configuration."""
    parser = TrlParser((ScriptArguments, GRPOConfig, ModelConfig))
    with tempfile.TemporaryDirectory() as out:
        # The user supplies the data set, and without a GPU the configuration must say so.
        words = ["--config", yaml, "--dataset_name", "none", "--output_dir", out, "--report_to", "none", "--use_cpu", "true"]
        _, config, model_config = parser.parse_args_and_config(words)
        model, _ = peft_logits.language_model(checkpoint)
        rows = Dataset.from_dict({"prompt": ["a red square"] * 64})
        trainer = GRPOTrainer(
            model=model,
            args=config,
            reward_funcs=[lambda completions, **_: [0.0] * len(completions)],
            train_dataset=rows,
            eval_dataset=rows,
            processing_class=tokenizer,
            peft_config=get_peft_config(model_config),
        )
    return config, model_config, trainer


def main():
    export, checkpoint, *more = sys.argv[1:]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=os.path.join(checkpoint, "tokenizer.json"), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    config, model_config, trainer = construct(os.path.join(export, "trl_grpo.yaml"), checkpoint, tokenizer)
    adapters = sum(1 for name, value in trainer.model.named_parameters() if value.requires_grad and ".lora_A." in name)
    failed = {}
    for yaml in more:
        try:
            construct(yaml, checkpoint, tokenizer)
        except Exception as error:
            failed[yaml] = f"{type(error).__name__}: {error}"
    rows = load_dataset(export, split="train", cache_dir=os.path.join(export, "cache"))
    encoded = [tokenizer(row["prompt"], add_special_tokens=False)["input_ids"] for row in rows]
    print(json.dumps({
        "config": {name: value for name, value in vars(config).items() if isinstance(value, (int, float, str, type(None)))},
        "targets": model_config.lora_target_modules,
        "adapters": adapters,
        "failed": failed,
        "columns": rows.column_names,
        "encoded": encoded,
        "decoded": [tokenizer.decode(row["completion_ids"]) for row in rows],
    }, default=str))


main()
