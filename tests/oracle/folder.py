"""Reading a checkpoint folder in the HuggingFace Sa2VA layout."""

import json
from pathlib import Path

from PIL import Image
from safetensors.torch import load_file
from tokenizers import Tokenizer

from model import Adapter

NAMED = (
    "<|endoftext|> <|im_start|> <|im_end|> <img> </img> <IMG_CONTEXT> <quad> </quad> <ref> </ref> <box> </box> "
    "[SEG] <p> </p> <vp> </vp>"
).split()


class Folder:
    """Weights in float32 whatever they are stored in, configuration, tokenizer, adapter and picture of one folder."""

    def __init__(self, path):
        self.path = Path(path)
        self.config = self.json("config.json")
        index = self.path / "model.safetensors.index.json"
        files = sorted(set(self.json(index.name)["weight_map"].values())) if index.exists() else ["model.safetensors"]
        self.weights = {k: v.float() for f in files for k, v in load_file(self.path / f).items()}
        self.tokenizer = Tokenizer.from_file(str(self.path / "tokenizer.json"))
        self.ids = {name: self.tokenizer.token_to_id(name) for name in NAMED}
        self.image = Image.open(self.path / "image.png").convert("RGB")
        settings = self.json("adapter_config.json")
        prefix, suffix = "base_model.model.", ".weight"
        stored = load_file(self.path / "adapter_model.safetensors")
        factors = {k.removeprefix(prefix).removesuffix(suffix): v.float() for k, v in stored.items()}
        self.adapter = Adapter(factors, settings["lora_alpha"] / settings["r"])

    def json(self, name):
        return json.loads((self.path / name).read_text())

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids):
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    @property
    def limit(self):
        return self.json("generation_config.json")["max_new_tokens"]
