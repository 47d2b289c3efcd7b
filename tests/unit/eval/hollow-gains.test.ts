/** The alarm of an evaluation: the reward rises, the score does not. Twelve images of two rows each. */
import { describe, expect, it } from "vitest";
import { evalReport } from "../../../src/engine/eval/report.ts";
import { hollowAlarm, hollowGains } from "../../../src/engine/rl/run/alarms.ts";
import type { RowScores, StoredEvaluation } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";

interface Means {
  readonly score: number;
  /** METEOR of greedy captions. */
  readonly meteor?: number;
  readonly parts: Readonly<Record<string, number>>;
}

/** @param loop whose reward and score have these means; every row differs a little from them, alike at every step */
function evaluation(
  step: number,
  loop: 1 | 2,
  { score, meteor = 0.5, parts }: Means,
  baseline: StoredEvaluation | null = null,
) {
  const rows = Array.from({ length: 24 }, (_, at): RowScores => {
    const own = Object.fromEntries(Object.entries(parts).map(([name, mean]) => [name, mean + ((at * 7) % 5) / 50]));
    const value = score + ((at * (step + 3)) % 7) / 100;
    const reward = Object.values(own).reduce((sum, part) => sum + part, 0);
    return row(`r${at}`, 0.5, {
      imageId: `picture ${at % 12}`,
      caption_meteor: meteor + ((at * (step + 2)) % 5) / 100,
      [loop === 1 ? "loop1_sampled" : "grounding_iou"]: value,
      rewards: { [`reward${loop}_sampled`]: reward + ((at * (step + 1)) % 3) / 100 },
      parts: { [loop]: own },
    });
  });
  return { report: evalReport(step, rows, TERMS, baseline), rows };
}

const START: Means = { score: 0.4, parts: { iou: 0.4, meteor: 0.1, length: -0.2 } };
const found = (loop: 1 | 2, after: Means) => {
  const start = evaluation(0, loop, START);
  return hollowGains(evaluation(20, loop, after, start), [start], [1, 2]);
};

describe("an evaluation", () => {
  it.each([1, 2] as const)("names the term that carries a rise without the score, loop %i", (loop) => {
    const [gain, ...others] = found(loop, { score: 0.4, parts: { iou: 0.4, meteor: 0.3, length: -0.15 } });
    expect(others).toEqual([]);
    expect(gain).toMatchObject({ loop, term: { name: "meteor" } });
    expect(gain?.term?.difference.mean).toBeCloseTo(0.2, 9);
    expect(gain?.reward.mean).toBeCloseTo(0.25, 1);
    const alarm = hollowAlarm(gain as NonNullable<typeof gain>, 20);
    expect(alarm).toMatchObject({ id: `hollow-gain-${loop}`, step: 20, severity: "warning" });
    expect(alarm.message).toContain('"meteor" carries +0.200');
    expect(alarm.message).toContain(loop === 1 ? "not the IoU," : "not the IoU of its masks,");
    expect(alarm.message.length).toBeLessThanOrEqual(300);
  });

  it.each([
    ["the score rises with it", { score: 0.6, parts: { iou: 0.6, meteor: 0.1, length: -0.2 } }],
    ["the score rises less, but rises", { score: 0.5, parts: { iou: 0.5, meteor: 0.5, length: -0.2 } }],
    ["the reward stays", { score: 0.3, parts: { iou: 0.3, meteor: 0.2, length: -0.2 } }],
    ["the reward rises within its interval", { score: 0.4, parts: { iou: 0.401, meteor: 0.1, length: -0.2 } }],
    ["both fall", { score: 0.2, parts: { iou: 0.2, meteor: 0.1, length: -0.2 } }],
  ] as const)("is silent where %s", (_, after) => {
    expect(found(1, after)).toEqual([]);
    expect(found(2, after)).toEqual([]);
  });

  it("is silent about a loop that does not train, and without a baseline", () => {
    const after = { score: 0.4, parts: { iou: 0.4, meteor: 0.4, length: -0.2 } };
    const start = evaluation(0, 1, START);
    const now = evaluation(20, 1, after, start);
    expect(hollowGains(now, [start], [2])).toEqual([]);
    expect(hollowGains(now, [], [1])).toEqual([]);
    // Rows of an older version have no terms: the alarm says what it knows.
    const older = { ...now, rows: now.rows.map(({ parts: _parts, ...own }) => own) };
    expect(hollowGains(older, [start], [1])[0]?.term).toBeNull();
  });
});

describe("words that are lost while the reward is the loop's own score", () => {
  const paid = (score: number, meteor: number): Means => ({ score, meteor, parts: { iou: score } });
  const start = evaluation(0, 1, paid(0.4, 0.1));
  const learnt = evaluation(10, 1, paid(0.7, 0.6), start);
  const later = (score: number, meteor: number, earlier = [start, learnt]) =>
    hollowGains(evaluation(25, 1, paid(score, meteor), start), earlier, [1]);

  it("are told beside the step where captions were best", () => {
    const [gain, ...others] = later(0.8, 0.45);
    expect(others).toEqual([]);
    expect(gain).toMatchObject({ loop: 1, of: "captions", since: 10, term: { name: "iou" } });
    expect(gain?.score.mean).toBeCloseTo(-0.15, 2);
    const { message } = hollowAlarm(gain as NonNullable<typeof gain>, 25);
    expect(message).toContain("since step 10, and METEOR of the captions fell, −0.15");
    expect(message.length).toBeLessThanOrEqual(300);
  });

  it.each([
    ["captions stay", 0.8, 0.6],
    ["captions rise", 0.8, 0.7],
    ["captions fall and the reward with them", 0.5, 0.3],
    ["captions fall and the reward stays", 0.7, 0.3],
  ])("are no alarm where %s", (_, score, meteor) => {
    expect(later(score, meteor)).toEqual([]);
  });

  it("are no alarm beside the start alone, where captions were worse", () => {
    expect(later(0.8, 0.45, [start])).toEqual([]);
  });

  it("are not judged beside an evaluation with other rewards", () => {
    const other = {
      ...learnt,
      report: { ...learnt.report, reward: { ...learnt.report.reward, judge: "asked" as const } },
    };
    expect(later(0.8, 0.45, [start, other])).toEqual([]);
  });
});
