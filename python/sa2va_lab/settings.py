"""The run's settings and the words that both sides share, as `scale/contract.json` and run.json have them."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import LabError

# Settings of the tab that change nothing here: memory, storage and page.
_OF_THE_TAB = frozenset(
    (
        "microRollouts", "groupsAtOnce", "gpuMemory", "recompute", "weightStorage", "towerStorage", "halfProducts",
        "hub", "featureDisk", "heldOutShare", "splitSeed", "maxRows", "userRewardHash", "userRewardMs", "userRewardMb",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The lab's settings under its names (docs/settings.md of the lab)."""

    seed: int
    mode: str
    steps: int
    loops: str
    loop1Weight: float
    loop2Weight: float
    saveSteps: int
    keepCheckpoints: int
    evalSteps: int
    bestMetric: str
    evalRows: int
    selectionShare: float
    promptsPerStep: int
    accumulation: int
    stepsPerGeneration: int
    loraRank: int
    loraAlpha: float
    loraDropout: float
    maxTiles: int
    smallRegions: str
    groupSize: int
    temperature: float
    maxNewTokens: int
    topK: int
    topP: float
    minP: float
    repetitionPenalty: float
    logitGuard: float
    partnerMaxTokens: int
    objective: str
    lossType: str
    importanceLevel: str
    epsilonLow: float
    epsilonHigh: float
    delta: float
    beta: float
    klEstimator: str
    klClamp: bool
    reference: str
    iterations: int
    scaleRewards: str
    advantageBaseline: str
    rewardAggregation: str
    advantageEps: float
    maskTruncated: bool
    entropyCoefficient: float
    adaptiveEntropy: bool
    topEntropyQuantile: float
    offPolicyThreshold: float
    biasCorrectedKl: bool
    sapoTemperaturePositive: float
    sapoTemperatureNegative: float
    vespoKPositive: float
    vespoLambdaPositive: float
    vespoKNegative: float
    vespoLambdaNegative: float
    syncReference: bool
    referenceMixup: float
    referenceSyncSteps: int
    maskPolicy: str
    candidateTemperature: float
    fieldGrid: int
    fieldSigma: float
    embeddingSigma: float
    noiseUnit: str
    antitheticNoise: bool
    proposalOverlap: float
    proposalTemperature: float
    pixelTemperature: float
    loop2Reach: str
    maskAnchor: str
    maskAnchorWeight: float
    sftBceWeight: float
    sftDiceWeight: float
    sftPoints: int
    iouShape: str
    emptyPairReward: float
    shuffleRewards: bool
    missingVerdict: str
    lengthRatio: float
    repetitionGram: int
    leakWords: str
    userReward: str
    judge: str
    learningRate: float
    projectorRateFactor: float
    maskRateFactor: float
    schedule: str
    warmupSteps: int
    weightDecay: float
    adamBeta1: float
    adamBeta2: float
    adamEps: float
    maxGradNorm: float
    clipScope: str
    haltOnNan: bool
    emaDecay: float
    emaRamp: bool
    weights: dict[int, dict[str, float]]
    """Of the reward terms by loop; costs are negative."""

    @property
    def active_loops(self) -> list[int]:
        """Loops that train."""
        return [1, 2] if self.loops == "both" else [int(self.loops)]

    @property
    def windows(self) -> int:
        """Accumulation windows that one set of rollouts is cut into."""
        return max(1, self.stepsPerGeneration // self.accumulation)

    @property
    def groups(self) -> int:
        """Groups that each loop plays in a step, over all processes."""
        return self.windows * self.accumulation * self.promptsPerStep

    @property
    def needs_reference(self) -> bool:
        """Whether the loss compares with the reference."""
        return self.beta > 0 or self.objective == "notes"


GAINS = ("iou", "meteor", "judge", "confidence", "box", "centre", "user")
COSTS = ("length", "repetition", "leak")


def _term_key(loop: int, term: str) -> str:
    return f"loop{loop}{term.capitalize()}{'Cost' if term in COSTS else ''}"


def parse_settings(config: dict[str, Any], defaults: dict[str, Any]) -> Settings:
    """Settings of a run. Raises LabError for a setting that would change the run and is not known here."""
    given = defaults | config
    terms = {_term_key(loop, term): (loop, term) for loop in (1, 2) for term in (*GAINS, *COSTS)}
    weights: dict[int, dict[str, float]] = {1: {}, 2: {}}
    for key, (loop, term) in terms.items():
        weights[loop][term] = -given[key] if term in COSTS and given[key] != 0 else given[key]
    names = {field.name for field in fields(Settings)} - {"weights"}
    known = names | set(terms) | _OF_THE_TAB
    odd = [name for name, value in given.items() if name not in known and value != defaults.get(name)]
    odd = [name for name in odd if not (name.startswith(("judge", "evalJudge")) and given["judge"] == "off")]
    if odd:
        raise LabError(f"run.json sets {', '.join(sorted(odd))}, which this package does not know; nothing was changed")
    missing = sorted(names - given.keys())
    if missing:
        raise LabError(f"run.json and scale/contract.json lack {', '.join(missing)}; export the run again")
    settings = Settings(**{name: given[name] for name in names}, weights=weights)
    refuse_unsupported(settings)
    return settings


def refuse_unsupported(settings: Settings) -> None:
    """Raises LabError for what only the lab does."""
    reasons = {
        "loraDropout": settings.loraDropout > 0,
        "userReward": any(settings.weights[loop]["user"] != 0 for loop in (1, 2)),
        "judge": settings.judge != "off",
        "adaptiveEntropy": settings.adaptiveEntropy,
        f"loops={settings.loops}": settings.loops not in ("1", "2", "both"),
    }
    refused = [name for name, holds in reasons.items() if holds]
    if refused:
        raise LabError(f"{', '.join(refused)} is not supported on a cluster; change it in the lab and export again")


@dataclass(frozen=True)
class Template:
    """A chat template: the user's turn is written between `before` and `after`."""

    before: str
    after: str
    stop_words: tuple[str, ...]
    bos: bool


@dataclass(frozen=True)
class Contract:
    """Words and constants of the lab version that exported the run."""

    wordings: dict[str, str]
    templates: dict[str, Template]
    streams: dict[str, int]
    evaluation: dict[str, int]
    defaults: dict[str, Any]


def read_json(path: Path) -> Any:
    """A JSON file. Raises LabError naming it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise LabError(f"{path} cannot be read ({cause}); nothing was changed") from cause


def read_contract(run: Path) -> Contract:
    """The contract of an exported run. Raises LabError when the folder was not exported for this package."""
    path = run / "scale" / "contract.json"
    if not path.exists():
        raise LabError(f"{path} is missing; export the run with --format scale-out")
    given = read_json(path)
    if given.get("format") != "sa2va-lab-scale/1":
        raise LabError(f"{path} is not of the form sa2va-lab-scale/1; export the run again")
    templates = {
        name: Template(t["before"], t["after"], tuple(t["stopWords"]), t["bos"])
        for name, t in given["templates"].items()
    }
    return Contract(given["wordings"], templates, given["streams"], given["evaluation"], given["defaults"])
