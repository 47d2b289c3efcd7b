/**
 * The work of the reward bench: sampling, importing, rescoring. Newer work replaces older work, whose results are
 * dropped. It uses the bench's store, but neither the workers nor the page.
 */
import type { LabConfig } from "../../engine/config/table.ts";
import { toLabError } from "../../engine/errors.ts";
import { composeGroup } from "../../engine/rewards/composer/compose-group.ts";
import { rewardPlan, withoutJudge } from "../../engine/rewards/composer/plan.ts";
import type { RewardTerm } from "../../engine/rewards/term.ts";
import type { RewardScorer } from "../../engine/rewards/types.ts";
import type { LoopId } from "../../engine/runs/rollouts/records.ts";
import type { BenchGroup } from "./bench-group.ts";
import { factsOf } from "./bench-group.ts";
import { scoredGroup, withAdvantages } from "./bench-scores.ts";
import { type BenchState, isOutdated, useBench } from "./bench-store.ts";

/** What the bench needs from the page and its workers. */
interface BenchParts {
  /** Current settings and model. */
  readonly session: () => {
    readonly config: LabConfig;
    readonly model: { readonly name: string } | null;
  };
  /** Settles after the last call of `addBenchGroup`. @throws LabError("cancelled") after `stop` */
  readonly sample: (config: LabConfig, indices: readonly number[], loops: readonly LoopId[]) => Promise<void>;
  readonly stop: () => void;
  /** Rollouts of a file, completed from open rows. */
  readonly rollouts: (file: File) => Promise<readonly BenchGroup[]>;
  readonly scoreGroup: RewardScorer["scoreGroup"];
  /** Opens the judge of a configuration. */
  readonly begin: (config: LabConfig) => Promise<unknown>;
}

interface BenchWork {
  /** Samples groups of the given rows with the loaded model, replacing the bench's groups. */
  sample(indices: readonly number[], loops: readonly LoopId[]): Promise<void>;
  /** Takes the rollouts of a file, replacing the bench's groups; open rows fill in what the file leaves out. */
  take(file: File): Promise<void>;
  /** Rescores the groups with other settings; does nothing if these are in use, or while groups are added or judged. */
  rescore(config: LabConfig): Promise<void>;
  /** Sends every rollout of the bench to the judge. It may cost money, so the user must request it. */
  judge(): Promise<void>;
  /** Stops the current work. Sampled groups stay; the scores of a stopped scoring are dropped. */
  stop(): void;
}

/** The work of the page's bench. It never throws: an error becomes the store's `problem`, and existing groups stay. */
export function benchWork(parts: BenchParts): BenchWork {
  /** The newest work; older work has no effect. */
  let newest = 0;

  /** @param begin state of the store at the start. @param work receives a function that says whether it is still the newest */
  async function working(begin: Partial<BenchState>, work: (current: () => boolean) => Promise<void>): Promise<void> {
    const mine = ++newest;
    const current = (): boolean => mine === newest;
    if (useBench.getState().state === "sampling") parts.stop();
    useBench.setState({ done: 0, total: 0, problem: null, ...begin });
    try {
      await work(current);
    } catch (thrown) {
      const { code, message } = toLabError(thrown);
      if (current()) useBench.setState({ problem: code === "cancelled" ? null : message });
    } finally {
      if (current()) useBench.setState({ state: "idle" });
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
      const { state, scored, opened } = useBench.getState();
      // An import interrupts a scoring; if the file is then refused, the groups still need their new scores.
      await working({ state: "importing", scored: state === "scoring" ? null : scored }, async (current) => {
        const groups = await scoreAll(parts, await parts.rollouts(file), config, "keep", current);
        if (groups === null) return;
        useBench.setState({ groups, source: file.name, scored: config, opened: opened + 1 });
      });
    },
    async rescore(config) {
      const bench = useBench.getState();
      if (!isOutdated(bench, config)) return;
      // Set before the work, so that settings that cannot score are not retried endlessly.
      await working({ state: "scoring", scored: config, total: bench.groups.length }, async (current) => {
        const groups = await scoreAll(parts, bench.groups, config, "keep", current);
        if (groups !== null) useBench.setState({ groups });
      });
    },
    async judge() {
      const bench = useBench.getState();
      if (bench.groups.length === 0 || bench.state !== "idle") return;
      const { config } = parts.session();
      await working({ state: "judging", total: bench.groups.length }, async (current) => {
        await parts.begin(config);
        const groups = await scoreAll(parts, bench.groups, config, "ask", current);
        if (groups !== null) useBench.setState({ groups, scored: config });
      });
    },
    stop() {
      const { state } = useBench.getState();
      if (state === "idle") return;
      if (state === "sampling") {
        // The trainer finishes its current group before it answers; until then it cannot sample again.
        parts.stop();
        return;
      }
      newest++;
      const problem = "Scoring was stopped; groups and rewards were not changed";
      useBench.setState({ state: "idle", problem });
    },
  };
}

/**
 * Scores groups one by one.
 * @param judge "ask" asks the judge, "keep" keeps earlier verdicts
 * @param current whether the scores are still wanted
 * @returns null when they are not
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
    // Terms are weighted afterwards.
    const fresh = await parts.scoreGroup(facts, judge === "ask" ? plan : withoutJudge(plan));
    const kept = judge === "ask" ? [] : keptVerdicts(group);
    const terms = fresh.map((score, at) => [...score.terms, ...(kept[at] ?? [])]);
    scored.push(scoredGroup(group, composeGroup(terms, group.loop, plan), config));
    if (current() && scored.length % 16 === 0) useBench.setState({ done: scored.length, total: groups.length });
  }
  return current() ? withAdvantages(scored, config) : null;
}

/** Earlier verdicts of a group, which cannot be computed from the facts. */
function keptVerdicts(group: BenchGroup): readonly (readonly RewardTerm[])[] {
  return group.rollouts.map((rollout) => rollout.terms.filter(({ name }) => name === "judge"));
}
