/** Makes the three workers and lays the lines between them. */
import type { WireError } from "../../protocol/common.ts";
import type { ToData } from "../../protocol/data.ts";
import type { ToReward } from "../../protocol/reward.ts";
import type { ToTrainer } from "../../protocol/trainer.ts";

export type WorkerName = "data" | "trainer" | "reward";

export interface Workers {
  readonly data: Worker;
  readonly trainer: Worker;
  readonly reward: Worker;
}

/** @param onFailure called when a worker throws outside any request, or for good when its script cannot be loaded */
export function createWorkers(
  wordnetUrl: string,
  onFailure: (name: WorkerName, error: WireError, forGood: boolean) => void,
): Workers {
  const workers: Workers = {
    data: new Worker(new URL("../../../workers/data.ts", import.meta.url), { type: "module", name: "data" }),
    trainer: new Worker(new URL("../../../workers/trainer.ts", import.meta.url), { type: "module", name: "trainer" }),
    reward: new Worker(new URL("../../../workers/reward.ts", import.meta.url), { type: "module", name: "reward" }),
  };
  for (const name of ["data", "trainer", "reward"] as const) {
    workers[name].addEventListener("error", (event) => {
      const place = event.filename ? ` (${event.filename.split("/").pop()}:${event.lineno})` : "";
      const cause = event.message || "its script could not be loaded";
      const error: WireError = {
        code: "internal",
        message: `The ${name} worker failed: ${cause}${place}. Stored runs are kept; reload the page to continue`,
        subject: name,
      };
      // Without a message the script itself never ran.
      onFailure(name, error, !event.message);
    });
    workers[name].addEventListener("messageerror", () => {
      const message = `A message of the ${name} worker could not be read`;
      onFailure(name, { code: "internal", message, subject: name }, false);
    });
  }

  const samples = new MessageChannel();
  const scores = new MessageChannel();
  send<ToTrainer>(workers.trainer, { type: "connect", data: samples.port1, reward: scores.port1 }, [
    samples.port1,
    scores.port1,
  ]);
  send<ToData>(workers.data, { type: "trainer-port", port: samples.port2 }, [samples.port2]);
  send<ToReward>(workers.reward, { type: "connect", port: scores.port2, wordnetUrl }, [scores.port2]);
  return workers;
}

function send<M>(worker: Worker, message: M, transfer: Transferable[]): void {
  worker.postMessage(message, transfer);
}
