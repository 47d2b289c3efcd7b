/** Opening rows while others are being read, and what is measured on rows that give way. */
import { beforeEach, describe, expect, it } from "vitest";
import {
  cancelOpening,
  evidenceApplies,
  openBuiltInRows,
  openData,
  refreshPlan,
} from "../../../src/app/clients/loading.ts";
import { DRY_RUN, EVALUATION, startJob, stopJob } from "../../../src/app/stores/jobs.ts";
import { changeConfig, choosePreset, useSession } from "../../../src/app/stores/session.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import type { RowDifficulty } from "../../../src/engine/runs/difficulty.ts";
import type { Plan as RunPlan } from "../../../src/engine/session/plan.ts";
import { bench } from "../../../src/plugins/reward-bench/bench.ts";
import { type BenchGroup, rolloutOf, UNSCORED } from "../../../src/plugins/reward-bench/bench-group.ts";
import { useBench } from "../../../src/plugins/reward-bench/bench-store.ts";
import type { FolderRef } from "../../../src/protocol/common.ts";
import type { ModelInfo } from "../../../src/protocol/trainer.ts";
import { openFakeLab, untilStopped } from "./fake-lab.ts";

/** An opening that the data worker works on. */
interface Opening {
  readonly rows: (...ids: string[]) => void;
  readonly done: (name: string) => void;
  readonly refuse: () => void;
}

/** A sampling that the trainer works on. */
interface Sampling {
  readonly group: (rowId: string) => void;
  readonly end: () => void;
  readonly signal: AbortSignal;
}

const CANCELLED = new LabError("cancelled", "Stopped");
const folder = (name: string): FolderRef => ({ kind: "built-in", baseUrl: name });

const openings: Opening[] = [];
/** Whether each plan was asked for clips. */
const planned: boolean[] = [];
/** Captions of each plan. */
const sampled: (readonly string[])[] = [];
let kept: (readonly RowDifficulty[])[] = [];
const samplings: Sampling[] = [];

openFakeLab({
  data: {
    open: (_folders, _mapping, _onProgress, onRows, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(CANCELLED));
        openings.push({
          rows: (...ids) => onRows(ids.map((id, index) => ({ id, index }) as RegionSummary)),
          done: (name) => resolve({ name, ignored: [] as SetInfo["ignored"] } as SetInfo),
          refuse: () => reject(badInput("No table")),
        });
      }),
    keepDifficulty: (rows) => void kept.push(rows),
    rollouts: async () => [group("of the file")],
  },
  trainer: {
    async plan(_config, { clips, captions }) {
      planned.push(clips);
      sampled.push(captions);
      return { problems: [] } as unknown as RunPlan;
    },
    bench: (_config, _indices, _loops, onGroup, signal) =>
      new Promise((_, reject) => {
        samplings.push({ group: (rowId) => onGroup(group(rowId)), end: () => reject(CANCELLED), signal });
      }),
  },
  reward: { scoreGroup: async () => [{ reward: 0.5, terms: [{ name: "meteor", value: 0.5, weight: 1 }] }] },
});

function group(rowId: string): BenchGroup {
  const facts = {
    ...{ loop: 2 as const, reference: "a car", caption: "a car", given: null, predicted: null },
    ...{ confidence: null, truncated: false },
  };
  const rollout = rolloutOf(facts, { id: rowId, index: 0, rowId, imageId: "", completion: "" });
  const place = { key: rowId, batch: "", step: 0, loop: 2 as const, group: 0, rowId, imageId: null };
  return { ...UNSCORED, ...place, probabilities: null, rollouts: [{ ...rollout, reward: 0.25 }], rewardMean: 0.25 };
}

const shown = () => {
  const { rows, dataInfo, opening } = useSession.getState();
  return [dataInfo?.name ?? null, rows.map(({ id }) => id), opening === null];
};
const begun = (count: number): Promise<void> => expect.poll(() => openings).toHaveLength(count);
const measured = (): readonly string[][] => kept.map((rows) => rows.map(({ rowId }) => rowId));

/** Opens a set to its end. */
async function open(name: string, ...ids: string[]): Promise<void> {
  const opened = openData([folder(name)]);
  await begun(1);
  openings[0]?.rows(...ids);
  openings[0]?.done(name);
  await opened;
  openings.length = 0;
}

beforeEach(async () => {
  openings.length = 0;
  kept = [];
  samplings.length = 0;
  useBench.setState(useBench.getInitialState(), true);
  await open("before", "b1", "b2");
});

describe("an opening in place of one that is not done", () => {
  const half = async (): Promise<{ readonly first: Promise<unknown>; readonly second: Promise<unknown> }> => {
    const first = openData([folder("first")]).catch((thrown: unknown) => thrown);
    await begun(1);
    openings[0]?.rows("f1");
    await expect.poll(() => shown()).toEqual([null, ["f1"], false]);
    const second = openData([folder("second")]);
    await begun(2);
    return { first, second };
  };

  it("is cancelled: the last whole set is open again", async () => {
    const { first, second } = await half();
    cancelOpening();
    await expect(second).rejects.toMatchObject({ code: "cancelled" });
    expect(await first).toMatchObject({ code: "cancelled" });
    expect(shown()).toEqual(["before", ["b1", "b2"], true]);
  });

  it("is refused: the last whole set is open again", async () => {
    const { second } = await half();
    openings[1]?.refuse();
    await expect(second).rejects.toThrow("No table");
    expect(shown()).toEqual(["before", ["b1", "b2"], true]);
  });

  it("is refused after the first was read to its end all the same: the first is open", async () => {
    const first = openData([folder("first")]);
    await begun(1);
    openings[0]?.rows("f1");
    openings[0]?.done("first");
    const second = openData([folder("second")]);
    await begun(2);
    await first;
    openings[1]?.refuse();
    await expect(second).rejects.toThrow("No table");
    expect(shown()).toEqual(["first", ["f1"], true]);
  });
});

it("clips that give way to pictures while those give way to others: the plan is for pictures", async () => {
  useSession.setState({ model: { name: "model" } as ModelInfo });
  const { rows } = useSession.getState();
  useSession.setState({ rows: rows.map((row) => ({ ...row, frames: 6 })) });
  const first = openData([folder("first")]).catch(() => undefined);
  await begun(1);
  openings[0]?.rows("f1");
  await expect.poll(() => shown()).toEqual([null, ["f1"], false]);
  const second = openData([folder("second")]);
  await begun(2);
  await first;
  planned.length = 0;
  openings[1]?.rows("s1");
  openings[1]?.done("second");
  await second;
  await expect.poll(() => planned).toEqual([false]);
  useSession.setState({ model: null });
});

describe("difficulty that the bench measures", () => {
  /** A sampling that has handed out one group. */
  const begin = async (): Promise<{ readonly over: Promise<void>; readonly sampling: Sampling }> => {
    const over = bench.sample([0, 1], [2]);
    await expect.poll(() => samplings).toHaveLength(1);
    const [sampling] = samplings as [Sampling];
    sampling.group("b1");
    await expect.poll(() => useBench.getState().groups).toHaveLength(1);
    return { over, sampling };
  };

  it("is that of the sampled groups, also where those of a file have taken their place", async () => {
    const { over, sampling } = await begin();
    await bench.take(new File([], "rollouts.jsonl"));
    expect(useBench.getState().groups.map(({ rowId }) => rowId)).toEqual(["of the file"]);
    expect(sampling.signal.aborted).toBe(true);
    sampling.end();
    await over;
    expect(measured()).toEqual([["b1"]]);
  });

  it("is not stored for other rows, whose opening ends the sampling", async () => {
    const { over, sampling } = await begin();
    const opened = openData([folder("other")]);
    await begun(1);
    await expect.poll(() => sampling.signal.aborted).toBe(true);
    openings[0]?.rows("o1");
    openings[0]?.done("other");
    await opened;
    sampling.end();
    await over;
    expect(measured()).toEqual([]);
    expect(useBench.getState()).toMatchObject({ state: "idle", problem: null });
  });

  it("is stored after an opening that was refused", async () => {
    const refused = openData([folder("other")]);
    await begun(1);
    openings[0]?.refuse();
    await expect(refused).rejects.toThrow("No table");
    cancelOpening();
    const { over, sampling } = await begin();
    expect(sampling.signal.aborted).toBe(false);
    sampling.end();
    await over;
    expect(measured()).toEqual([["b1"]]);
  });
});

describe("rows in use", () => {
  const progress = { runId: "a", title: "A", step: 1, done: 0, total: 0 };
  it.each<[string, () => Promise<unknown>]>([
    ["dry run", () => startJob(DRY_RUN, null, untilStopped)],
    ["evaluation", () => startJob(EVALUATION, progress, untilStopped)],
  ])("by a %s are kept", async (name, begin) => {
    const asked = openings.length;
    const work = begin();
    await expect(openData([folder("other")])).rejects.toThrow(`The ${name} in progress uses the rows that are open`);
    expect(openings.length).toBe(asked);
    stopJob(DRY_RUN);
    stopJob(EVALUATION);
    await expect(work).rejects.toThrow("stopped");
  });
});

it("a plan reads the captions of the rows that the filter and the maximum leave", async () => {
  const before = useSession.getState();
  const rows = ["a red cup", "a gull", "a red hat", "a red cat"].map((caption, index) => ({
    id: `${index}`,
    caption,
    maskShare: 0.1,
  }));
  const asked = async (rowFilter: string, maxRows: number): Promise<readonly string[] | undefined> => {
    useSession.setState({
      rows: rows as RegionSummary[],
      model: {} as ModelInfo,
      config: { ...before.config, rowFilter, maxRows },
    });
    await refreshPlan();
    return sampled.at(-1);
  };
  expect(await asked("red", 2)).toEqual(["a red cup", "a red hat"]);
  // A filter that is being typed may not be readable yet.
  expect(await asked("area:", 0)).toHaveLength(4);
  useSession.setState(before, true);
});

describe("the preset of a set that comes with the page", () => {
  const rowsOf = async (path: string): Promise<void> => {
    const opened = openBuiltInRows(path);
    await begun(1);
    openings[0]?.rows("r1");
    openings[0]?.done(path.split("/").filter(Boolean).join(" "));
    await opened;
    openings.length = 0;
  };
  const preset = () => useSession.getState().preset;
  const applies = () => evidenceApplies(useSession.getState());

  beforeEach(() => choosePreset("demo"));

  it("follows the set back, unless a setting was changed", async () => {
    choosePreset("clips");
    await rowsOf("pocket/shards/");
    expect(preset()).toBe("demo");
    choosePreset("clips");
    changeConfig({ steps: 3 });
    await rowsOf("pocket/shards/");
    expect(preset()).toBe("clips");
  });

  it("stays where its rows are those of the set, and where it belongs to no set", async () => {
    for (const own of ["repair", "sft"] as const) {
      choosePreset(own);
      await rowsOf("pocket/shards/");
      expect(preset()).toBe(own);
    }
  });

  it("has evidence for its own settings, rows and model alone", async () => {
    expect(applies()).toBe(false);
    await rowsOf("pocket/shards/");
    expect(applies()).toBe(true);
    changeConfig({ rowFilter: "cup" });
    expect(applies()).toBe(false);
    changeConfig({ rowFilter: "", steps: 3 });
    expect(applies()).toBe(false);
    choosePreset("demo");
    useSession.setState({ model: {} as ModelInfo, modelFolder: folder("pocket/model/") });
    expect(applies()).toBe(false);
    useSession.setState({ model: null, modelFolder: null });
  });
});
