/** The thread that reads: one input at a time, one verdict each. It may be stopped at any moment. */
import { parentPort } from "node:worker_threads";
import { LabError } from "../../src/engine/errors.ts";
import { type Files, faultOfSentence, Nonsense, type Target } from "./target.ts";
import { TARGETS, type TargetName } from "./targets/all.ts";

export interface Order {
  readonly target: TargetName;
  readonly files: Files;
}

/** The outcome of an input. The last four are faults. */
export type Verdict =
  | { readonly kind: "accepted" | "refused"; readonly said: string }
  | { readonly kind: "raw error" | "nonsense" | "hang" | "memory"; readonly said: string };

async function verdictOf(target: Target, files: Files): Promise<Verdict> {
  try {
    await target.read(files);
    return { kind: "accepted", said: "" };
  } catch (thrown) {
    if (thrown instanceof Nonsense) return { kind: "nonsense", said: thrown.message };
    const error = thrown as Error;
    if (!(thrown instanceof LabError) || thrown.code === "internal") {
      return { kind: "raw error", said: String(error?.stack ?? thrown).slice(0, 1500) };
    }
    const fault = faultOfSentence(error.message);
    if (fault !== undefined) return { kind: "nonsense", said: `The error's sentence ${fault}` };
    return { kind: "refused", said: error.message };
  }
}

parentPort?.on("message", ({ target, files }: Order) => {
  void TARGETS[target]()
    .then((loaded) => verdictOf(loaded, files))
    .then((verdict) => parentPort?.postMessage(verdict));
});
