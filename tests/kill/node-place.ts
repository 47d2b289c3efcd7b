/** Runs of `npm run train`, killed in the middle of a change to their folder: any change, any share of its bytes. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../scripts/lib/ensure.mjs";
import { bundledTool } from "../support/tools.ts";
import { type Life, type Place, type Run, SETTINGS } from "./place.ts";

const HOOK = pathToFileURL(join(root, "tests", "kill", "hook.mjs")).href;
const COUNT = "changes";

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly said: string;
}

async function train(words: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended> {
  const script = await bundledTool("train");
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", HOOK, script, ...words], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (text: Buffer) => {
      said += text;
    });
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ code, signal, said }));
  });
}

/** Folders with a run.json: none, or one. */
function runIn(out: string): string | null {
  const found = readdirSync(out, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return found.find(({ name }) => readdirSync(join(out, name)).includes("run.json"))?.name ?? null;
}

/** A run killed before its first checkpoint cannot be resumed, and says so. */
const NOTHING_YET = /has no complete checkpoint/;

/** @param parent where the folders of runs are made @param model folder of the model; the pocket model when absent */
export function nodePlace(parent = tmpdir(), model?: string): Place {
  /** Changes of an undisturbed run. */
  let changes = 0;
  const folders: string[] = [];
  const open = async (): Promise<Run> => {
    const home = mkdtempSync(join(parent, "lab-kill-"));
    folders.push(home);
    const [out, count] = [join(home, "runs"), join(home, COUNT)];
    const cheap = join(root, "tests", "fixtures", "page", "cheap.json");
    const sets = Object.entries(SETTINGS).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
    const fresh = ["--config", cheap, ...sets, "--eval-steps", "0"];
    const always = [...(model === undefined ? [] : ["--model", model]), "--out", out];
    const started = (): string | null => {
      try {
        return runIn(out);
      } catch {
        // Not even the folder was made.
        return null;
      }
    };
    const live = async (moment: number | null, share: number): Promise<Life> => {
      const at = moment === null ? -1 : Math.floor(moment * changes);
      const env = { KILL_BELOW: out, KILL_AT: String(at), KILL_SHARE: String(share), KILL_COUNT: count };
      const run = started();
      const { code, signal, said } = await train([...(run === null ? fresh : ["--resume", run]), ...always], env);
      if (signal === "SIGKILL") return { killed: `change ${at} of ${changes}, ${(100 * share).toFixed(0)} % of it` };
      if (run !== null && NOTHING_YET.test(said)) {
        rmSync(join(out, run), { recursive: true });
        return live(moment, share);
      }
      if (code !== 0) throw new Error(`The tool ended with code ${code}: ${said.trim().split("\n").at(-1)}`);
      changes = Math.max(changes, Number(readFileSync(count, "utf8")));
      return { killed: null };
    };
    return {
      live,
      async files() {
        const run = started();
        if (run === null) return new Map();
        const folder = join(out, run);
        const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
        return new Map(
          entries.map((entry) => {
            const path = join(entry.parentPath, entry.name);
            return [path.slice(folder.length + 1).replaceAll(sep, "/"), new Uint8Array(readFileSync(path))] as const;
          }),
        );
      },
      close: async () => rmSync(home, { recursive: true, force: true }),
    };
  };
  return {
    open,
    close: async () => {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}
