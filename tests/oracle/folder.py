"""Reading a checkpoint folder in the HuggingFace Sa2VA layout."""

import json
from pathlib import Path

from PIL import Image
from safetensors.torch import load_file

import tokens
from model import Adapter

class Checkpoint:
    """Weights in float32, whatever their stored type, configuration and tokenizer of one folder."""

    def __init__(self, path):
        self.path = Path(path)
        self.config = self.json("config.json")
        index = self.path / "model.safetensors.index.json"
        files = sorted(set(self.json(index.name)["weight_map"].values())) if index.exists() else ["model.safetensors"]
        self.weights = {k: v.float() for f in files for k, v in load_file(self.path / f).items()}
        settings = self.json("tokenizer_config.json")
        self.tokenizer = tokens.open_tokenizer(self.path, settings)
        found = {name: self.tokenizer.id(name) for name in tokens.NAMED}
        self.ids = {name: i for name, i in found.items() if i is not None}
        self.eos = self.tokenizer.id(settings["eos_token"])
        self.pad = self.tokenizer.id(settings["pad_token"])
        self.begin = [self.tokenizer.id(settings["bos_token"])] if settings.get("add_bos_token") else []

    def json(self, name):
        return json.loads((self.path / name).read_text())

    def encode(self, text):
        return self.tokenizer.encode(text)

    def prompt_ids(self, text):
        """A whole sequence, with the token that begins every text of this tokenizer, if any."""
        return self.begin + self.encode(text)

    def decode(self, ids, special=True):
        return self.tokenizer.decode(ids, special)


class Folder(Checkpoint):
    """A golden folder: a checkpoint with an adapter, a picture and a limit of new tokens."""

    def __init__(self, path):
        super().__init__(path)
        self.image = Image.open(self.path / "image.png").convert("RGB")
        settings = self.json("adapter_config.json")
        prefix, suffix = "base_model.model.", ".weight"
        stored = load_file(self.path / "adapter_model.safetensors")
        factors = {k.removeprefix(prefix).removesuffix(suffix): v.float() for k, v in stored.items()}
        self.adapter = Adapter(factors, settings["lora_alpha"] / settings["r"])

    @property
    def limit(self):
        return self.json("generation_config.json")["max_new_tokens"]
