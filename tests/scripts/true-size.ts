/**
 * npx tsx tests/scripts/true-size.ts [--size NAME] [--folder DIR] [--make] [--keep] [--memory GB] [--storage f32|f16|q8|q4]
 *                                    [--where page|node] [--until ready|answers] [--without-answers]
 *
 * Makes a folder like a download of a published checkpoint (its names, shapes, element types and tokenizer, random
 * weights; 4 GB for 1B), drops it on the built page in headless Chromium, describes a region, segments a phrase, cancels
 * another question, takes four steps of both loops with small settings, between which it stops and reloads, kills the tab's
 * process and closes the tab, and resumes each time; prints a table of the time and memory of every process. --without-answers starts the run at once; --until ends the walk once the model is ready, or once it has answered. --where node
 * opens the folder under Node instead, describes the region and segments the phrase; the third column is then the process.
 * --folder (out/true-size-SIZE) is made where it is missing and deleted at the end without --keep; --make only makes it.
 * --size is small, 1B, 4B or a release on Qwen-VL such as qwen3-vl-2b. --memory is the memory of the GPU as a person enters
 * it. The page's adapter is Chromium's SwiftShader; LAB_VK=lavapipe takes lavapipe in its place, which is several times as
 * fast. 1B needs 12 GB of memory and, with lavapipe, about half an hour.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writePublished } from "../../bench/made-up/published.ts";
import { QWEN_RELEASES } from "../../bench/made-up/qwen.ts";
import { lavapipeLibrary } from "../../bench/tool/chromium-place.ts";
import { one, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { badInput } from "../../src/engine/errors.ts";
import { walkInNode } from "../support/true-node.ts";
import { WALK_ENDS, type WalkPart, walkTrueSize } from "../support/true-walk.ts";

const OPTIONS = {
  size: { takes: 1 },
  folder: { takes: 1 },
  make: { takes: 0 },
  keep: { takes: 0 },
  memory: { takes: 1 },
  storage: { takes: 1 },
  where: { takes: 1 },
  until: { takes: 1 },
  "without-answers": { takes: 0 },
} as const;
const SIZES = ["small", "1B", "4B", ...QWEN_RELEASES] as const;
/** Most milliseconds of a part. */
const WAIT = 3 * 3_600_000;

function line({ what, seconds, megabytes, said = "" }: WalkPart): string {
  const { node = 0, renderer = node, GPU = 0, ...others } = megabytes;
  const rest = Math.max(0, ...Object.values(others));
  return `| ${[what, seconds.toFixed(1), renderer, GPU, rest, said].join(" | ")} |\n`;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const size = SIZES.find((name) => name === (one(parsed, "size") ?? "1B"));
  if (size === undefined) throw badInput(`--size is ${SIZES.join(", ")}, not "${one(parsed, "size")}"`);
  const folder = one(parsed, "folder") ?? join("out", `true-size-${size}`);
  const print = (text: string): void => void process.stdout.write(text);
  try {
    if (!existsSync(join(folder, "config.json"))) {
      const { parameters, bytes } = writePublished(folder, size);
      print(`${parameters} parameters, ${bytes} bytes in ${folder}\n`);
    }
    if (parsed.has("make")) return 0;
    const storage = one(parsed, "storage") ?? "f16";
    const where = one(parsed, "where") ?? "page";
    if (where !== "page" && where !== "node") throw badInput(`--where is page or node, not "${where}"`);
    const stored = {
      weightStorage: storage,
      towerStorage: storage === "f32" || storage === "f16" ? "same" : "f16",
    };
    print("\n| part | seconds | renderer or Node, MB | GPU process, MB | largest other, MB | what the page says |\n");
    print("| --- | ---: | ---: | ---: | ---: | --- |\n");
    const onPart = (part: WalkPart): void => print(line(part));
    const until = WALK_ENDS.find((name) => name === one(parsed, "until"));
    if (parsed.has("until") && until === undefined) throw badInput(`--until is ${WALK_ENDS.join(" or ")}`);
    if (where === "node") {
      const { weights, peak } = await walkInNode({ folder, settings: stored, until, onPart });
      print(`\nweights ${JSON.stringify(weights)}, at most ${JSON.stringify(peak)} bytes of buffers\n`);
      return weights.held <= weights.forecast && peak.allocated <= peak.planned ? 0 : 1;
    }
    const { consoleErrors, answers, run } = await walkTrueSize({
      folder,
      wait: WAIT,
      until,
      withoutAnswers: parsed.has("without-answers"),
      settings: { ...stored, gpuMemory: String(whole(parsed, "memory", 0, 1000, 0)) },
      env: process.env.LAB_VK === "lavapipe" ? { LD_PRELOAD: lavapipeLibrary() } : {},
      onPart,
    });
    if (answers !== undefined) {
      const { caption, masks, cancelSeconds } = answers;
      print(`\n"${caption}"; ${masks} mask; cancelled after ${cancelSeconds.toFixed(1)} s\n`);
    }
    if (run !== undefined) print(`Left at steps ${run.leftAt.join()}, resumed from steps ${run.resumedAt.join()}\n`);
    for (const error of consoleErrors) print(`console: ${error}\n`);
    return run?.resumedAt.join() === run?.leftAt.join() && consoleErrors.length === 0 ? 0 : 1;
  } finally {
    if (!parsed.has("keep") && !parsed.has("make")) rmSync(folder, { recursive: true, force: true });
  }
});
