/** What the Rewards screen starts: sampling, importing, scoring anew. */
import type { LabConfig } from "../../engine/config/table.ts";
import { toLabError } from "../../engine/errors.ts";
import type { BenchGroup, UnscoredGroup } from "../../engine/rewards/bench/bench-group.ts";
import { rewardPlan } from "../../engine/rewards/composer/plan.ts";
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
    await scoreAll(groups, sessionStore.getState().config);
    benchStore.setState({ source: file.name });
  });
}

/** Scores what the bench holds with other settings. */
export async function rescoreBench(config: LabConfig): Promise<void> {
  const { groups, state } = benchStore.getState();
  if (groups.length === 0 || state === "sampling") return;
  benchStore.setState({ state: "scoring", problem: null });
  await ending(() => scoreAll(groups, config));
}

let scoring = 0;

/** Scores groups one by one; a newer call ends an older one. */
async function scoreAll(groups: readonly UnscoredGroup[], config: LabConfig): Promise<void> {
  const mine = ++scoring;
  const plan = rewardPlan(config);
  const scored: BenchGroup[] = [];
  for (const group of groups) {
    const scores = await lab().reward.scoreGroup(
      group.rollouts.map((rollout) => rollout.facts),
      plan,
    );
    if (mine !== scoring) return;
    scored.push(scoredGroup(group, scores, config));
    if (scored.length % 16 === 0) benchStore.setState({ done: scored.length, total: groups.length });
  }
  benchStore.setState({ groups: scored, done: scored.length, total: scored.length });
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
