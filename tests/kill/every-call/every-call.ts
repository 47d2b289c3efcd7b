/** Goes through every change and call that a small run makes to its store: ends or fails there, and continues. */
import { LabError, LONGEST_SENTENCE } from "../../../src/engine/errors.ts";
import type { TrainerEvent } from "../../../src/engine/rl/run/events.ts";
import { checkpointPath, MARKER } from "../../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import { stepFromName } from "../../../src/engine/runs/step-name.ts";
import type { StartedRun } from "../../../src/engine/session/session.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { type Change, CRASHES, type Crash, changed, crashStates, type Tree } from "./changes.ts";
import {
  causeIn,
  compared,
  described,
  FAILURES,
  type Failure,
  FILE_SYSTEMS,
  type FileSystem,
  type FileSystemName,
  type Opened,
  refuses,
} from "./folders.ts";
import { ID, type SmallRun, STEPS } from "./small-run.ts";

export const KINDS = [...CRASHES, ...FAILURES] as const;
export type Kind = (typeof KINDS)[number];

/** A point at which the run ended or failed, and how the resumed run differs from the undisturbed one. */
export interface Point {
  readonly where: FileSystemName;
  readonly kind: Kind;
  /** Number of the point among those of its kind and file system. */
  readonly n: number;
  readonly what: string;
  readonly differences: readonly string[];
}

type Described = ReadonlyMap<string, string>;

/** A part of the run whose calls fail one by one. */
interface Stage {
  /** Step of the checkpoint it begins at; 0 for a new run. */
  readonly step: number;
  readonly tree: Tree;
  /** Whether the calls that prepare the run count, and those of its steps. */
  readonly prepares: boolean;
  readonly runs: boolean;
}

interface Undisturbed {
  readonly changes: readonly Change[];
  /** Number of changes before each checkpoint was reported, by step. */
  readonly reported: ReadonlyMap<number, number>;
  /** The run as each checkpoint is reported, by step, and at the end. */
  readonly at: ReadonlyMap<number, Described>;
  readonly end: Described;
  /** A run that was killed just before its last checkpoint counts, and the changes that prepare its continuation. */
  readonly cut: Tree;
  readonly preparing: readonly Change[];
  readonly stages: readonly Stage[];
}

export const isCrash = (kind: Kind): kind is Crash => (CRASHES as readonly Kind[]).includes(kind);
const key = (run: Described): string => JSON.stringify([...run]);
const nothing = (): void => undefined;

export class EveryCall {
  readonly run: SmallRun;
  readonly #where: FileSystemName;
  readonly #files: FileSystem;
  /** States from which the run was seen to continue as the undisturbed one. */
  readonly #known = new Set<string>();
  #whole: Promise<Undisturbed> | undefined;

  constructor(run: SmallRun, where: FileSystemName) {
    this.run = run;
    this.#where = where;
    this.#files = FILE_SYSTEMS[where];
  }

  /** The undisturbed run with its changes. */
  get whole(): Promise<Undisturbed> {
    this.#whole ??= this.#undisturbed();
    return this.#whole;
  }

  /** The complete run, and the run at the checkpoint before its last. */
  get trees(): Promise<{ readonly whole: Tree; readonly shorter: Tree }> {
    return this.whole.then(({ changes, stages }) => ({
      whole: changed(new Map(), changes),
      shorter: stages.find(({ step }) => step === STEPS - 2)?.tree ?? new Map(),
    }));
  }

  async #undisturbed(): Promise<Undisturbed> {
    const changes: Change[] = [];
    const reported = new Map<number, number>();
    const at = new Map<number, Described>();
    const trees = new Map<number, Tree>([[0, new Map()]]);
    const opened = this.#files.open(new Map(), { call: nothing, change: (change) => void changes.push(change) });
    this.run.watch = (event) => {
      if (event.type !== "checkpoint") return;
      const tree = opened.tree();
      trees.set(event.step, tree);
      at.set(event.step, described(tree, ID));
      reported.set(event.step, changes.length);
    };
    try {
      await (await this.run.start(opened.store)).done;
      const end = described(opened.tree(), ID);
      const last = `${checkpointPath(ID, STEPS)}/${MARKER}`;
      const before = [...crashStates(new Map(), changes, "stop")].findLast(({ tree }) => !tree.has(last));
      const cut = before?.tree ?? new Map();
      const stages = [...trees].flatMap(([step, tree]): Stage[] =>
        step === STEPS ? [] : [{ step, tree, prepares: step === 0, runs: true }],
      );
      const step = STEPS - 2;
      const preparing = await this.#preparing(cut);
      return {
        ...{ changes, reported, at, end, cut, preparing },
        stages: [...stages, { step, tree: cut, prepares: true, runs: false }],
      };
    } finally {
      this.run.watch = nothing;
      opened.close();
    }
  }

  /** Changes before the first step of a resumed run. */
  async #preparing(tree: Tree): Promise<readonly Change[]> {
    const changes: Change[] = [];
    let count = 0;
    const opened = this.#files.open(tree, { call: nothing, change: (change) => void changes.push(change) });
    this.run.watch = (event) => {
      if (event.type !== "state" || event.state !== "running") return;
      count = changes.length;
      this.run.session.trainer?.control.stop();
    };
    try {
      await (await this.run.resume(opened.store)).done;
      return changes.slice(0, count);
    } finally {
      opened.close();
    }
  }

  /** Points of a kind, in order; `only` chooses some of them by their number. */
  async *points(kind: Kind, only: (n: number) => boolean = () => true): AsyncGenerator<Point> {
    const { changes, reported, cut, preparing, stages } = await this.whole;
    const point = (n: number, what: string, differences: readonly string[]): Point => ({
      ...{ where: this.#where, kind, n, what, differences },
    });
    let n = 0;
    if (isCrash(kind)) {
      for (const { at, what, tree } of crashStates(new Map(), changes, kind)) {
        if (!only(n++)) continue;
        const least = [...reported].findLast(([, before]) => before <= at)?.[0] ?? 0;
        yield point(n - 1, what, await this.#revived(tree, least));
      }
      for (const { what, tree } of crashStates(cut, preparing, kind)) {
        if (!only(n++)) continue;
        yield point(n - 1, `in a resume: ${what}`, await this.#revived(tree, STEPS - 2));
      }
      return;
    }
    for (const stage of stages) {
      if (kind === "full") {
        const first = n;
        for (const [what, differences] of await this.#refilled(stage, (at) => only(first + at))) {
          if (only(n++)) yield point(n - 1, what, differences);
        }
        continue;
      }
      for (const [call, what] of (await this.#calls(stage, kind)).entries()) {
        if (!only(n++)) continue;
        yield point(n - 1, what, await this.#failed(stage, kind, call));
      }
    }
  }

  #begun(opened: Opened, { step }: Stage): Promise<StartedRun> {
    return step === 0 ? this.run.start(opened.store) : this.run.resume(opened.store);
  }

  /** The calls of the store in a stage that such a failure refuses: the first call to the file system of each. */
  async #calls(stage: Stage, kind: Failure): Promise<string[]> {
    const calls: string[] = [];
    const opened = this.#counted(stage, kind, (what) => {
      if (what !== "") calls.push(what);
    });
    let count: number | undefined;
    this.run.watch = (event) => {
      if (!this.#over(stage, event)) return;
      count ??= calls.length;
      this.run.session.trainer?.control.stop();
    };
    try {
      await (await this.#begun(opened, stage)).done;
      return calls.slice(0, count);
    } finally {
      opened.close();
    }
  }

  /** Whether a stage ends with an event: where the next one begins. */
  #over({ step, runs }: Stage, event: TrainerEvent): boolean {
    if (!runs) return event.type === "state" && event.state === "running";
    return event.type === "checkpoint" && event.step > step && event.step < STEPS;
  }

  /** A store of a stage; `counted` is told the first refusable call to the file system in each call of the store that counts. */
  #counted(stage: Stage, kind: Failure, counted: (what: string) => void): Opened {
    let current = "";
    let counts = stage.prepares;
    const opened = this.#files.open(stage.tree, {
      call: (_name, _path, need) => {
        if (this.run.session.trainer?.control.state === "running") counts = stage.runs;
        if (!counts || !refuses(kind, need)) return;
        const what = current;
        current = "";
        counted(what);
      },
      change: nothing,
    });
    const store = told(opened.store, (what) => {
      current = `${what} after step ${stage.step}`;
    });
    return { ...opened, store };
  }

  /** Lets the n-th call of a stage fail, and all later ones; then removes the cause and continues. */
  async #failed(stage: Stage, kind: Failure, n: number): Promise<string[]> {
    let [count, broken, ended] = [0, false, false];
    const opened = this.#counted(stage, kind, (what) => {
      if (ended) return;
      if (what !== "" && count++ === n) broken = true;
      if (broken) throw this.#files.error(kind);
    });
    const problems: string[] = [];
    this.run.watch = (event) => {
      // Where the failure was not noticed, the next stage would not end.
      if (broken && this.#over(stage, event)) this.run.session.trainer?.control.stop();
    };
    try {
      const started = await this.#begun(opened, stage);
      await started.done;
      problems.push(broken ? "the failure was not reported" : "it ended before this call");
    } catch (thrown) {
      ended = true;
      problems.push(...sentence(kind, thrown, opened.tree()));
    } finally {
      this.run.watch = nothing;
    }
    ended = true;
    const left = opened.tree();
    opened.close();
    return [...problems, ...(await this.#revived(left, stage.step))];
  }

  /**
   * Fills the storage at one call to the file system after another: each repetition of a call of the store gets one
   * call further than the one before, after the run has waited and there is room again.
   */
  async #refilled(
    stage: Stage,
    only: (n: number) => boolean,
  ): Promise<readonly (readonly [string, readonly string[]])[]> {
    const { at, end } = await this.whole;
    const points: [string, string[]][] = [];
    /** Calls to the file system that failed before, by call of the store. */
    const done = new Map<string, number>();
    let [current, seen, full, step, tree] = ["", 0, false, stage.step, stage.tree];
    let [counts, over] = [stage.prepares, false];
    const problem = (text: string): void => void points.at(-1)?.[1].push(text);
    for (let left = 1000; left > 0; left--) {
      const files = this.#files.open(tree, {
        call: (name, path, need) => {
          if (this.run.session.trainer?.control.state === "running") counts = stage.runs;
          if (over || !counts || !refuses("full", need)) return;
          if (!full) {
            if (seen++ < (done.get(current) ?? 0)) return;
            done.set(current, seen);
            points.push([`${name} ${path} after step ${step}`, []]);
            if (!only(points.length - 1)) return;
            full = true;
          }
          throw this.#files.error("full");
        },
        change: nothing,
      });
      const store = told(files.store, (what) => {
        [current, seen] = [`${step} ${what}`, 0];
      });
      let [same, begun] = [true, false];
      this.run.watch = (event) => {
        const { trainer } = this.run.session;
        if (event.type === "step") step = event.step;
        if (event.type === "held") {
          const { code, message } = event.error;
          for (const text of sentence("full", new LabError(code, message), files.tree())) problem(text);
          if (!message.endsWith("; free up space, then continue")) problem(`it says "${message}"`);
        }
        if (event.type === "state" && event.state === "paused") {
          full = false;
          setTimeout(() => trainer?.control.play());
        }
        if (event.type === "checkpoint") {
          for (const text of compared(at.get(event.step) as Described, described(files.tree(), ID))) {
            same = false;
            problem(text);
          }
        }
        over ||= !same || this.#over(stage, event);
        if (over) trainer?.control.stop();
      };
      try {
        const started = await this.#begun({ ...files, store }, stage);
        begun = true;
        const ended = await started.done;
        if (full) problem("the failure was not reported");
        if (ended === "finished") for (const text of compared(end, described(files.tree(), ID))) problem(text);
        if (same) return points;
        [tree, full, over] = [stage.tree, false, false];
      } catch (thrown) {
        full = false;
        for (const text of sentence("full", thrown, files.tree())) problem(text);
        if (begun) problem("it did not wait for room");
        for (const text of await this.#revived(files.tree(), stage.step)) problem(text);
        [tree, step, counts, over] = [stage.tree, stage.step, stage.prepares, false];
      } finally {
        this.run.watch = nothing;
        files.close();
      }
    }
    problem("it makes no progress");
    return points;
  }

  /**
   * Lists, opens and resumes what a crash left, or starts again where there is no checkpoint.
   * @param least step from which it must continue at least
   * @returns the differences from the undisturbed run
   */
  async #revived(tree: Tree, least: number): Promise<string[]> {
    const { at, end } = await this.whole;
    const opened = this.#files.open(tree);
    const problems: string[] = [];
    let begun: string | undefined;
    this.run.watch = (event) => {
      const { trainer } = this.run.session;
      if (event.type === "state" && event.state === "running" && begun === undefined) {
        begun = key(described(opened.tree(), ID));
        if (this.#known.has(begun)) trainer?.control.stop();
      }
      if (event.type === "checkpoint") {
        problems.push(...compared(at.get(event.step) as Described, described(opened.tree(), ID)));
        trainer?.control.stop();
      }
    };
    try {
      problems.push(...(await listed(opened)));
      const started = await this.#again(opened, least, problems);
      if ((await started.done) === "finished") problems.push(...compared(end, described(opened.tree(), ID)));
      if (problems.length === 0 && begun !== undefined) this.#known.add(begun);
    } catch (thrown) {
      problems.push(`it ended with "${String(thrown instanceof Error ? thrown.message : thrown)}"`);
    } finally {
      this.run.watch = nothing;
      opened.close();
    }
    return problems;
  }

  /** Resumes, or deletes what is there and starts where nothing can be resumed. */
  async #again(opened: Opened, least: number, problems: string[]): Promise<StartedRun> {
    try {
      const started = await this.run.resume(opened.store);
      if (started.resumedAt < least) problems.push(`it continues from step ${started.resumedAt}, not ${least}`);
      return started;
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      const none = /^Run ".*" (?:is not stored here: |has no complete checkpoint to resume from$)/;
      if (least > 0 || !none.test(thrown.message)) problems.push(`it refused to resume: "${thrown.message}"`);
    }
    await runLibrary(opened.store, null).remove(ID);
    for (const path of described(opened.tree(), ID).keys()) problems.push(`${path} is left after a removal`);
    return this.run.start(opened.store);
  }
}

/** The store, each of whose calls is told before it begins. */
function told(store: RunStore, tell: (what: string) => void): RunStore {
  const entries = Object.entries(store).map(([name, value]): [string, unknown] => {
    if (typeof value !== "function") return [name, value];
    return [
      name,
      (...args: unknown[]) => {
        tell(`${name} ${typeof args[0] === "string" ? args[0] : ""}`);
        return (value as (...given: unknown[]) => unknown)(...args);
      },
    ];
  });
  return Object.fromEntries(entries) as unknown as RunStore;
}

/** Problems of the list of runs: it must name every folder, and open every run. */
export async function listed({ store, tree }: Opened): Promise<string[]> {
  const library = runLibrary(store, null);
  const { runs, damaged } = await library.list();
  const names = [...runs.map(({ manifest }) => manifest.id), ...damaged].sort();
  // A folder that holds nothing but a lock and unfinished files is not a run.
  const files = [...tree()].flatMap(([path, bytes]) => (bytes === null ? [] : [path]));
  const stored = files.filter((path) => !/^\.|^%2E|\/\.lock|\.unfinished~$|\.%(?:new|ready)$/.test(path));
  const wanted = [...new Set(stored.map((path) => path.split("/")[0] as string))].sort();
  const problems = names.join() === wanted.join() ? [] : [`the list names ${names.join() || "nothing"}`];
  for (const { manifest } of runs) await library.open(manifest.id);
  return problems;
}

/** Problems of the sentence of a failure: its code, its cause, and what it says is kept. */
export function sentence(kind: Failure, thrown: unknown, tree: Tree): string[] {
  if (!(thrown instanceof LabError)) return [`it ended with the raw error "${String(thrown)}"`];
  const { code, message } = thrown;
  const problems: string[] = [];
  if (code !== "storage") problems.push(`its error has the code ${code}: "${message}"`);
  if (!causeIn(kind, message)) problems.push(`it does not name its cause: "${message}"`);
  if (message.length > LONGEST_SENTENCE) problems.push(`it is too long: "${message}"`);
  const kept = [...tree.keys()].flatMap((path) => {
    const [, name] = new RegExp(`^${ID}/checkpoints/([^/]+)/${MARKER}$`).exec(path) ?? [];
    return name === undefined ? [] : [stepFromName(name)];
  });
  const said = /the checkpoint of step (\d+) is kept/.exec(message)?.[1];
  if (said !== undefined && !kept.includes(Number(said))) problems.push(`there is no checkpoint ${said}: "${message}"`);
  if (/has no checkpoint yet/.test(message) && kept.length > 0) problems.push(`there is a checkpoint: "${message}"`);
  return problems;
}
