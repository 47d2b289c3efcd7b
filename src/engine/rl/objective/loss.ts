/**
 * The policy loss of GRPO and its variants, with its derivatives by log-probs and entropies, so that nothing depends on
 * how autodiff treats ties of `minimum` or detached factors. One function of tensors or of arrays in double precision:
 * training differentiates `policyLoss`; metrics, records and *What if* read `hostLoss`.
 * tests/golden/trl holds the results of TRL 1.16 for the same inputs.
 *
 *   loss = Σ c[n,t]·( keep·policy(w, A) + beta·kl ) - Σ e[n,t]·H[n,t]
 */
import { LabError } from "../../errors.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { DOUBLES, Doubles, type LossArray, type LossOperations, TENSORS } from "./loss-arrays.ts";
import { checkLoss, type KlEstimator, type LossSettings } from "./loss-types.ts";

/** Bounds of a token's log-ratio and of the row's sum in `vespo`, and the minimum λ, as in TRL. */
const VESPO_TOKEN_BOUND = 20;
const VESPO_BOUNDS = [Math.log(1e-8), 20] as const;
const VESPO_LEAST_LAMBDA = 1e-4;

export interface LossInputs<A = Tensor> {
  /** [N, T] log π of the taken actions under the weights being updated; the gradient flows into this. */
  readonly logps: A;
  /** [N, T] under the weights that sampled; null = the same weights, every ratio is exactly 1. */
  readonly oldLogps: A | null;
  /** [N, T] under the reference; needed when beta > 0. "own" = the same weights, the KL is exactly 0 at its minimum. */
  readonly refLogps: A | "own" | null;
  /** [N, T] nats; needed for the entropy bonus, whose gradient flows into it, and for the top-entropy mask. */
  readonly entropies: A | null;
  /** [N, T] 1 for counted actions; values at masked positions have no effect. */
  readonly mask: A;
  /** [N] */
  readonly advantages: A;
  /** [N] constant factors of the rows' policy and KL terms, e.g. probabilities of enumerated actions. */
  readonly rowWeights?: A | null;
}

interface PolicyLoss {
  /** The loss, to be differentiated. */
  readonly loss: tf.Scalar;
  /** Parts of the loss, which is their sum minus the entropy bonus. */
  readonly policy: tf.Scalar;
  readonly klPenalty: tf.Scalar;
}

/** Values of each token; at a row-level ratio those of its row. */
interface TokenValues<A> {
  /** [N, T] policy and KL term before masking and aggregation (masked positions hold those of log-ratio 0). */
  readonly perToken: A;
  /** [N, T] importance ratio. */
  readonly ratio: A;
  /** [N, T] KL estimate; zeros without a reference. */
  readonly kl: A;
  /** 1 where no clamp changed it, shape of the log-ratio; null without a clamp. */
  readonly klFree: A | null;
}

/** Intermediate values for the parity check. */
interface LossDetails extends Omit<TokenValues<Tensor>, "klFree"> {
  /** [N, T] d loss / d logps. */
  readonly gradLogps: Tensor;
}

/**
 * The loss of one micro-batch. The caller owns all returned tensors (inside `tf.tidy` or `tf.grads` they are freed
 * automatically).
 * @throws LabError("bad-config") for settings out of range, LabError("internal") for missing inputs
 */
export function policyLoss(inputs: LossInputs, settings: LossSettings): PolicyLoss {
  return tf.tidy(() => ({ ...attached(inputs, lossParts(inputs, settings, TENSORS)) }));
}

/** The same with all intermediate values. */
export function detailedLoss(inputs: LossInputs, settings: LossSettings): PolicyLoss & LossDetails {
  return tf.tidy(() => {
    const parts = lossParts(inputs, settings, TENSORS);
    const { perToken, ratio, kl } = parts.tokens();
    return { ...attached(inputs, parts), perToken, ratio, kl, gradLogps: parts.gradLogps };
  });
}

function attached(inputs: LossInputs, { policy, klPenalty, gradLogps, bonus }: LossParts<Tensor>): PolicyLoss {
  const penalty = klPenalty ?? tf.scalar(0);
  const total = bonus === null ? policy.add(penalty) : policy.add(penalty).sub(bonus.value);
  const byEntropy = bonus === null ? [] : [[inputs.entropies as Tensor, bonus.weights.neg()] as const];
  const loss = attachGradients(total as tf.Scalar, [[inputs.logps, gradLogps], ...byEntropy]);
  return { loss, policy: policy as tf.Scalar, klPenalty: penalty as tf.Scalar };
}

/** A copy of `value` whose gradient with respect to each input is the given constant array. */
function attachGradients(
  value: tf.Scalar,
  gradients: readonly (readonly [input: Tensor, gradient: Tensor])[],
): tf.Scalar {
  const attach = tf.customGrad((...args) => {
    const save = args[args.length - 1] as unknown as tf.GradSaveFunc;
    save(gradients.map(([, gradient]) => gradient));
    return {
      value: value.clone(),
      gradFunc: (dy: Tensor, saved: Tensor[]) => saved.map((gradient) => gradient.mul(dy)),
    };
  });
  return attach(...gradients.map(([input]) => input)) as tf.Scalar;
}

/** Row-major [N · T] arrays of one batch. */
export interface LossData {
  readonly rows: number;
  readonly tokens: number;
  readonly logps: ArrayLike<number>;
  /** null = same as logps. */
  readonly oldLogps: ArrayLike<number> | null;
  readonly refLogps: ArrayLike<number> | null;
  readonly entropies: ArrayLike<number> | null;
  readonly mask: ArrayLike<number>;
  /** [N] */
  readonly advantages: ArrayLike<number>;
  /** [N]; absent or null = 1. */
  readonly rowWeights?: ArrayLike<number> | null;
}

/** The loss of one batch in double precision; it is the sum of its parts minus the entropy bonus. */
export interface HostLoss {
  readonly loss: number;
  readonly policy: number;
  readonly klPenalty: number;
  /** [N · T] derivatives of the loss by log-probs and by entropies; zeros without an entropy bonus. */
  readonly byLogp: Float64Array;
  readonly byEntropy: Float64Array;
  /** [N · T]; masked positions hold ratio 1 and KL 0. */
  readonly ratio: Float64Array;
  readonly kl: Float64Array;
  /** [N · T] 1 where the clamp of k3 changed the estimate. */
  readonly klClamped: Uint8Array;
  /** Detached weight of the log-prob in `cispo`, [N · T], and φ in `vespo`, [N]; null for other objectives. */
  readonly weight: Float64Array | null;
}

/** @throws LabError as `policyLoss` */
export function hostLoss(data: LossData, settings: LossSettings): HostLoss {
  const { rows, tokens, rowWeights = null } = data;
  const grid = (values: ArrayLike<number> | null): Doubles | null =>
    values === null ? null : new Doubles([rows, tokens], values);
  const column = (values: ArrayLike<number>): Doubles => new Doubles([rows, 1], values);
  const mask = new Doubles([rows, tokens], data.mask);
  const inputs = {
    logps: new Doubles([rows, tokens], data.logps),
    oldLogps: grid(data.oldLogps),
    refLogps: grid(data.refLogps),
    entropies: grid(data.entropies),
    mask,
    advantages: column(data.advantages),
    rowWeights: rowWeights === null ? null : column(rowWeights),
  };
  const { policy, klPenalty, bonus, gradLogps, weight, tokens: values } = lossParts(inputs, settings, DOUBLES);
  const { ratio, kl, klFree } = values();
  const numberOf = (x: Doubles | undefined): number => x?.values[0] ?? 0;
  const [acting, penalty] = [numberOf(policy), numberOf(klPenalty ?? undefined)];
  const none = mask.zerosLike();
  const shown = (x: Doubles, hidden: Doubles): Float64Array => x.where(mask.greater(0.5), hidden).values;
  return {
    loss: acting + penalty - numberOf(bonus?.value),
    policy: acting,
    klPenalty: penalty,
    byLogp: gradLogps.values,
    byEntropy: bonus?.weights.neg().values ?? none.values,
    ratio: shown(ratio, mask.onesLike()),
    kl: shown(kl, none),
    klClamped: Uint8Array.from(shown(klFree?.logicalNot() ?? none, none)),
    weight: weight?.values ?? null,
  };
}

interface LossParts<A> {
  readonly policy: A;
  /** Null without a reference. */
  readonly klPenalty: A | null;
  readonly gradLogps: A;
  /** The subtracted entropy bonus and its derivatives with respect to the entropies; null without a bonus. */
  readonly bonus: { readonly value: A; readonly weights: A } | null;
  readonly weight: A | null;
  readonly tokens: () => TokenValues<A>;
}

const timesIf = <A extends LossArray<A>>(x: A, factor: A | null): A => (factor === null ? x : x.mul(factor));
const sumOf = <A extends LossArray<A>>(terms: readonly (A | null)[]): A | null =>
  terms.reduce((sum, term) => (sum === null ? term : term === null ? sum : sum.add(term)), null);

/**
 * Factors and terms that the settings switch off are null and not computed, to save time in the many small losses of a
 * step.
 */
function lossParts<A extends LossArray<A>>(
  inputs: LossInputs<A>,
  settings: LossSettings,
  operations: LossOperations<A>,
): LossParts<A> {
  checkLoss(settings);
  const { beta, level, klLevel, logRatioBound: bound, entropyCoef, topEntropyQuantile } = settings;
  if (beta > 0 && inputs.refLogps === null)
    throw new LabError("internal", "beta is above 0 but there are no reference log-probs");
  if ((entropyCoef !== 0 || topEntropyQuantile < 1) && inputs.entropies === null)
    throw new LabError("internal", "The loss needs the entropy, which is missing");
  const [rows, tokens] = inputs.logps.shape as [number, number];
  const mask = inputs.mask.toFloat();
  const none = mask.zerosLike();
  const seen = mask.greater(0.5);
  const hide = (x: A): A => x.where(seen, none);
  const advantages = inputs.advantages.reshape([rows, 1]);
  const lengths = mask.sum(1, true);
  const toRow = rowReduction(mask, lengths);

  // Ratio: log w at the level of the loss.
  const logps = hide(operations.stop(inputs.logps));
  const tokenLogRatio = inputs.oldLogps === null ? none : logps.sub(hide(inputs.oldLogps));
  const raw = level === "token" ? tokenLogRatio : toRow.reduce(tokenLogRatio, level);
  const logRatio = bound === null ? raw : raw.clipByValue(-bound, bound);
  const unbounded = bound === null ? null : raw.abs().lessEqual(bound).toFloat();

  // Policy term, and the tokens that keep it; masked tokens have weight 0 anyway.
  const rowSum = (x: A): A => toRow.reduce(x, "sequence_sum");
  const objective = objectiveTerm({ logps, logRatio, unbounded, tokenLogRatio, rowSum, advantages }, settings);
  const entropies = (): A => operations.stop(inputs.entropies as A);
  const uncertain = topEntropyQuantile < 1 ? topEntropyMask(entropies(), mask, topEntropyQuantile, operations) : null;
  const onPolicy = rowsOnPolicy(tokenLogRatio, advantages, toRow, settings.offPolicyMaskThreshold);
  const keep = uncertain === null ? onPolicy : timesIf(uncertain, onPolicy);

  // KL term: value, and derivatives with respect to the log-ratio to the reference and to the importance ratio.
  const ratio = (): A => logRatio.exp();
  const { refLogps } = inputs;
  const toReference = refLogps === null ? null : refLogps === "own" ? none : logps.sub(hide(refLogps));
  const kl = toReference === null ? null : klParts(toReference, settings, toRow, ratio, unbounded);

  const rowWeights = inputs.rowWeights ? inputs.rowWeights.reshape([rows, 1]) : null;
  const weights = timesIf(aggregationWeights(mask, lengths, settings, tokens), rowWeights);
  const policyTerm = timesIf(objective.value, keep);
  const kept = (x: A | null): A | null => (x === null ? null : timesIf(x, keep));
  const policy = weights.mul(policyTerm).sum();
  const klPenalty = kl === null ? null : weights.mul(kl.value).sum().mul(beta);
  const viaRatio = sumOf([kept(objective.viaRatio), kl?.viaRatio?.mul(beta) ?? null]);
  const viaLogp = kept(objective.viaLogp);
  const gradLogps = sumOf([
    viaLogp === null ? null : weights.mul(viaLogp),
    viaRatio === null ? null : toRow.spread(weights.mul(viaRatio), level),
    kl === null ? null : toRow.spread(weights.mul(kl.slope).mul(beta), klLevel),
  ]) as A;

  const bonus = entropyCoef === 0 ? null : entropyWeights(uncertain ?? mask, settings);
  return {
    policy,
    klPenalty,
    gradLogps,
    bonus: bonus === null ? null : { value: bonus.mul(hide(entropies())).sum(), weights: bonus },
    weight: objective.weight,
    tokens() {
      const spread = (x: A): A => x.mul(none.onesLike());
      const penalty = kl === null ? none : kl.value;
      const perToken = spread(policyTerm.mul(mask).add(penalty.mul(beta)));
      return { perToken, ratio: spread(ratio()), kl: spread(penalty), klFree: kl?.free ?? null };
    },
  };
}

type RowLevel = "token" | "gspo_token" | "sequence" | "sequence_sum";

/** Token values → one value per row, and the transpose of that map for gradients. */
interface RowReduction<A> {
  /** [N, T] → [N, 1]: masked mean (`sequence`, `gspo_token`) or sum. */
  reduce(x: A, level: RowLevel): A;
  /**
   * Gradient with respect to a row value, given at every use [N, T] → gradient with respect to the tokens [N, T]. Token
   * levels are unchanged.
   */
  spread(uses: A, level: RowLevel): A;
}

function rowReduction<A extends LossArray<A>>(mask: A, lengths: A): RowReduction<A> {
  const share = (): A => mask.div(lengths.maximum(1));
  return {
    reduce: (x, level) => x.mul(level === "sequence_sum" ? mask : share()).sum(1, true),
    spread(uses, level) {
      if (level === "token" || level === "gspo_token") return uses;
      return uses.sum(1, true).mul(level === "sequence" ? share() : mask);
    },
  };
}

/**
 * 0 for rows with negative advantage whose probability has fallen (mean of old - new above the threshold), else 1; [N,
 * 1]. Null without a threshold.
 */
function rowsOnPolicy<A extends LossArray<A>>(
  tokenLogRatio: A,
  advantages: A,
  toRow: RowReduction<A>,
  threshold: number | null,
): A | null {
  if (threshold === null) return null;
  const drift = toRow.reduce(tokenLogRatio, "sequence").neg();
  return complement(advantages.less(0).logicalAnd(drift.greater(threshold)).toFloat());
}

const complement = <A extends LossArray<A>>(x: A): A => x.neg().add(1);

// The policy term and its two derivatives.

/**
 * One term per token or per row: shapes broadcast against [N, T].
 * `viaRatio` = d value / d log w, `viaLogp` = d value / d logp with the ratio constant; null where it is 0. `weight` is
 * the detached weight of logp, if the objective has one.
 */
interface ObjectiveTerm<A> {
  readonly value: A;
  readonly viaRatio: A | null;
  readonly viaLogp: A | null;
  readonly weight: A | null;
}

interface ObjectiveInputs<A> {
  /** [N, T], masked positions 0. */
  readonly logps: A;
  /** [N, T] or [N, 1] log-ratio at the level of the loss, already bounded. */
  readonly logRatio: A;
  /** 1 where the bound left the log-ratio alone, shape of logRatio; null without a bound. */
  readonly unbounded: A | null;
  /** [N, T] log-ratios of the tokens, masked positions 0. */
  readonly tokenLogRatio: A;
  /** [N, T] → [N, 1] sum over the row. */
  readonly rowSum: (x: A) => A;
  /** [N, 1] */
  readonly advantages: A;
}

function objectiveTerm<A extends LossArray<A>>(inputs: ObjectiveInputs<A>, settings: LossSettings): ObjectiveTerm<A> {
  switch (settings.objective) {
    case "clip":
      return clipTerm(inputs, settings);
    case "sapo":
      return sapoTerm(inputs, settings);
    case "cispo":
      return weightedLogp(inputs.logRatio.exp().clipByValue(settings.weightMin, settings.weightMax), inputs);
    case "vespo":
      return weightedLogp(vespoWeight(inputs, settings), inputs);
  }
}

/** -min(min(w, delta)·A, clip(w)·A). At w = 1 both arguments are equal and the gradient is -A. */
function clipTerm<A extends LossArray<A>>(
  { logRatio, unbounded, advantages }: ObjectiveInputs<A>,
  settings: LossSettings,
): ObjectiveTerm<A> {
  const [low, high] = [1 - settings.epsLow, 1 + settings.epsHigh];
  const ratio = logRatio.exp();
  const capped = settings.delta === null ? ratio : ratio.minimum(settings.delta);
  const open = capped.mul(advantages);
  const closed = ratio.clipByValue(low, high).mul(advantages);
  const closedActive = ratio.greaterEqual(low).logicalAnd(ratio.lessEqual(high));
  const takesOpen = open.lessEqual(closed);
  const openActive = settings.delta === null ? takesOpen : takesOpen.logicalAnd(ratio.lessEqual(settings.delta));
  const active = openActive.logicalOr(takesOpen.logicalNot().logicalAnd(closedActive));
  const slope = timesIf(ratio.mul(advantages), unbounded).neg();
  return {
    value: open.minimum(closed).neg(),
    viaRatio: slope.where(active, slope.zerosLike()),
    viaLogp: null,
    weight: null,
  };
}

function sapoTerm<A extends LossArray<A>>(
  { logRatio, unbounded, advantages }: ObjectiveInputs<A>,
  { sapo }: LossSettings,
): ObjectiveTerm<A> {
  const ratio = logRatio.exp();
  const k = bySign(advantages.greater(0), sapo.positive, sapo.negative);
  const gate = ratio.sub(1).mul(k).sigmoid();
  const slope = timesIf(gate.mul(complement(gate)).mul(ratio).mul(advantages), unbounded).mul(-4);
  return { value: gate.mul(advantages).div(k).mul(-4), viaRatio: slope, viaLogp: null, weight: null };
}

/** φ = exp(λ + k·log w - λ·w) of the row's bounded summed log-ratio, [N, 1]; 0 where it overflows. */
function vespoWeight<A extends LossArray<A>>(
  { tokenLogRatio, rowSum, advantages }: ObjectiveInputs<A>,
  { vespo }: LossSettings,
): A {
  const good = advantages.greaterEqual(0);
  const k = bySign(good, vespo.kPositive, vespo.kNegative);
  const [positive, negative] = [vespo.lambdaPositive, vespo.lambdaNegative].map((l) => Math.max(VESPO_LEAST_LAMBDA, l));
  const lambda = bySign(good, positive as number, negative as number);
  const summed = rowSum(tokenLogRatio.clipByValue(-VESPO_TOKEN_BOUND, VESPO_TOKEN_BOUND));
  const logRatio = summed.clipByValue(...VESPO_BOUNDS);
  const phi = lambda.add(k.mul(logRatio)).sub(lambda.mul(logRatio.exp())).exp();
  return phi.where(phi.isFinite(), phi.zerosLike());
}

/** -stop(weight)·A·logp. */
function weightedLogp<A extends LossArray<A>>(weight: A, { logps, advantages }: ObjectiveInputs<A>): ObjectiveTerm<A> {
  const slope = weight.mul(advantages).neg();
  return { value: slope.mul(logps), viaRatio: null, viaLogp: slope, weight };
}

function bySign<A extends LossArray<A>>(positive: A, whenTrue: number, otherwise: number): A {
  return positive
    .toFloat()
    .mul(whenTrue - otherwise)
    .add(otherwise);
}

// KL to the reference (docs/spec/grpo.md#5-kl-to-the-reference).

/** Value of the estimate, its derivative with respect to `logp`, and 1 where no clamp acted (null without a clamp). */
interface KlTerm<A> {
  readonly value: A;
  readonly slope: A;
  readonly free: A | null;
}

/**
 * Estimate of KL(policy, reference) on one sampled action, from `toReference` = logp - ref. Only k3 can overflow, so only
 * k3 is clamped; a clamped value has slope 0. Call tensors inside a `tf.tidy`.
 */
export function klTerm<A extends LossArray<A>>(
  toReference: A,
  estimator: KlEstimator,
  clamp: LossSettings["klClamp"],
): KlTerm<A> {
  switch (estimator) {
    case "k1":
      return { value: toReference, slope: toReference.onesLike(), free: null };
    case "notes":
      return { value: toReference.neg(), slope: toReference.onesLike().neg(), free: null };
    case "abs":
      return { value: toReference.abs(), slope: toReference.sign(), free: null };
    case "k2":
      return { value: toReference.square().div(2), slope: toReference, free: null };
    case "k3":
      return k3Term(toReference, clamp);
    case "k3-value-k2-gradient":
      return { ...k3Term(toReference, clamp), slope: toReference };
  }
}

function k3Term<A extends LossArray<A>>(toReference: A, clamp: LossSettings["klClamp"]): KlTerm<A> {
  const q = toReference.neg();
  // expm1 keeps the digits that exp(q) - 1 loses near q = 0.
  if (clamp === null) {
    const growth = q.expm1();
    return { value: growth.sub(q), slope: growth.neg(), free: null };
  }
  const held = q.clipByValue(-clamp.difference, clamp.difference);
  const growth = held.expm1();
  const value = growth.sub(held);
  const free = q.abs().lessEqual(clamp.difference).logicalAnd(value.lessEqual(clamp.value));
  return { value: value.minimum(clamp.value), slope: growth.neg().where(free, growth.zerosLike()), free };
}

function klParts<A extends LossArray<A>>(
  toReference: A,
  settings: LossSettings,
  toRow: RowReduction<A>,
  ratio: () => A,
  unbounded: A | null,
): KlTerm<A> & { readonly viaRatio: A | null } {
  const levelled = settings.klLevel === "token" ? toReference : toRow.reduce(toReference, settings.klLevel);
  const term = klTerm(levelled, settings.klEstimator, settings.klClamp);
  if (!settings.useBiasCorrectionKl) return { ...term, viaRatio: null };
  const factor = ratio();
  const value = term.value.mul(factor);
  return { ...term, value, slope: term.slope.mul(factor), viaRatio: timesIf(value, unbounded) };
}

// Weights of each token's loss and entropy (docs/spec/grpo.md#6-aggregation, docs/spec/grpo.md#8-entropy).

/** c[n,t] of loss = Σ c·l; 0 at masked positions. @param lengths [N, 1] active tokens */
function aggregationWeights<A extends LossArray<A>>(mask: A, lengths: A, settings: LossSettings, padded: number): A {
  const rows = mask.shape[0] as number;
  const perStep = 1 / settings.accumulation;
  const activeRows = (): A => lengths.greater(0).toFloat().sum().maximum(1);
  const { aggregation, activeTokensTotal: total, maxCompletionLength } = settings;
  switch (aggregation) {
    case "row-mean":
      return mask.div(lengths.maximum(1)).mul(perStep / rows);
    case "active-row-mean":
      return mask.div(lengths.maximum(1)).div(activeRows()).mul(perStep);
    case "active-row-sum":
      return mask.div(activeRows()).mul(perStep);
    case "row-sum":
      return mask.mul(perStep / rows);
    case "micro-token-mean":
      return mask.div(mask.sum().maximum(1)).mul(perStep);
    case "window-token-mean":
      return total === null ? mask.div(mask.sum().maximum(1)) : mask.div(Math.max(1, total));
    case "constant-length":
      return mask.mul(perStep / (rows * maxCompletionLength));
    case "padded-length":
      return mask.mul(perStep / padded);
  }
}

/** e[n,t] of bonus = Σ e·H: coefficient times the mean over the kept tokens of this micro-batch, for every loss type. */
function entropyWeights<A extends LossArray<A>>(kept: A, settings: LossSettings): A {
  return kept.div(kept.sum().maximum(1)).mul(settings.entropyCoef / settings.accumulation);
}

/**
 * 1 for the active tokens whose entropy reaches the (1 - share) quantile of all active entropies (linear interpolation
 * between order statistics). Call tensors inside a `tf.tidy`. @param entropies [N, T] without gradient
 */
export function topEntropyMask<A extends LossArray<A>>(
  entropies: A,
  mask: A,
  share: number,
  { descending, range }: LossOperations<A>,
): A {
  const active = mask.greater(0.5);
  // Below every entropy; the entropy of a narrow Gaussian is negative.
  const sorted = descending(entropies.where(active, mask.zerosLike().sub(1e30)));
  // Position of the quantile counted from the top; the two neighbours share its weight.
  const position = mask.sum().sub(1).maximum(0).mul(share);
  const threshold = complement(range(sorted.size).sub(position).abs()).relu().mul(sorted).sum();
  // The interpolated value may differ in the last bits from the entropy that it equals.
  const reached = entropies.greaterEqual(threshold.sub(threshold.abs().mul(1e-6)));
  return reached.logicalAnd(active).toFloat();
}
