/** The page's clients without a page: its workers are stand-ins in the same process, its address is a variable. */
import { afterAll, vi } from "vitest";
import type { StoreApi } from "zustand/vanilla";
import { startLab } from "../../../src/app/clients/lab.ts";
import { useRun } from "../../../src/app/stores/run/run.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { BenchCalls } from "../../../src/plugins/reward-bench/bench-calls.ts";
import { useBench } from "../../../src/plugins/reward-bench/bench-store.ts";
import type { RolloutCalls } from "../../../src/plugins/reward-bench/rollout-calls.ts";
import type { EvaluationCalls } from "../../../src/plugins/run-details/evaluation-calls.ts";
import type { ReportCalls } from "../../../src/plugins/suites/report-calls.ts";
import type { SuiteCalls } from "../../../src/plugins/suites/suite-calls.ts";
import { type Calls, connect, type Handlers, type Tells } from "../../../src/protocol/rpc.ts";
import type { TrainerHost } from "../../../src/protocol/trainer.ts";
import type { DataCalls } from "../../../workers/data.ts";
import type { RewardCalls } from "../../../workers/reward.ts";
import type { TrainerCalls } from "../../../workers/trainer.ts";

type Some<M> = Partial<Handlers<Calls<M>>>;

/** What the stand-ins answer; any other call of the page is rejected. */
export interface StandIns {
  readonly data?: Some<DataCalls & RolloutCalls & SuiteCalls>;
  readonly trainer?: Some<TrainerCalls & BenchCalls & EvaluationCalls>;
  readonly reward?: Some<RewardCalls & ReportCalls>;
}

/** Work that ends when it is stopped. */
export function untilStopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new LabError("cancelled", "stopped")));
  });
}

/** An address that is set and read, without history. */
export function fakeAddress(hash = ""): void {
  const replaceState = (_state: unknown, _title: string, url?: string): void => {
    if (url !== undefined) location.hash = url;
  };
  vi.stubGlobal("location", { hash });
  vi.stubGlobal("history", { state: null, replaceState, pushState: replaceState });
  vi.stubGlobal("window", new EventTarget());
  afterAll(() => void vi.unstubAllGlobals());
}

function reset<T>(store: StoreApi<T>): void {
  store.setState(store.getInitialState(), true);
}

/** Other files share the stores. */
function resetStores(): void {
  reset(useBench);
  reset(useRun);
  reset(useSession);
}

/** Starts the clients, until the end of the file. @returns the messages that the trainer sends by itself */
export function openFakeLab({ data, trainer, reward }: StandIns): Tells<TrainerHost> {
  const none = (): void => undefined;
  const handlers: Readonly<Record<string, object>> = {
    data: { serveRows: none, ...data },
    trainer: { start: none, ...trainer },
    reward: { serveTrainer: none, allow: none, ...reward },
  };
  const open = new Map<string, MessageChannel>();
  const told = new Map<string, Tells<TrainerHost>>();
  vi.stubGlobal("Worker", function worker(_: URL, { name }: { readonly name: string }) {
    const channel = new MessageChannel();
    open.set(name, channel);
    told.set(name, connect<TrainerHost>(channel.port2, handlers[name] as Handlers<unknown>).tell);
    return channel.port1;
  });
  vi.stubGlobal("document", { baseURI: "http://localhost/", querySelectorAll: () => [] });
  fakeAddress();
  resetStores();
  startLab();
  afterAll(() => {
    for (const { port1 } of open.values()) port1.close();
    resetStores();
  });
  return told.get("trainer") as Tells<TrainerHost>;
}
