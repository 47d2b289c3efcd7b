"""METEOR as NLTK computes it, over the lab's WordNet table, with the alignment that the lab's screens show."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from nltk.stem.porter import PorterStemmer

from .errors import LabError

_PARTS = ("n", "v", "a", "r")
_RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "n": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
          ("men", "man"), ("ies", "y")),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}  # fmt: skip
Match = tuple[int, int, str]
"""Hypothesis index, reference index, stage."""


class Wordnet:
    """One-word synonyms from the table of the lab (public/wordnet)."""

    def __init__(self, path: Path) -> None:
        """Raises LabError for another file."""
        lines = iter(path.read_text(encoding="ascii").split("\n"))
        if next(lines) != "sa2va-lab wordnet table 1":
            raise LabError(f"{path} is not the lab's WordNet table; export the run again")
        next(lines)
        self._synsets: dict[str, dict[str, list[str]]] = {}
        self._exceptions: dict[str, dict[str, list[str]]] = {}
        for part in _PARTS:
            count = int(next(lines).split(" ")[2])
            index: dict[str, list[str]] = {}
            for _ in range(count):
                line = next(lines)
                for form in dict.fromkeys(line.lower().split(" ")):
                    index.setdefault(form, []).append(line)
            self._synsets[part] = index
        for part in _PARTS:
            count = int(next(lines).split(" ")[2])
            rows = [next(lines).split(" ") for _ in range(count)]
            self._exceptions[part] = {row[0]: row[1:] for row in rows}

    def lines(self, word: str) -> list[str]:
        """Lemmas of all synsets of a word, one line a synset."""
        found: list[str] = []
        for part in _PARTS:
            listed = self._exceptions[part].get(word)
            ruled = [word[: len(word) - len(end)] + new for end, new in _RULES[part] if word.endswith(end)]
            for form in dict.fromkeys([word, *(ruled if listed is None else listed)]):
                found += self._synsets[part].get(form, [])
        return found

    def synonyms(self, word: str) -> set[str]:
        """The word and the one-word lemmas of its synsets."""
        names = {name for line in self.lines(word.lower()) for name in line.split(" ") if "_" not in name}
        return names | {word}


@dataclass(frozen=True)
class Score:
    """A score with its alignment."""

    hypothesis: list[str]
    reference: list[str]
    matches: list[Match]
    chunks: int
    precision: float
    recall: float
    f_mean: float
    penalty: float
    score: float


def tokens(text: str) -> list[str]:
    """Lower-cased words at white space."""
    return text.lower().split()


class Meteor:
    """Keeps stems and synonyms of the words it has seen."""

    def __init__(self, wordnet: Wordnet) -> None:
        """One instance serves a whole run."""
        self._stem = lru_cache(20_000)(PorterStemmer().stem)
        self._synonyms = lru_cache(20_000)(wordnet.synonyms)

    def score(self, reference: str, hypothesis: str) -> Score:
        """Score of two captions: alpha 0.9, beta 3, gamma 0.5."""
        left, right = tokens(hypothesis), tokens(reference)
        matches = self._align(left, right)
        count = len(matches)
        if count == 0:
            return Score(left, right, [], 0, 0.0, 0.0, 0.0, 0.0, 0.0)
        chunks = 1 + sum(b[0] != a[0] + 1 or b[1] != a[1] + 1 for a, b in pairwise(matches))
        precision, recall = count / len(left), count / len(right)
        f_mean = (precision * recall) / (0.9 * precision + (1 - 0.9) * recall)
        penalty = 0.5 * (chunks / count) ** 3
        return Score(left, right, matches, chunks, precision, recall, f_mean, penalty, (1 - penalty) * f_mean)

    def _align(self, left: list[str], right: list[str]) -> list[Match]:
        """Three greedy passes, each from the last words to the first; the third sees the stems of the second."""
        mine, theirs = dict(enumerate(left)), dict(enumerate(right))
        found: list[Match] = []

        def stage(name: str) -> None:
            for i in sorted(mine, reverse=True):
                accepted = self._synonyms(mine[i]) if name == "synonym" else {mine[i]}
                j = next((j for j in sorted(theirs, reverse=True) if theirs[j] in accepted), None)
                if j is not None:
                    found.append((i, j, name))
                    del mine[i], theirs[j]

        stage("exact")
        mine = {i: self._stem(word) for i, word in mine.items()}
        theirs = {j: self._stem(word) for j, word in theirs.items()}
        stage("stem")
        stage("synonym")
        return sorted(found)
