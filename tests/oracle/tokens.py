"""Tokenizers of the generated folders: their files, and reading them back with the libraries they belong to."""

import io
import json
import re
import shutil
from pathlib import Path

from tokenizers import Tokenizer

QWEN = Path(__file__).resolve().parent.parent / "golden" / "sa2va-tiny-qwen2"
COPIED = (
    "tokenizer.json vocab.json merges.txt added_tokens.json tokenizer_config.json special_tokens_map.json".split()
)
PICTURE = "<img> </img> <IMG_CONTEXT> <quad> </quad> <ref> </ref> <box> </box> [SEG] <p> </p> <vp> </vp>".split()
NAMED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<|user|>", "<|assistant|>", "<|end|>", *PICTURE]
TEXT = """a round red disc on a green and blue background
Please give me a short description of the region in the picture marked by region1 and region2.
There are 3 part regions in the picture: region1, region2, region3. Please segment the red circle in this image.
user assistant Sure, the segmentation result is It is It's the large brown dog's left ear, isn't it? 12 34 567
Größe: 3 cups, l'été café naïve 東京 タワー Привет мир! The cat (a black one) sits -- quietly -- by the window; who knows why?
"""


def added(content, special=True):
    return {
        "content": content,
        "lstrip": False,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
        "special": special,
    }


def write_config(out, first, names, **fields):
    """added_tokens.json and tokenizer_config.json for tokens whose ids go up from `first`."""
    ids = {name: first + i for i, name in enumerate(names)}
    (out / "added_tokens.json").write_text(json.dumps(ids))
    decoder = {str(i): added(name) for name, i in ids.items()}
    (out / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder} | fields, indent=1))
    return ids


def qwen(out):
    """The stored byte-level tokenizer as it is."""
    for file in (f for f in COPIED if (QWEN / f).exists()):
        shutil.copyfile(QWEN / file, out / file)


def qwen_files(out):
    """The same as vocab.json and merges.txt, the files of a slow tokenizer."""
    qwen(out)
    model = json.loads((out / "tokenizer.json").read_text())["model"]
    (out / "tokenizer.json").unlink()
    (out / "vocab.json").write_text(json.dumps(model["vocab"]))
    lines = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    (out / "merges.txt").write_text("\n".join(["#version: 0.2", *lines, ""]))


def bytes_bos(out):
    """Byte-level with InternLM2's beginning and end tokens: every text begins with <s>."""
    qwen(out)
    for file in ("added_tokens.json", "special_tokens_map.json", "vocab.json", "merges.txt"):
        (out / file).unlink(missing_ok=True)
    definition = json.loads((out / "tokenizer.json").read_text())
    names = ["<s>", "</s>", "<|im_start|>", "<|im_end|>", *PICTURE]
    definition["added_tokens"] = [added(name) | {"id": 320 + i} for i, name in enumerate(names)]
    (out / "tokenizer.json").write_text(json.dumps(definition))
    write_config(
        out, 320, names, tokenizer_class="InternLM2Tokenizer", add_bos_token=True, add_eos_token=False,
        bos_token="<s>", eos_token="</s>", pad_token="</s>", clean_up_tokenization_spaces=False,
    )  # fmt: skip
    (out / "added_tokens.json").unlink()


def pieces(out, kind, size, names, **fields):
    """tokenizer.model by SentencePiece's own trainer, with further tokens after its pieces."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.splitlines()), model_writer=model, model_type=kind, vocab_size=size,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        split_digits=True, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    (out / "tokenizer.model").write_bytes(model.getvalue())
    count = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).vocab_size()
    write_config(out, count, names, bos_token="<s>", unk_token="<unk>", clean_up_tokenization_spaces=False, **fields)


def pieces_internlm(out):
    names = ["<|im_end|>", "<|im_start|>", *PICTURE]
    pieces(
        out, "bpe", 420, names, tokenizer_class="InternLM2Tokenizer", add_bos_token=True, eos_token="</s>",
        pad_token="</s>",
    )  # fmt: skip


def pieces_phi(out):
    names = ["<|endoftext|>", "<|assistant|>", "<|end|>", "<|user|>", *PICTURE]
    pieces(
        out, "bpe", 400, names, tokenizer_class="LlamaTokenizer", add_bos_token=False, eos_token="<|end|>",
        pad_token="<|endoftext|>", legacy=True,
    )  # fmt: skip


def pieces_unigram(out):
    names = ["<|im_end|>", "<|im_start|>", *PICTURE]
    pieces(
        out, "unigram", 400, names, tokenizer_class="InternLM2Tokenizer", add_bos_token=True, eos_token="</s>",
        pad_token="</s>",
    )  # fmt: skip


MAKERS = {
    "qwen": qwen,
    "qwen-files": qwen_files,
    "bytes-bos": bytes_bos,
    "pieces-internlm": pieces_internlm,
    "pieces-phi": pieces_phi,
    "pieces-unigram": pieces_unigram,
}


class Library:
    """tokenizer.json through its own library."""

    def __init__(self, folder, config):
        path = folder / "tokenizer.json"
        self.inner = Tokenizer.from_file(str(path if path.exists() else QWEN / "tokenizer.json"))
        self.size = self.inner.get_vocab_size()

    def id(self, name):
        return self.inner.token_to_id(name)

    def encode(self, text):
        return self.inner.encode(text, add_special_tokens=False).ids

    def decode(self, ids, special=True):
        return self.inner.decode(ids, skip_special_tokens=not special)


class Pieces:
    """
    tokenizer.model through sentencepiece, the way the slow tokenizers of Hugging Face use it: added tokens are cut out
    first, what lies between is encoded on its own; on the way back added tokens stand between blanks.
    """

    def __init__(self, folder, config):
        import sentencepiece

        self.inner = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        self.added = {entry["content"]: int(i) for i, entry in config["added_tokens_decoder"].items()}
        self.cut = re.compile("(" + "|".join(sorted(map(re.escape, self.added), key=len, reverse=True)) + ")")
        self.names = {i: name for name, i in self.added.items()}
        self.size = max(self.inner.vocab_size(), *(i + 1 for i in self.names))
        self.internlm = config["tokenizer_class"].startswith("InternLM2")
        self.special = {config[k] for k in ("bos_token", "eos_token", "pad_token", "unk_token")}

    def id(self, name):
        if name in self.added:
            return self.added[name]
        found = self.inner.piece_to_id(name)
        return None if found == self.inner.unk_id() else found

    def encode(self, text):
        # The beginning and end tokens are known words too, although they are pieces.
        return [
            i
            for part in self.cut.split(text)
            for i in ([self.added[part]] if part in self.added else self.inner.encode(part) if part else [])
        ]

    def name(self, i):
        return self.names.get(i) or self.inner.id_to_piece(i)

    def words(self, run):
        """Text of adjacent ids: pieces, and special tokens that are pieces or have a role, as they are."""
        text, waiting, after_special = "", [], False
        for at, i in enumerate(run):
            if self.name(i) in self.special:
                if not after_special and (self.internlm or at > 0):
                    text += " "
                text += self.inner.decode(waiting) + self.name(i)
                waiting, after_special = [], True
            else:
                waiting.append(i)
                after_special = False
        text += self.inner.decode(waiting)
        if self.internlm:
            for mark in (".", "?", "!", ",", "'", "n't", "'m", "'s", "'ve", "'re"):
                text = text.replace(f" {mark} " if mark == "'" else f" {mark}", mark)
        return text

    def decode(self, ids, special=True):
        if not special:
            ids = [i for i in ids if self.name(i) not in self.special and i not in self.names]
        parts, run = [], []
        for i in ids:
            if i in self.names and self.names[i] not in self.special:
                parts += [self.words(run)] if run else []
                parts.append(self.names[i])
                run = []
            else:
                run.append(i)
        return " ".join(part for part in parts + ([self.words(run)] if run else []) if part)


def open_tokenizer(folder, config):
    pieces_only = (folder / "tokenizer.model").exists() and not (folder / "tokenizer.json").exists()
    return (Pieces if pieces_only else Library)(folder, config)
