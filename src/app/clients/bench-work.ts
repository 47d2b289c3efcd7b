/**
 * What the reward bench does: sampling, importing, scoring anew. Newer work takes the place of older, of which nothing
 * is seen any more. Knows the bench's store and neither workers nor page.
 */
import type { LabConfig } from "../../engine/config/table.ts";
import { toLabError } from "../../engine/errors.ts";
import { composeGroup } from "../../engine/rewards/composer/compose-group.ts";
import { type RewardPlan, rewardPlan } from "../../engine/rewards/composer/plan.ts";
import type { RewardTerm } from "../../engine/rewards/term.ts";
import type { RewardScorer } from "../../engine/rewards/types.ts";
import { perLoop } from "../../engine/rl/loops/abouts.ts";
import type { BenchGroup } from "../../engine/runs/bench/bench-group.ts";
import type { LoopId } from "../../engine/runs/rollouts/records.ts";
import { factsOf } from "../../engine/runs/rollouts/rollout-facts.ts";
import { scoredGroup, withAdvantages } from "../../engine/session/bench-scores.ts";
import { type BenchState, benchStore, isOutdated } from "../stores/bench.ts";

/** What the bench asks others for. */
export interface BenchParts {
  /** Settings and model of now. */
  readonly session: () => {
    readonly config: LabConfig;
    readonly model: { readonly name: string } | null;
  };
  /** Settles when all groups were handed to `addBenchGroup`. @throws LabError("cancelled") after `stop` */
  readonly sample: (config: LabConfig, indices: readonly number[], loops: readonly LoopId[]) => Promise<void>;
  /** Ends the current sampling. */
  readonly stop: () => void;
  /** Rollouts of a file, completed from open rows. */
  readonly rollouts: (file: File) => Promise<readonly BenchGroup[]>;
  readonly scoreGroup: RewardScorer["scoreGroup"];
  /** Opens the judge of a configuration. */
  readonly begin: (config: LabConfig) => Promise<unknown>;
}

export interface BenchWork {
  /** Samples groups of the given rows with the loaded model, in place of what the bench held. */
  sample(indices: readonly number[], loops: readonly LoopId[]): Promise<void>;
  /** Takes the rollouts of a file, in place of what the bench held; what the file leaves out is taken from open rows. */
  take(file: File): Promise<void>;
  /** Scores what the bench holds with other settings; does nothing when it has these, or while it is filled or judged. */
  rescore(config: LabConfig): Promise<void>;
  /** Asks the judge about every rollout that the bench holds; it may cost money, so it waits for a press. */
  judge(): Promise<void>;
  /** Ends what the bench is busy with. Groups that were sampled stay, of a scoring nothing does. */
  stop(): void;
}

/** The work of the one bench. None of it throws: what fails is the store's problem, and what is there stays. */
export function benchWork(parts: BenchParts): BenchWork {
  /** The newest work; what is older changes nothing any more. */
  let newest = 0;

  /** @param begin state of the store at the start. @param work receives a function that says whether it is still the newest */
  async function working(begin: Partial<BenchState>, work: (current: () => boolean) => Promise<void>): Promise<void> {
    const mine = ++newest;
    const current = (): boolean => mine === newest;
    if (benchStore.getState().state === "sampling") parts.stop();
    benchStore.setState({ done: 0, total: 0, problem: null, ...begin });
    try {
      await work(current);
    } catch (thrown) {
      const { code, message } = toLabError(thrown);
      if (current()) benchStore.setState({ problem: code === "cancelled" ? null : message });
    } finally {
      if (current()) benchStore.setState({ state: "idle" });
    }
  }

  return {
    async sample(indices, loops) {
      const { config, model } = parts.session();
      const total = indices.length * loops.length;
      await working({ state: "sampling", source: model?.name ?? null, groups: [], scored: config, total }, () =>
        parts.sample(config, indices, loops),
      );
    },
    async take(file) {
      const { config } = parts.session();
      const { state, scored } = benchStore.getState();
      // A scoring that the file cuts short leaves older rewards; should the file be refused, they are yet to be scored.
      await working({ state: "importing", scored: state === "scoring" ? null : scored }, async (current) => {
        const groups = await scoreAll(parts, await parts.rollouts(file), config, "keep", current);
        if (groups !== null) benchStore.setState({ groups, source: file.name, scored: config });
      });
    },
    async rescore(config) {
      const bench = benchStore.getState();
      if (!isOutdated(bench, config)) return;
      // Said before the work: settings that cannot score are not tried over and over.
      await working({ state: "scoring", scored: config, total: bench.groups.length }, async (current) => {
        const groups = await scoreAll(parts, bench.groups, config, "keep", current);
        if (groups !== null) benchStore.setState({ groups });
      });
    },
    async judge() {
      const bench = benchStore.getState();
      if (bench.groups.length === 0 || bench.state !== "idle") return;
      const { config } = parts.session();
      await working({ state: "judging", total: bench.groups.length }, async (current) => {
        await parts.begin(config);
        const groups = await scoreAll(parts, bench.groups, config, "ask", current);
        if (groups !== null) benchStore.setState({ groups, scored: config });
      });
    },
    stop() {
      const { state } = benchStore.getState();
      if (state === "idle") return;
      if (state === "sampling") {
        // The trainer ends the group that it samples and answers; until then it could not sample anew.
        parts.stop();
        return;
      }
      newest++;
      const problem = "Scoring was stopped; groups and rewards were not changed";
      benchStore.setState({ state: "idle", problem });
    },
  };
}

/**
 * Scores groups one by one.
 * @param judge whether the judge is asked, or verdicts given before are kept
 * @param current whether the scores are still wanted
 * @returns null when they no longer were
 */
async function scoreAll(
  parts: Pick<BenchParts, "scoreGroup">,
  groups: readonly BenchGroup[],
  config: LabConfig,
  judge: "ask" | "keep",
  current: () => boolean,
): Promise<readonly BenchGroup[] | null> {
  const plan = rewardPlan(config);
  const scored: BenchGroup[] = [];
  for (const group of groups) {
    if (!current()) return null;
    const facts = group.rollouts.map((rollout) => factsOf(group.loop, rollout));
    const fresh = await parts.scoreGroup(facts, judge === "ask" ? plan : withoutJudge(plan));
    const kept = judge === "ask" ? [] : keptVerdicts(group);
    const terms = fresh.map((score, at) => [...score.terms, ...(kept[at] ?? [])]);
    scored.push(scoredGroup(group, composeGroup(terms, group.loop, plan), config));
    if (current() && scored.length % 16 === 0) benchStore.setState({ done: scored.length, total: groups.length });
  }
  return current() ? withAdvantages(scored, config) : null;
}

/** Terms without a call to the judge; how they are weighed is said afterwards. */
function withoutJudge(plan: RewardPlan): RewardPlan {
  return { ...plan, weights: perLoop((loop) => ({ ...plan.weights[loop], judge: 0 })) };
}

/** Verdicts that a group has already: they are not computed from the facts. */
function keptVerdicts(group: BenchGroup): readonly (readonly RewardTerm[])[] {
  return group.rollouts.map((rollout) => rollout.terms.filter(({ name }) => name === "judge"));
}
