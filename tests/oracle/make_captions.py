"""Texts scored by the programs of the field: make_captions.py OUT SEED.

Writes caption/cider.json, caption/ptb.json, caption/region_clean.json, gcg/parse.json and semantic/siou.json in the form of tests/golden/evaluation. Tokens
are those of Stanford's PTBTokenizer (Java), CIDEr that of pycocoevalcap; answers of grounded conversations and category names
go through the few lines of text handling that docs/spec/evaluation.md describes (2.5, 3.2).
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.tokenizer.ptbtokenizer import PUNCTUATIONS, STANFORD_CORENLP_3_4_1_JAR, PTBTokenizer

WORDS = """a the man woman dog dogs child two red blue striped shirt holding of in front behind left right side standing street
car bicycle table plate white wooden building tall small large wearing hat with and on next to near sitting grass""".split()
# As people and models write: clitics in both apostrophes, numbers, units, quotes, abbreviations, hyphens, brackets.
PIECES = """isn't don’t it's the dog's the boys' cannot gonna they'll I'm you’ve well-known left-hand t-shirt 3-4 5-year-old 1/2 3.5
1,000 12:30 2nd 1990s '90s 5'10" 6ft. 10% $3.50 £5 €10 #1 No. Dr. St. U.S. e.g. i.e. p.m. etc. Mr. Inc. (left) [right] {x} "STOP"
“open” ‘closed’ and/or w/ A/C x-ray R&B C++ H2O café naïve — – -- ... … wait...what ?! !! <p> </p> [SEG] <Prompt0> www.example.com
a_b 4x4 3D 2½ ½ O'Neil ma'am o'clock rock'n'roll 'tis y'all Ph.D. a.m. J. :) °C 20°C ™ & + = * @home -5 +3 .5 lbs., dog.The According Earlier -LRB- -RRB- -lsb- -LCB- -LRB-left-RRB- x-LRB- -RSB-, -LRB"""
PIECES = PIECES.split()


def sentence(draw, odd):
    words = [str(draw.choice(PIECES if draw.random() < odd else WORDS)) for _ in range(draw.integers(0, 14))]
    text = " ".join(words)
    return (text.capitalize() if draw.random() < 0.5 else text) + str(draw.choice(["", ".", ".", "!", ",", " ."]))


def tokenizer():
    """Tokens as the caption tools keep them. A line is put between two texts, since it cuts a final letter with a full stop."""
    kept = PTBTokenizer()
    between = [{"caption": "x"}]
    return lambda texts: [
        line for line, _ in kept.tokenize({at: [{"caption": text}, *between] for at, text in enumerate(texts)}).values()
    ]


def captions(draw, tokens):
    sets = []
    for number in range(3):
        count = [1, 12, 60][number]
        texts = [[sentence(draw, 0.15) for _ in range(draw.integers(2, 6))] for _ in range(count)]
        for item in texts:
            # Often one of the references with a word changed.
            if draw.random() < 0.6:
                item[0] = " ".join(w if draw.random() < 0.8 else str(draw.choice(WORDS)) for w in item[1].split())
        flat = iter(tokens([text for item in texts for text in item]))
        lines = [[next(flat) for _ in item] for item in texts]
        truth = {at: item[1:] for at, item in enumerate(lines)}
        corpus, scores = Cider().compute_score(truth, {at: [item[0]] for at, item in enumerate(lines)})
        items = [
            {"id": str(at), "hypothesis": item[0], "references": item[1:], "cider": float(score)}
            for at, (item, score) in enumerate(zip(texts, scores, strict=True))
        ]
        sets.append({"name": f"random {number}", "items": items, "corpus": {"cider": float(corpus)}})
    return {"sets": sets}


def parsed(text):
    line = text.replace("<s>", "").replace("\n", "").replace("  ", " ").split("ASSISTANT: ")[-1]
    caption = " ".join(re.sub("<.*?>", "", line).replace("[SEG]", "").split()).strip("'").strip()
    phrases = [phrase.strip() for phrase in re.findall(r"<p>(.*?)<\/p>", line)]
    return {"text": text, "caption": caption, "phrases": phrases, "segCount": text.count("[SEG]")}


def answers(draw):
    parts = ["<p>", "</p>", "[SEG]", "<p> ", " </p> [SEG]", " ", "  ", "\n", "\t", "\r", "\u00a0", "\u2028", "\x1c", "\x85", "\ufeff"]
    parts += ["'", "<s>", "ASSISTANT: ", "<", ">", "$&", "\\1", *WORDS[:12]]
    return {"cases": [parsed("".join(draw.choice(parts, draw.integers(0, 25)))) for _ in range(200)]}


def regions(draw):
    """The clean-up of GLaMM's region captions, which removes no <s> before it looks for the prompt."""
    cases = []
    parts = ["<s>", "ASSISTANT: ", "ASSISTANT:", "USER: ", "[SEG]", "<p>", "</p>", "<", ">", "'", " ", "  ", "\n", *WORDS[:12]]
    for _ in range(200):
        text = "".join(draw.choice(parts, draw.integers(0, 20)))
        line = text.replace("\n", "").replace("  ", " ").split("ASSISTANT: ")[-1]
        line = " ".join(re.sub("<.*?>", "", line).replace("[SEG]", "").split()).strip("'").strip()
        cases.append({"text": text, "glamm": line})
    return {"cases": cases}


def categories(draw):
    cases = []
    parts = ["red", "Dog", "dog", "hot_dog", "car:wheel", "It is:", ":", ".", ",", "</s>", " ", "  ", "_", "(hot)", "\u00a0", "\x1f", "É", "ß"]
    for _ in range(200):
        output, category = ["".join(draw.choice(parts, draw.integers(0, 8))) for _ in range(2)]
        answer = output.strip().split("</s>")[0].strip()
        answer = answer.split(":")[1] if ":" in answer else answer
        for sign in ".:,":
            answer = answer.replace(sign, " ")
        name = category.replace("_", " ").replace(":", " ")
        one, two = set(answer.lower().split()), set(name.lower().split())
        error = None if one | two else "ZeroDivisionError"
        score = len(one & two) / len(one | two) if error is None else None
        case = {"output": output, "category": category, "cleanedOutput": answer, "cleanedCategory": name}
        cases.append({**case, "semanticIoU": score, "error": error})
    return {"cases": cases}


def main(out, seed):
    draw = np.random.default_rng(seed)
    tokens = tokenizer()
    texts = [sentence(draw, 0.6) for _ in range(300)]
    ptb = [{"text": text, "tokens": line} for text, line in zip(texts, tokens(texts), strict=True)]
    files = {
        "caption/cider.json": captions(draw, tokens),
        "caption/ptb.json": {"punctuation": PUNCTUATIONS, "source": STANFORD_CORENLP_3_4_1_JAR, "cases": ptb},
        "caption/region_clean.json": regions(draw),
        "gcg/parse.json": answers(draw),
        "semantic/siou.json": categories(draw),
    }
    for name, value in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(json.dumps(value))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
