"""python make_pieces.py --seed S --out DIR: SentencePiece models of several kinds, with the library's ids and texts."""

import argparse
import io
import json
import random
from pathlib import Path

import sentencepiece
import tokens

PLAIN = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
KINDS = {
    "bpe": {"model_type": "bpe", "byte_fallback": True, **PLAIN},
    "bpe-no-prefix": {"model_type": "bpe", "byte_fallback": True, "add_dummy_prefix": False, **PLAIN},
    "bpe-unknown": {"model_type": "bpe", "character_coverage": 0.98, "split_digits": True},
    "bpe-own": {"model_type": "bpe", "byte_fallback": True, "user_defined_symbols": ["region1", "the", " of "]},
    "bpe-suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "unigram": {"model_type": "unigram", "byte_fallback": True, **PLAIN},
    "unigram-rules": {"model_type": "unigram", "normalization_rule_name": "nmt_nfkc_cf"},
    "unigram-own": {"model_type": "unigram", "user_defined_symbols": ["region1", "the"], "character_coverage": 0.98},
}
ODD = [
    "", " ", "  a  b ", "\n\n", "\t", "▁", "▁▁x", "e\u0301", "ﬁne ½ Ⅳ", "　全角 ｶﾅ", "\u00a0", "\u200b", "\ufeffbom", "🙂👨‍👩‍👧",
    "東京タワー", "Привет", "مرحبا", "a\r\nb", "x" * 60, "0123456789", "<s>", "<unk>", "<0x41>", "the region1 of the", "\x01\x02",
]  # fmt: skip


def main(seed, out):
    draw = random.Random(seed)
    letters = [*tokens.TEXT, *"éüßñ東京日本語🙂🚀\n\t  \u00a0\u3000àﬀ①"]
    words = tokens.TEXT.split()
    texts = ODD + ["".join(draw.choices(letters, k=draw.randint(1, 40))) for _ in range(60)]
    texts += [" ".join(draw.choices(words, k=draw.randint(1, 12))) for _ in range(60)]
    for name, settings in KINDS.items():
        folder, model = out / name, io.BytesIO()
        folder.mkdir(parents=True, exist_ok=True)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(tokens.TEXT.splitlines()), model_writer=model, vocab_size=380,
            hard_vocab_limit=False, minloglevel=2, **settings,
        )  # fmt: skip
        (folder / "tokenizer.model").write_bytes(model.getvalue())
        made = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        rows = [{"text": t, "pieces": made.encode(t), "piecesText": made.decode(made.encode(t))} for t in texts]
        for _ in range(60):
            ids = [draw.randrange(made.vocab_size()) for _ in range(draw.randint(1, 14))]
            rows.append({"ids": ids, "piecesText": made.decode(ids)})
        (folder / "rows.json").write_text(json.dumps(rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    main(given.seed, given.out)
