"""The run's settings and the words that both sides share, as `scale/contract.json` and run.json have them."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from .errors import LabError

# Settings of the tab that change nothing here, those that are refused, and the choices that are known.
_KNOWN: dict[str, Any] = json.loads(Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
LOOPS = (1, 2, 3)


@dataclass(frozen=True)
class Settings:
    """The lab's settings under its names (docs/settings.md of the lab)."""

    seed: int
    mode: str
    steps: int
    loops: str
    loop1Weight: float
    loop2Weight: float
    loop3Weight: float
    saveSteps: int
    keepCheckpoints: int
    evalSteps: int
    bestMetric: str
    evalRows: int
    evalJudge: bool
    selectionShare: float
    promptsPerStep: int
    accumulation: int
    stepsPerGeneration: int
    mixSources: str
    mixBy: str
    lengthGrouping: bool
    curriculum: str
    curriculumStart: float
    curriculumSteps: int
    zeroSpreadRows: str
    resampleRounds: int
    loraRank: int
    loraAlpha: float
    maxTiles: int
    featureStorage: str
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
    entropyTarget: float
    entropyStep: float
    entropyCoefficientMin: float
    entropyCoefficientMax: float
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
    fieldBand: float
    fieldSigma: float
    embeddingSigma: float
    noiseUnit: str
    antitheticNoise: bool
    proposalOverlap: float
    proposalTemperature: float
    proposalPhrases: bool
    proposalPoints: int
    pixelTemperature: float
    loop2Reach: str
    maskAnchor: str
    maskAnchorWeight: float
    sftBceWeight: float
    sftDiceWeight: float
    sftPoints: int
    iouShape: str
    emptyPairReward: float
    likelihoodJudge: str
    shuffleRewards: bool
    missingVerdict: str
    lengthRatio: float
    repetitionGram: int
    leakWords: str
    judge: str
    judgeUrl: str
    judgeModel: str
    judgeRange: str
    judgePositives: int
    judgeNegatives: int
    judgeMaxTokens: int
    judgeParallel: int
    judgeTimeout: float
    judgeRetries: int
    judgeMaxCalls: int
    judgeMaxCost: float
    judgePromptPrice: float
    judgeReplyPrice: float
    judgeQuestionsPrompt: str
    judgeAnswersPrompt: str
    judgeDlcPrompt: str
    judgeWritten: str
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
    partnerTemperature: float
    partnerSamples: int
    weights: dict[int, dict[str, float]]
    """Of the reward terms by loop; costs are negative."""

    @property
    def active_loops(self) -> list[int]:
        """Loops that train."""
        if self.loops != "both":
            return [int(self.loops)]
        return [1, 2, 3] if self.loop3Weight > 0 else [1, 2]

    @property
    def loop_weights(self) -> dict[int, float]:
        """Weights of the loops' losses in the sum."""
        return {1: self.loop1Weight, 2: self.loop2Weight, 3: self.loop3Weight}

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


GAINS = ("iou", "meteor", "judge", "likelihood", "contrast", "confidence", "box", "centre", "user")
COSTS = ("length", "repetition", "leak")


def _term_key(loop: int, term: str) -> str:
    return f"loop{loop}{term.capitalize()}{'Cost' if term in COSTS else ''}"


def parse_settings(config: dict[str, Any], defaults: dict[str, Any], own_reward: bool = False) -> Settings:
    """
    Settings of a run; `own_reward` says that the custom reward is given in Python.

    Raises LabError naming the settings that this package cannot run.
    """
    given = defaults | config
    terms = {_term_key(loop, term): (loop, term) for loop in LOOPS for term in (*GAINS, *COSTS)}
    weights: dict[int, dict[str, float]] = {loop: {} for loop in LOOPS}
    names = {field.name for field in fields(Settings)} - {"weights"}
    missing = sorted((names | set(terms)) - given.keys())
    if missing:
        raise LabError(f"run.json and scale/contract.json lack {', '.join(missing)}; export the run again")
    for key, (loop, term) in terms.items():
        weights[loop][term] = -given[key] if term in COSTS and given[key] != 0 else given[key]
    settings = Settings(**{name: given[name] for name in names}, weights=weights)
    reasons = _refusals(given, defaults, names | set(terms))
    if not own_reward and any(weights[loop]["user"] != 0 for loop in settings.active_loops):
        reasons.append("userReward (the lab runs JavaScript; give the same function in Python by --reward)")
    if reasons:
        raise LabError(f"This package does not run {', '.join(reasons)}; nothing was changed")
    return settings


def _refusals(given: dict[str, Any], defaults: dict[str, Any], names: set[str]) -> list[str]:
    """Settings that would change the run and are not known here, each with its value or reason."""
    off = given.get("judge") == "off"
    refused: dict[str, str] = _KNOWN["refused"]
    found = [f"{name} ({why})" for name, why in refused.items() if given.get(name) != defaults.get(name)]
    for name, choices in _KNOWN["choices"].items():
        asked = name not in ("judgeProvider", "judgeRange") or not off
        if given.get(name) not in choices and asked:
            found.append(f"{name}={given.get(name)}")
    known = names | set(_KNOWN["tab"]) | set(refused) | set(_KNOWN["choices"])
    found += [name for name, value in given.items() if name not in known and value != defaults.get(name)]
    return sorted(found)


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
    judge: dict[str, str]
    """The judge's prompts."""
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
    if given.get("format") != "sa2va-lab-scale/2":
        raise LabError(f"{path} is not of the form sa2va-lab-scale/2; export the run again")
    templates = {
        name: Template(t["before"], t["after"], tuple(t["stopWords"]), t["bos"])
        for name, t in given["templates"].items()
    }
    return Contract(
        given["wordings"], templates, given["streams"], given["evaluation"], given["judge"], given["defaults"]
    )
