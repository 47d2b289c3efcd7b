/** The sandbox of custom rewards as a Node thread; the page's version is workers/sandbox.ts. */
import { parentPort } from "node:worker_threads";
import { loadInterpreter } from "../../../src/engine/rewards/user/interpreter.ts";
import type { SandboxReply, SandboxRequest } from "../../../src/engine/rewards/user/protocol.ts";

const tell = (reply: SandboxReply): void => parentPort?.postMessage(reply);
const ready = loadInterpreter(() => performance.now());

parentPort?.on("message", (request: SandboxRequest) => {
  ready.then(
    (interpreter) => tell(interpreter.run(request, tell)),
    (thrown: unknown) => {
      const cause = thrown instanceof Error ? thrown.message : String(thrown);
      tell({
        type: "stopped",
        request: request.request,
        kind: "broken",
        did: `has no sandbox (${cause})`,
        index: null,
      });
    },
  );
});
