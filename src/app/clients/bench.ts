/** What the Rewards screen starts: sampling, importing, scoring anew. */
import type { LabConfig } from "../../engine/config/table.ts";
import { toLabError } from "../../engine/errors.ts";
import type { BenchGroup, UnscoredGroup } from "../../engine/rewards/bench/bench-group.ts";
import { composeGroup } from "../../engine/rewards/composer/compose-group.ts";
import { type RewardPlan, rewardPlan } from "../../engine/rewards/composer/plan.ts";
import type { RewardTerm } from "../../engine/rewards/term.ts";
import { scoredGroup } from "../../engine/rl/bench-scores.ts";
import type { LoopId } from "../../engine/runs/records.ts";
import { benchStore } from "../stores/bench.ts";
import { sessionStore } from "../stores/session.ts";
import { lab } from "./lab.ts";

/** Samples groups of the given rows with the loaded model, in place of what the bench held. */
export async function sampleBench(indices: readonly number[], loops: readonly LoopId[]): Promise<void> {
  const { config, model } = sessionStore.getState();
  benchStore.setState({
    state: "sampling",
    source: model?.name ?? null,
    groups: [],
    done: 0,
    total: indices.length * loops.length,
    problem: null,
  });
  await ending(() => lab().trainer.bench(config, indices, loops));
}

export function stopBench(): void {
  if (benchStore.getState().state === "sampling") lab().trainer.stopBench();
  scoring++;
}

/** Takes the rollouts of a file, in place of what the bench held; what the file leaves out is taken from open rows. */
export async function importBench(file: File): Promise<void> {
  benchStore.setState({ state: "scoring", problem: null, done: 0, total: 0 });
  await ending(async () => {
    const groups = (await lab().data.rollouts(file, file.name)).map(completed);
    await scoreAll(groups, sessionStore.getState().config, "keep");
    benchStore.setState({ source: file.name });
  });
}

/** Scores what the bench holds with other settings. */
export async function rescoreBench(config: LabConfig): Promise<void> {
  const { groups, state } = benchStore.getState();
  if (groups.length === 0 || state === "sampling") return;
  benchStore.setState({ state: "scoring", problem: null });
  await ending(() => scoreAll(groups, config, "keep"));
}

/** Asks the judge about every rollout that the bench holds; it may cost money, so it waits for a press. */
export async function judgeBench(): Promise<void> {
  const { groups, state } = benchStore.getState();
  if (groups.length === 0 || state !== "idle") return;
  const { config } = sessionStore.getState();
  benchStore.setState({ state: "scoring", problem: null, done: 0, total: groups.length });
  await ending(async () => {
    await lab().reward.begin(config);
    await scoreAll(groups, config, "ask");
  });
}

let scoring = 0;

/**
 * Scores groups one by one; a newer call ends an older one.
 * @param judge whether the judge is asked, or verdicts given before are kept
 */
async function scoreAll(
  groups: readonly (UnscoredGroup | BenchGroup)[],
  config: LabConfig,
  judge: "ask" | "keep",
): Promise<void> {
  const mine = ++scoring;
  const plan = rewardPlan(config);
  const scored: BenchGroup[] = [];
  for (const group of groups) {
    const facts = group.rollouts.map((rollout) => rollout.facts);
    const fresh = await lab().reward.scoreGroup(facts, judge === "ask" ? plan : withoutJudge(plan));
    if (mine !== scoring) return;
    const kept = judge === "ask" ? [] : verdicts(group);
    const terms = fresh.map((score, at) => [...score.terms, ...(kept[at] ?? [])]);
    scored.push(scoredGroup(group, composeGroup(terms, group.loop, plan), config));
    if (scored.length % 16 === 0) benchStore.setState({ done: scored.length, total: groups.length });
  }
  benchStore.setState({ groups: scored, done: scored.length, total: scored.length });
}

/** Terms without a call to the judge; how they are weighed is said afterwards. */
function withoutJudge(plan: RewardPlan): RewardPlan {
  const { 1: first, 2: second } = plan.weights;
  return { ...plan, weights: { 1: { ...first, judge: 0 }, 2: { ...second, judge: 0 } } };
}

/** Verdicts that a group has already. */
function verdicts(group: UnscoredGroup | BenchGroup): readonly (readonly RewardTerm[])[] {
  return group.rollouts.map((rollout) =>
    "terms" in rollout ? rollout.terms.filter(({ name }) => name === "judge") : [],
  );
}

let running = 0;

/** Runs work and says in the store how it ended; what is there stays. */
async function ending(work: () => Promise<void>): Promise<void> {
  const mine = ++running;
  try {
    await work();
  } catch (thrown) {
    const { code, message } = toLabError(thrown);
    if (mine === running) benchStore.setState({ problem: code === "cancelled" ? null : message });
  } finally {
    if (mine === running) benchStore.setState({ state: "idle" });
  }
}

/** Reference and given mask of the open row of that name, where the file has none. */
function completed(group: UnscoredGroup): UnscoredGroup {
  const row = sessionStore.getState().rows.find((candidate) => candidate.id === group.rowId);
  if (row === undefined) return group;
  return {
    ...group,
    rollouts: group.rollouts.map((rollout) => {
      const { reference, given, predicted } = rollout.facts;
      const fits = predicted === null || String(predicted.size) === String(row.mask.size);
      return {
        ...rollout,
        facts: { ...rollout.facts, reference: reference ?? row.caption, given: given ?? (fits ? row.mask : null) },
      };
    }),
  };
}
