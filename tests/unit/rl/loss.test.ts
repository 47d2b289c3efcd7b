import { beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import {
  detailedLoss,
  hostLoss,
  klTerm,
  type LossInputs,
  policyLoss,
  topEntropyMask,
} from "../../../src/engine/rl/objective/loss.ts";
import { Doubles, stopGradient, TENSORS } from "../../../src/engine/rl/objective/loss-arrays.ts";
import {
  type KlEstimator,
  type LossSettings,
  type LossType,
  lossSettings,
} from "../../../src/engine/rl/objective/loss-types.ts";
import { clipFlags, lossMetrics } from "../../../src/engine/rl/step/metrics/loss-metrics.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const ROWS = 4;
const TOKENS = 5;
/** Deterministic spread of values in [-1, 1]. */
const wave = (seed: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Math.sin(seed + i * 2.399));
const MASK = [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0];
const ADVANTAGES = [1.2, -0.7, 0.4, -0.9];
const NEW = wave(1, ROWS * TOKENS).map((x) => -1.5 + x);
const OLD = NEW.map((x, i) => x + 0.3 * Math.sin(i * 1.7));
const REF = NEW.map((x, i) => x + 0.5 * Math.cos(i * 0.9));
const ENTROPY = wave(5, ROWS * TOKENS).map((x) => 1.5 + x);

const grid = (values: readonly number[]): Tensor => tf.tensor2d(values as number[], [ROWS, TOKENS]);

function inputs(changes: Partial<LossInputs> = {}): LossInputs {
  return {
    logps: grid(NEW),
    oldLogps: grid(OLD),
    refLogps: grid(REF),
    entropies: grid(ENTROPY),
    mask: grid(MASK),
    advantages: tf.tensor1d(ADVANTAGES),
    ...changes,
  };
}

function gradient(settings: LossSettings, changes: Partial<LossInputs> = {}): number[] {
  return tf.tidy(() => {
    const given = inputs(changes);
    const grad = tf.grad((logps) => policyLoss({ ...given, logps: logps as Tensor }, settings).loss)(given.logps);
    return Array.from(grad.dataSync());
  });
}

const lossAt = (logps: readonly number[], settings: LossSettings): number =>
  tf.tidy(() => policyLoss(inputs({ logps: grid(logps) }), settings).loss.dataSync()[0] as number);

describe("the policy loss", () => {
  const types: LossType[] = ["grpo", "bnpo", "dr_grpo", "dapo", "sapo", "luspo"];
  it.each(types)("%s: gradient equals central differences", (type) => {
    const settings = lossSettings(type, { maxCompletionLength: TOKENS, epsLow: 0.25, epsHigh: 0.25 });
    const analytic = gradient(settings);
    for (let i = 0; i < analytic.length; i++) {
      const shifted = (h: number): number =>
        lossAt(
          NEW.map((x, k) => (k === i ? x + h : x)),
          settings,
        );
      const numeric = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
      expect(Math.abs((analytic[i] as number) - numeric), `element ${i}`).toBeLessThan(2e-3);
    }
  });

  it.each(["sequence", "sequence_sum"] as const)("%s level: gradient equals central differences", (level) => {
    const settings = lossSettings("grpo", { level, klLevel: level, epsLow: 0.5, epsHigh: 0.5 });
    const analytic = gradient(settings);
    for (let i = 0; i < analytic.length; i++) {
      const shifted = (h: number): number =>
        lossAt(
          NEW.map((x, k) => (k === i ? x + h : x)),
          settings,
        );
      expect(Math.abs((analytic[i] as number) - (shifted(1e-2) - shifted(-1e-2)) / 2e-2)).toBeLessThan(2e-3);
    }
  });

  it("on-policy: every ratio is 1, the gradient is -A per token over its row's length", () => {
    const grad = gradient(lossSettings("grpo", { beta: 0 }), { oldLogps: null, refLogps: null });
    const lengths = [5, 2, 0, 4];
    MASK.forEach((m, i) => {
      const n = Math.floor(i / TOKENS);
      const expected = m === 0 ? 0 : -(ADVANTAGES[n] as number) / (lengths[n] as number) / ROWS;
      expect(grad[i]).toBeCloseTo(expected, 6);
    });
  });

  it("clips one side per sign of the advantage", () => {
    const one = (advantage: number, ratio: number): number =>
      tf.tidy(() => {
        const settings = lossSettings("grpo", { beta: 0 });
        const old = tf.tensor2d([[0]]);
        const loss = (logps: Tensor) =>
          policyLoss(
            {
              logps,
              oldLogps: old,
              refLogps: null,
              entropies: null,
              mask: tf.ones([1, 1]),
              advantages: tf.tensor1d([advantage]),
            },
            settings,
          ).loss;
        return tf
          .grad((x) => loss(x as Tensor))(tf.tensor2d([[Math.log(ratio)]]))
          .dataSync()[0] as number;
      });
    expect(one(1, 1.5)).toBe(0);
    expect(one(-1, 0.5)).toBe(0);
    expect(one(1, 0.5)).toBeCloseTo(-0.5, 5);
    expect(one(-1, 1.5)).toBeCloseTo(1.5, 5);
  });

  it("never lets masked positions leak, not even NaN", () => {
    const poison = (values: readonly number[]): Tensor =>
      grid(values.map((x, i) => (MASK[i] === 1 ? x : i % 2 === 0 ? Number.NaN : -1e30)));
    for (const type of ["grpo", "dapo", "cispo", "vespo", "sapo"] as const) {
      const settings = lossSettings(type, { entropyCoef: 0.01, topEntropyQuantile: 0.5 });
      const clean = gradient(settings);
      const poisoned = gradient(settings, {
        logps: poison(NEW),
        oldLogps: poison(OLD),
        refLogps: poison(REF),
        entropies: poison(ENTROPY),
      });
      expect(poisoned).toEqual(clean);
    }
  });

  it("is 0 with a zero gradient when nothing is active", () => {
    const mask = tf.zeros([ROWS, TOKENS]);
    for (const type of ["grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "vespo", "luspo"] as const) {
      const settings = lossSettings(type, { entropyCoef: 0.1 });
      expect(tf.tidy(() => policyLoss(inputs({ mask }), settings).loss.dataSync()[0])).toBeCloseTo(0, 12);
      expect(gradient(settings, { mask }).every((g) => g === 0)).toBe(true);
    }
  });

  it("gives the entropy bonus to the entropies only", () => {
    const settings = lossSettings("grpo", { entropyCoef: 0.1 });
    const grad = tf.tidy(() => {
      const given = inputs();
      return Array.from(
        tf
          .grad((h) => policyLoss({ ...given, entropies: h as Tensor }, settings).loss)(given.entropies as Tensor)
          .dataSync(),
      );
    });
    MASK.forEach((m, i) => {
      expect(grad[i]).toBeCloseTo((-0.1 * m) / 11, 6);
    });
  });

  it("multiplies the terms of a row by its weight", () => {
    const settings = lossSettings("grpo");
    const plain = gradient(settings);
    const weighted = gradient(settings, { rowWeights: tf.tensor1d([2, 0, 1, 0.5]) });
    [2, 0, 1, 0.5].forEach((w, n) => {
      for (let t = 0; t < TOKENS; t++)
        expect(weighted[n * TOKENS + t]).toBeCloseTo(w * (plain[n * TOKENS + t] as number), 6);
    });
  });

  it("survives a reference far above the policy, with the clamp counted", () => {
    const ref = NEW.map((x, i) => (i === 0 ? x + 150 : x));
    const settings = lossSettings("grpo", { beta: 0.04 });
    const grad = gradient(settings, { refLogps: grid(ref) });
    expect(grad.every(Number.isFinite)).toBe(true);
    const arrays = {
      rows: ROWS,
      tokens: TOKENS,
      logps: NEW,
      oldLogps: OLD,
      refLogps: ref,
      entropies: null,
      mask: MASK,
      advantages: ADVANTAGES,
    };
    expect(lossMetrics(arrays, settings)["kl/clamped"]).toBeCloseTo(1 / 11, 12);
    const unclamped = lossSettings("grpo", { beta: 0.04, klClamp: null });
    expect(gradient(unclamped, { refLogps: grid(ref) }).every(Number.isFinite)).toBe(false);
  });

  it("sums over micro-batches to the whole batch for dapo, and not for bnpo", () => {
    const part = (type: LossType, start: number, end: number, changes: Partial<LossSettings>): number =>
      tf.tidy(() => {
        const rows = end - start;
        const cut = (x: Tensor | null): Tensor | null => (x === null ? null : x.slice([start, 0], [rows, TOKENS]));
        const given = inputs();
        return policyLoss(
          {
            logps: cut(given.logps) as Tensor,
            oldLogps: cut(given.oldLogps),
            refLogps: cut(given.refLogps as Tensor | null),
            entropies: null,
            mask: cut(given.mask) as Tensor,
            advantages: given.advantages.slice([start], [rows]),
          },
          lossSettings(type, changes),
        ).loss.dataSync()[0] as number;
      });
    const window = { accumulation: 2, activeTokensTotal: 11 };
    for (const type of ["dapo", "grpo", "dr_grpo"] as const) {
      const sum = part(type, 0, 2, window) + part(type, 2, 4, window);
      expect(sum).toBeCloseTo(part(type, 0, 4, {}), 6);
    }
    expect(part("bnpo", 0, 2, window) + part("bnpo", 2, 4, window)).not.toBeCloseTo(part("bnpo", 0, 4, {}), 4);
  });

  it("leaves no tensor behind", () => {
    const given = inputs();
    const before = tf.memory().numTensors;
    const { value, grad } = tf.valueAndGrad(
      (x) => policyLoss({ ...given, logps: x as Tensor }, lossSettings("grpo")).loss,
    )(given.logps);
    tf.dispose([value, grad]);
    expect(tf.memory().numTensors).toBe(before);
    const parts = policyLoss(given, lossSettings("grpo"));
    expect(tf.memory().numTensors).toBe(before + Object.keys(parts).length);
    tf.dispose(Object.values(parts));
    expect(tf.memory().numTensors).toBe(before);
  });

  const forms: readonly (readonly [LossType, Partial<LossSettings>])[] = [
    ["grpo", {}],
    ["grpo", { delta: 1.1, offPolicyMaskThreshold: 0.05 }],
    ["grpo", { level: "sequence", klLevel: "sequence", useBiasCorrectionKl: true }],
    ["grpo", { level: "gspo_token", aggregation: "active-row-mean", klEstimator: "k3-value-k2-gradient" }],
    ["bnpo", { level: "sequence_sum", klLevel: "sequence_sum", klEstimator: "abs", logRatioBound: 0.2 }],
    ["dr_grpo", { maxCompletionLength: 7, klEstimator: "k1" }],
    ["dapo", { accumulation: 2, activeTokensTotal: 30, entropyCoef: 0.1, topEntropyQuantile: 0.4 }],
    ["luspo", { aggregation: "padded-length", klEstimator: "k2" }],
    ["cispo", { weightMax: 1.05, aggregation: "active-row-sum" }],
    ["sapo", { entropyCoef: 0.02 }],
    ["vespo", { klClamp: { difference: 0.2, value: 0.01 } }],
    ["notes", {}],
  ];
  it.each(forms)("%s with %o: tensors and double precision compute the same values and gradients", (type, changes) => {
    const settings = lossSettings(type, changes);
    const rowWeights = [2, 0, 1, 0.5];
    const data = {
      rows: ROWS,
      tokens: TOKENS,
      logps: NEW,
      oldLogps: OLD,
      refLogps: REF,
      entropies: ENTROPY,
      mask: MASK,
    };
    const host = hostLoss({ ...data, advantages: ADVANTAGES, rowWeights }, settings);
    tf.tidy(() => {
      const given = inputs({ rowWeights: tf.tensor1d(rowWeights) });
      const { loss, policy, klPenalty, ratio, kl, gradLogps } = detailedLoss(given, settings);
      const byEntropy = tf.grad((h) =>
        policyLoss({ ...given, entropies: h as Tensor }, settings).loss.add(h.sum().mul(0)),
      )(given.entropies as Tensor);
      const same = (wanted: ArrayLike<number>, found: Tensor, counts = (_: number) => true): void => {
        found.dataSync().forEach((value, i) => {
          if (counts(i)) expect(Math.abs(value - (wanted[i] as number)), `element ${i}`).toBeLessThan(2e-6);
        });
      };
      same([host.loss], loss);
      same([host.policy], policy);
      same([host.klPenalty], klPenalty);
      same(host.byLogp, gradLogps);
      same(host.byEntropy, byEntropy);
      same(host.ratio, ratio, (i) => MASK[i] === 1);
      same(host.kl, kl, (i) => MASK[i] === 1);
      expect(host.byLogp.some((value) => value !== 0)).toBe(true);
    });
  });

  it("names the setting that does not fit and the input that is missing", () => {
    expect(() => lossSettings("grpo", { epsLow: 1.2 })).toThrow(/epsilon_low/);
    expect(() => lossSettings("grpo", { topEntropyQuantile: -0.1 })).toThrow(/top_entropy_quantile/);
    expect(() => policyLoss(inputs({ refLogps: null }), lossSettings("grpo"))).toThrow(/reference/);
  });
});

describe("parts of the loss", () => {
  it("stopGradient is the identity with gradient 0", () => {
    const grad = tf.grad((x) =>
      stopGradient(x as Tensor)
        .mul(x as Tensor)
        .sum(),
    )(tf.tensor1d([2, 3]));
    expect(Array.from(grad.dataSync())).toEqual([2, 3]);
  });

  it("the top-entropy mask follows the linear quantile of the active tokens", () => {
    const mask = grid(MASK);
    for (const share of [0.1, 0.2, 0.5, 0.8, 1]) {
      const kept = Array.from(topEntropyMask(grid(ENTROPY), mask, share, TENSORS).dataSync());
      const sorted = ENTROPY.filter((_, i) => MASK[i] === 1).sort((a, b) => a - b);
      const position = (sorted.length - 1) * (1 - share);
      const low = Math.floor(position);
      const threshold =
        (sorted[low] as number) +
        (position - low) * ((sorted[low + 1] ?? (sorted[low] as number)) - (sorted[low] as number));
      expect(kept).toEqual(ENTROPY.map((h, i) => Number(MASK[i] === 1 && h >= threshold - 1e-6)));
    }
  });

  it("the top-entropy mask ranks negative entropies as any others, whatever masked places hold", () => {
    const mask = [1, 1, 1, 0, 0, 1, 1, 0];
    const wide = [0.9, 0.1, 0.5, 0, 0, 0.7, 0.3, 0];
    const kept = (entropies: readonly number[]) =>
      Array.from(
        topEntropyMask(tf.tensor2d([...entropies], [2, 4]), tf.tensor2d(mask, [2, 4]), 0.5, TENSORS).dataSync(),
      );
    expect(kept(wide)).toEqual([1, 0, 1, 0, 0, 1, 0, 0]);
    for (const shift of [-1, -3, -100]) {
      for (const masked of [0, 1e6, -1e6, Number.NaN]) {
        const narrow = wide.map((entropy, at) => (mask[at] === 1 ? entropy + shift : masked));
        expect(kept(narrow), `shift ${shift}, masked ${masked}`).toEqual(kept(wide));
      }
    }
  });

  it("KL estimates are 0 at agreement and clamp as stated", () => {
    const kl = (x: number, estimator: KlEstimator, bounds: LossSettings["klClamp"]) => {
      const { value, slope, free } = klTerm(new Doubles([1, 1], [x]), estimator, bounds);
      return { value: value.values[0], slope: slope.values[0], free: free?.values[0] };
    };
    for (const estimator of ["k1", "k2", "k3", "abs", "notes"] as const)
      expect(kl(0, estimator, null).value).toBeCloseTo(0, 15);
    const clamp = { difference: 20, value: 10 };
    expect(kl(-150, "k3", clamp)).toEqual({ value: 10, slope: 0, free: 0 });
    expect(kl(-1, "k3", clamp).value).toBeCloseTo(Math.E - 2, 12);
    expect(kl(0.3, "k1", null).value).toBe(0.3);
    expect(kl(0.3, "notes", null).value).toBe(-0.3);
  });

  it("diagnoses each token: ratio, clip side and KL", () => {
    const arrays = {
      rows: 2,
      tokens: 2,
      logps: [0, 0, 0, 0],
      oldLogps: [-1, 1, -1, 1],
      refLogps: [0, 0, 0, 1],
      entropies: null,
      mask: [1, 1, 1, 1],
      advantages: [1, -1],
    };
    const flagsOf = (data: typeof arrays, changes: Partial<LossSettings>) => {
      const settings = lossSettings("grpo", changes);
      return clipFlags(hostLoss(data, settings), data, settings);
    };
    const found = hostLoss(arrays, lossSettings("grpo", { delta: 2 }));
    const clipped = flagsOf(arrays, { delta: 2 });
    expect(Array.from(clipped.high)).toEqual([1, 0, 0, 0]);
    expect(Array.from(clipped.low)).toEqual([0, 0, 0, 1]);
    expect(Array.from(clipped.delta)).toEqual([0, 0, 1, 0]);
    expect(found.ratio[0]).toBeCloseTo(Math.E, 12);
    expect(found.kl[3]).toBeCloseTo(Math.E - 2, 12);
    // A bound δ below 1 + ε takes no gradient from a bad token between the two.
    const narrow = { ...arrays, logps: [0.2, 0.4, 0.2, 0.4], oldLogps: [0, 0, 0, 0] };
    expect(Array.from(flagsOf(narrow, { delta: 1.1, epsHigh: 0.28 }).delta)).toEqual([1, 1, 0, 1]);
  });
});
