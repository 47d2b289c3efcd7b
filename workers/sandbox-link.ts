/** A sandbox in a nested worker, and a timer for its watchdog. */
import type { SandboxReply } from "../src/engine/rewards/user/protocol.ts";
import type { SandboxLink, Watch } from "../src/engine/rewards/user/watched.ts";

export function openSandbox(): SandboxLink {
  const worker = new Worker(new URL("./sandbox.ts", import.meta.url), { type: "module", name: "sandbox" });
  return {
    send: (request) => worker.postMessage(request),
    listen(reply, failed) {
      worker.onmessage = ({ data }: MessageEvent<SandboxReply>) => reply(data);
      worker.onerror = (event) => {
        event.preventDefault();
        failed(event.message || "its script could not be loaded");
      };
    },
    end: () => worker.terminate(),
  };
}

export const watch: Watch = {
  set(callback, milliseconds) {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};
