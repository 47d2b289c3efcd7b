"""METEOR as NLTK computes it, over the lab's WordNet table, with the alignment that the lab's screens show."""

from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import _count_chunks, _enum_stem_match, _enum_wordnetsyn_match, _match_enums

from .errors import FORM, reading

_PARTS = ("n", "v", "a", "r")


class Wordnet:
    """The lab's WordNet table (public/wordnet) with the interface that NLTK uses."""

    def __init__(self, path: Path) -> None:
        """Raises LabError for another file."""
        self._synsets: dict[str, dict[str, list[str]]] = {}
        self._exceptions: dict[str, dict[str, list[str]]] = {}
        with reading(path, *FORM):
            self._read(iter(path.read_text(encoding="ascii").split("\n")))

    def _read(self, lines: Iterator[str]) -> None:
        if next(lines) != "sa2va-lab wordnet table 1":
            raise ValueError("it is not the lab's table; export the run again")
        next(lines)
        for part in _PARTS:
            self._synsets[part] = index = dict[str, list[str]]()
            for line in [next(lines) for _ in range(int(next(lines).split(" ")[2]))]:
                for form in dict.fromkeys(line.lower().split(" ")):
                    index.setdefault(form, []).append(line)
        for part in _PARTS:
            rows = [next(lines).split(" ") for _ in range(int(next(lines).split(" ")[2]))]
            self._exceptions[part] = {row[0]: row[1:] for row in rows}

    def lines(self, word: str) -> list[str]:
        """Lemmas of all synsets of a word, one line per synset."""
        found: list[str] = []
        for part in _PARTS:
            listed = self._exceptions[part].get(word)
            rules = WordNetCorpusReader.MORPHOLOGICAL_SUBSTITUTIONS[part]
            ruled = [word[: len(word) - len(end)] + new for end, new in rules if word.endswith(end)]
            for form in dict.fromkeys([word, *(ruled if listed is None else listed)]):
                found += self._synsets[part].get(form, [])
        return found

    def synsets(self, word: str) -> list[Any]:
        """Synsets of a word in any case."""
        return [_synset(line) for line in self.lines(word.lower())]


def _synset(line: str) -> Any:
    lemmas = [SimpleNamespace(name=partial(str, name)) for name in line.split(" ")]
    return SimpleNamespace(lemmas=lambda: lemmas)


def tokens(text: str) -> list[str]:
    """Lower-cased words at white space."""
    return text.lower().split()


class Meteor:
    """Caches stems and synonyms of words."""

    def __init__(self, wordnet: Wordnet) -> None:
        """Use one instance for a whole run."""
        stemmer = SimpleNamespace(stem=lru_cache(20_000)(PorterStemmer().stem))
        known = SimpleNamespace(synsets=lru_cache(20_000)(wordnet.synsets))
        self._stages = {"exact": _match_enums, "stem": partial(_enum_stem_match, stemmer=stemmer),
                        "synonym": partial(_enum_wordnetsyn_match, wordnet=known)}  # fmt: skip

    def score(self, reference: str, hypothesis: str) -> dict[str, Any]:
        """
        Score of two captions with alpha 0.9, beta 3 and gamma 0.5, and its parts.

        `matches` are hypothesis index, reference index and stage; each stage matches the words that the previous one
        left.
        """
        left, right = tokens(hypothesis), tokens(reference)
        mine, theirs, matches = list(enumerate(left)), list(enumerate(right)), list[Any]()
        for stage, match in self._stages.items():
            pairs, mine, theirs = match(mine, theirs)
            matches += [[i, j, stage] for i, j in pairs]
        count, precision, recall, f_mean, penalty, chunks = len(matches), 0.0, 0.0, 0.0, 0.0, 0
        if count > 0:
            matches.sort()
            chunks = _count_chunks([(i, j) for i, j, _ in matches])
            precision, recall = count / len(left), count / len(right)
            f_mean = (precision * recall) / (0.9 * precision + (1 - 0.9) * recall)
            penalty = 0.5 * (chunks / count) ** 3
        return {
            "hypothesis": left, "reference": right, "matches": matches, "chunks": chunks, "precision": precision,
            "recall": recall, "fMean": f_mean, "penalty": penalty, "score": (1 - penalty) * f_mean,
        }  # fmt: skip
