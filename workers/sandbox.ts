/** Runs custom rewards in an interpreter; the worker can be terminated at any time. */
import wasmLocation from "@jitl/quickjs-wasmfile-release-sync/wasm?url";
import { loadInterpreter } from "../src/engine/rewards/user/interpreter.ts";
import type { SandboxReply, SandboxRequest } from "../src/engine/rewards/user/protocol.ts";

/** Ways out of this worker. The interpreter exposes none of them; this removes them from the worker too. */
const WAYS_OUT = [
  "fetch",
  "XMLHttpRequest",
  "WebSocket",
  "WebTransport",
  "EventSource",
  "importScripts",
  "Worker",
  "BroadcastChannel",
  "indexedDB",
  "caches",
] as const;

const tell = (reply: SandboxReply): void => self.postMessage(reply);

async function prepare() {
  const interpreter = await loadInterpreter(() => performance.now(), wasmLocation);
  for (const name of WAYS_OUT) Object.defineProperty(globalThis, name, { value: undefined });
  return interpreter;
}

const ready = prepare();

self.onmessage = ({ data }: MessageEvent<SandboxRequest>) => {
  ready.then(
    (interpreter) => tell(interpreter.run(data, tell)),
    (thrown: unknown) => {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      tell({ type: "stopped", request: data.request, kind: "broken", did: `has no sandbox (${cause})`, index: null });
    },
  );
};
