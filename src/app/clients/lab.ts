/** The page's lab: its workers, the calls to them, and the messages that they send on their own. */

import type { DataCalls } from "../../../workers/data.ts";
import type { RewardCalls } from "../../../workers/reward.ts";
import type { TrainerCalls } from "../../../workers/trainer.ts";
import { LabError } from "../../engine/errors.ts";
import { heldText } from "../../engine/rl/run/events.ts";
import { type HeartbeatClock, heartbeat } from "../../protocol/heartbeat.ts";
import type { RewardHost } from "../../protocol/reward.ts";
import { type Calls, type Connection, connect, type Handlers, toWire, type WireError } from "../../protocol/rpc.ts";
import type { TrainerHost, TrainerMessage } from "../../protocol/trainer.ts";
import { useConsent } from "../stores/consent.ts";
import { providePictures } from "../stores/picture-cache.ts";
import { applyEvent, useRun } from "../stores/run/run.ts";
import { addProblem, type ProblemCause, useSession } from "../stores/session.ts";
import { useTry } from "../stores/try-out.ts";
import { tellAgreed } from "./run/agreed.ts";

interface Lab {
  readonly data: Calls<DataCalls>;
  readonly trainer: Calls<TrainerCalls>;
  readonly reward: Calls<RewardCalls>;
}

/** The workers that a new trainer is connected with. */
interface Others {
  readonly data: Connection<DataCalls>;
  readonly reward: Connection<RewardCalls>;
}

let opened: Lab | null = null;

/** Calls to the workers; the page makes them before it draws anything. */
export function lab(): Lab {
  if (opened === null) throw new LabError("internal", "The workers were used before the page started them");
  return opened;
}

/** Calls that a plug-in serves on a worker. @typeParam Served its interface of them */
export function pluginCalls<Served>(worker: keyof Lab): Calls<Served> {
  return lab()[worker] as unknown as Calls<Served>;
}

/** Lists the error of a promise as a problem; for actions that no code awaits. */
export function report(work: Promise<unknown>): void {
  work.catch((thrown: unknown) => {
    const error = toWire(thrown);
    const cause = causes.get(thrown as object);
    if (error.code !== "cancelled") addProblem(cause === undefined ? error : { ...error, cause });
  });
}

const causes = new WeakMap<object, ProblemCause>();

/** Does work whose error goes from the list of problems when its cause goes; the innermost cause counts. */
export async function about<T>(cause: ProblemCause, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Error && !causes.has(thrown)) causes.set(thrown, cause);
    throw thrown;
  }
}

/** Absolute address of a file that is served with the page. */
export function builtIn(path: string): string {
  return new URL(path, document.baseURI).href;
}

/** Starts the workers; called once. */
export function startLab(): void {
  // Each constructor is written out, because the bundler finds workers by it.
  const data = connectTo<DataCalls>(
    "data",
    new Worker(new URL("../../../workers/data.ts", import.meta.url), { type: "module", name: "data" }),
    {},
  );
  const reward = connectTo<RewardCalls, RewardHost>(
    "reward",
    new Worker(new URL("../../../workers/reward.ts", import.meta.url), { type: "module", name: "reward" }),
    rewardHost,
  );
  others = { data, reward };
  opened = { data: data.call, trainer: startTrainer(others), reward: reward.call };
  const { allow } = reward.call;
  report(tellAgreed(allow));
  useConsent.subscribe((now, before) => {
    if (now.judges !== before.judges || now.rewards !== before.rewards) report(tellAgreed(allow));
  });
  providePictures(data.call.image);
}

let others: Others | null = null;
/** Ends the trainer that runs now; the argument is the error of its pending calls. */
let stopTrainer: (error: WireError) => void = () => undefined;

/** Starts a trainer and connects it with the other workers. */
function startTrainer({ data, reward }: Others): Calls<TrainerCalls> {
  const worker = new Worker(new URL("../../../workers/trainer.ts", import.meta.url), {
    type: "module",
    name: "trainer",
  });
  const connection = connectTo<TrainerCalls, TrainerHost>("trainer", worker, { event: hearTrainer }, () => {
    stopWatch();
    dropTrainer(true);
  });
  const stopWatch = heartbeat(connection.ping, (trainerSilent) => useSession.setState({ trainerSilent }), CLOCK);
  stopTrainer = (error) => {
    stopWatch();
    worker.terminate();
    connection.fail(error, true);
  };
  const [rows, scores] = [new MessageChannel(), new MessageChannel()];
  connection.tell.start(rows.port1, scores.port1);
  data.tell.serveRows(rows.port2);
  report(reward.call.serveTrainer(scores.port2, builtIn("wordnet/wordnet30.txt")));
  return connection.call;
}

const CLOCK: HeartbeatClock = {
  now: () => performance.now(),
  every: (milliseconds, tick) => {
    const timer = setInterval(tick, milliseconds);
    return () => clearInterval(timer);
  },
};

/** Its run, model and device went with the trainer. */
function dropTrainer(trainerEnded: boolean): void {
  useRun.setState(({ state }) => ({ state: state === "idle" ? state : "failed" }));
  useSession.setState({ trainerEnded, trainerSilent: null });
}

/**
 * Ends the trainer, also in the middle of a computation, which frees its device and its locks, and starts another one
 * without a model. Pending calls end with LabError("cancelled").
 */
export function replaceTrainer(): void {
  if (others === null) throw new LabError("internal", "The trainer was replaced before the page started it");
  stopTrainer({ code: "cancelled", message: "The trainer was ended; stored runs are kept", subject: "trainer" });
  dropTrainer(false);
  hearTrainer({ type: "model-closed" });
  useSession.setState({ gpu: null, gpuError: null });
  opened = { ...lab(), trainer: startTrainer(others) };
}

/**
 * @param onFailure called when the worker throws outside any call, or its script cannot be loaded. The worker is ended
 *   first, which releases its run and its device. Without `onFailure` the worker continues
 */
function connectTo<Theirs, Mine = unknown>(
  name: string,
  worker: Worker,
  handlers: Handlers<Mine>,
  onFailure?: () => void,
) {
  const connection = connect<Theirs, Mine>(worker, handlers);
  const failed = (message: string, forGood: boolean): void => {
    const error: WireError = { code: "internal", message, subject: name };
    connection.fail(error, forGood || onFailure !== undefined);
    if (onFailure !== undefined) {
      worker.terminate();
      onFailure();
    }
    addProblem(error);
  };
  worker.addEventListener("error", ({ filename, lineno, message }) => {
    const place = filename ? ` (${filename.split("/").pop()}:${lineno})` : "";
    const cause = message || "its script could not be loaded";
    // No message means that the script never ran.
    const remedy = onFailure === undefined || !message ? "reload the page" : "restart it";
    failed(`The ${name} worker failed: ${cause}${place}. Stored runs are kept; ${remedy} to continue`, !message);
  });
  worker.addEventListener("messageerror", () => failed(`A message of the ${name} worker could not be read`, false));
  return connection;
}

function hearTrainer(event: TrainerMessage): void {
  // Tools that drive the page follow the run by this event.
  window.dispatchEvent(new CustomEvent("lab:trainer", { detail: event }));
  switch (event.type) {
    case "gpu":
      useSession.setState({ gpu: event.report, gpuError: event.error });
      break;
    case "model-closed":
      useSession.setState({ model: null, plan: null });
      useTry.setState({ adapter: null, captioner: null });
      break;
    case "failed":
      addProblem({ ...event.error, cause: "training" });
      break;
    case "held":
      addProblem({ ...event.error, message: heldText(event), cause: "training" });
      break;
    case "checkpoint":
      keepStorage();
      applyEvent(event, Date.now());
      break;
    default:
      applyEvent(event, Date.now());
  }
}

const rewardHost: Handlers<RewardHost> = {
  problem: addProblem,
};

let storageAsked = false;

/** Asks the browser once not to clear checkpoints and stored conversions when disk space runs short. */
export function keepStorage(): void {
  if (storageAsked) return;
  storageAsked = true;
  report(navigator.storage.persist());
}
