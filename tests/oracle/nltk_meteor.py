"""METEOR, stems and synonym sets by NLTK itself, over a WordNet 3.0 database.

    python nltk_meteor.py ask --wordnet DIR         answers {"pairs", "words"} of standard input on standard output
    python nltk_meteor.py golden --wordnet DIR --folder DIR   computes a golden folder's numbers anew, in place

DIR holds the database files of Debian's wordnet-base and, for NLTK, index.sense of wordnet-sense-index. NLTK also wants a
file of lexicographer names, which no package holds; METEOR does not look at them.
"""
import argparse
import atexit
import json
import os
import re
import shutil
import sys
import tempfile

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.translate import meteor_score as meteor

LEXICOGRAPHER_FILES = 45


def open_wordnet(directory):
    # NLTK reads only below its own folders of data, and follows no link out of them.
    root = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, root)
    nltk.data.path.insert(0, root)
    shutil.copytree(directory, os.path.join(root, "corpora", "wordnet"))
    place = os.path.join(root, "corpora", "wordnet")
    names = os.path.join(place, "lexnames")
    if not os.path.exists(names):
        with open(names, "w") as file:
            file.writelines(f"{at:02}\tfile.{at}\t1\n" for at in range(LEXICOGRAPHER_FILES))
    return WordNetCorpusReader(nltk.data.FileSystemPathPointer(place), None)


def tokens(text):
    return text.strip().lower().split()


def synonyms(wordnet, word):
    """Names that METEOR compares: the one-word names in all synsets of the word."""
    return sorted({lemma.name() for synset in wordnet.synsets(word) for lemma in synset.lemmas() if "_" not in lemma.name()})


def score(wordnet, references, hypothesis, **parameters):
    return meteor.meteor_score([tokens(text) for text in references], tokens(hypothesis), wordnet=wordnet, **parameters)


def ask(wordnet):
    given = json.load(sys.stdin)
    stem = nltk.PorterStemmer().stem
    answer = {
        "version": nltk.__version__,
        "scores": [score(wordnet, [reference], hypothesis) for reference, hypothesis in given["pairs"]],
        "stems": [stem(word) for word in given["words"]],
        "names": [synonyms(wordnet, word) for word in given["words"]],
    }
    print(json.dumps(answer))


def pair(wordnet, case):
    """The numbers of one pair, computed by NLTK's own steps."""
    hypothesis, reference = tokens(case["hypothesis"]), tokens(case["reference"])
    left, right = list(enumerate(hypothesis)), list(enumerate(reference))
    exact, left, right = meteor._match_enums(left, right)
    stemmed, left, right = meteor._enum_stem_match(left, right)
    alike, left, right = meteor._enum_wordnetsyn_match(left, right, wordnet=wordnet)
    alignment = sorted(exact + stemmed + alike)
    found = len(alignment)
    precision = found / len(hypothesis) if hypothesis else 0.0
    recall = found / len(reference) if reference else 0.0
    weight = 0.9 * precision + (1 - 0.9) * recall
    return case | {
        "exact": len(exact), "stem": len(stemmed), "synonym": len(alike), "matches": found,
        "chunks": meteor._count_chunks(alignment) if found else 0,
        "alignment": [list(match) for match in alignment],
        "precision": precision, "recall": recall, "fmean": precision * recall / weight if found else 0.0,
        "score": score(wordnet, [case["reference"]], case["hypothesis"]),
    }


def golden(wordnet, folder):
    def rewrite(name, change):
        path = os.path.join(folder, name)
        with open(path) as file:
            value = json.load(file)
        change(value)
        value["nltk"] = nltk.__version__
        value["description"] = re.sub(r"NLTK [\d.]+\d", f"NLTK {nltk.__version__}", value["description"])
        with open(path, "w") as file:
            json.dump(value, file, indent=0 if name in ("stems.json", "synonyms.json") else 1, ensure_ascii=False)

    def pairs(value):
        value["cases"] = [pair(wordnet, case) for case in value["cases"]]

    def variants(value):
        for case in value["multi"]:
            case["score"] = score(wordnet, case["references"], case["hypothesis"])
            case["each"] = [score(wordnet, [text], case["hypothesis"]) for text in case["references"]]
        for case in value["parameters"]:
            own = {key: case[key] for key in ("alpha", "beta", "gamma") if key in case}
            case["score"] = score(wordnet, [case["reference"]], case["hypothesis"], **own)

    def stems(value):
        stem = nltk.PorterStemmer().stem
        value["stems"] = {word: stem(word) for word in value["stems"]}

    def names(value):
        words = [*value["lemmas"], *value["none"]]
        found = {word: synonyms(wordnet, word) for word in words}
        value["lemmas"] = {word: names for word, names in found.items() if names}
        value["none"] = [word for word, names in found.items() if not names]

    for name, change in {"pairs": pairs, "variants": variants, "stems": stems, "synonyms": names}.items():
        rewrite(f"{name}.json", change)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=["ask", "golden"])
    parser.add_argument("--wordnet", default="/usr/share/wordnet")
    parser.add_argument("--folder")
    options = parser.parse_args()
    database = open_wordnet(options.wordnet)
    if options.task == "ask":
        ask(database)
    else:
        golden(database, options.folder)
