/**
 * Measures which form of products and attention is fastest on this machine's adapter, and writes the table.
 *
 *   npm run tune -- [--shards DIR…] [--model DIR] [--preset NAME] [--config FILE [--skip-unknown]] [--set NAME=VALUE]… [--start FILE]
 *                   [--buckets N] [--compare ROUNDS] [--processor-time] [--card-forms] --out FILE
 *
 * Uses the shapes of one step of a run with these settings; the step is not stored. --start measures only what that
 * table lacks, and continues a table that Ctrl+C interrupted; --buckets measures only the N buckets with the most
 * arithmetic. --compare then runs that many pairs of steps, with the table and with the built-in forms in turn, and
 * prints the ratio of their medians. --processor-time measures processor time, for a software adapter on a busy
 * machine. --card-forms starts from the built-in forms of a card, whatever the adapter. `npm run train -- --tuned FILE`
 * and System → Import read the table.
 */

import { writeFileSync } from "node:fs";
import { nodeClock } from "../bench/tool/node-place.ts";
import { median } from "../src/engine/bytes/collections.ts";
import { badInput } from "../src/engine/errors.ts";
import { formTable, seenShapes, setFormTable } from "../src/engine/gpu/forms/active.ts";
import { setAdapterKind } from "../src/engine/gpu/runtime/custom-op.ts";
import { storageChoice } from "../src/engine/loading/storage-settings.ts";
import { tableText } from "../src/engine/tuning/table.ts";
import { ratioOf } from "../src/plugins/tuner/choose.ts";
import { peakRates } from "../src/plugins/tuner/peak.ts";
import { tuneKernels } from "../src/plugins/tuner/tuner.ts";
import { one, parseArguments, requireWritable, runTool, whole } from "./lib/arguments.ts";
import { localCheckpoint } from "./lib/checkpoint-source.ts";
import { readTextFile } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { openNodeRows, presetModel } from "./lib/node/node-rows.ts";
import { nodeSession } from "./lib/node/node-session.ts";
import { chosenSettings, SETTINGS_OPTIONS } from "./lib/settings-flags.ts";
import { onStopSignal } from "./lib/stop-signal.ts";

const OPTIONS = {
  ...SETTINGS_OPTIONS,
  shards: { takes: "many" },
  model: { takes: 1 },
  start: { takes: 1 },
  buckets: { takes: 1 },
  compare: { takes: 1 },
  "processor-time": { takes: 0 },
  "card-forms": { takes: 0 },
  out: { takes: 1 },
} as const;

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const out = one(parsed, "out");
  if (out === undefined) throw badInput("--out FILE is needed", "out");
  requireWritable(out);
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const { config: given, preset } = chosenSettings(parsed, [], say);
  const rounds = whole(parsed, "compare", 0, 10_000, 0);
  const most = whole(parsed, "buckets", 1, 10_000, 10_000);
  const clock = nodeClock(parsed.has("processor-time"));
  const seconds = (): number => (clock() as number) / 1000;
  const { rows, list } = await openNodeRows(parsed.get("shards"));
  const device = await openNodeDevice();
  if (parsed.has("card-forms")) setAdapterKind(false);
  say(device.report.description || device.report.vendor);
  let onStep = (_step: number): boolean => false;
  const session = await nodeSession(device, {
    rows,
    emit(event) {
      if (event.type === "step" && !onStep(event.step)) session.trainer?.control.stop();
    },
  });
  const run = async (steps: number): Promise<void> => {
    const settings = { ...given, steps, saveSteps: 0, evalSteps: 0 };
    await (await session.start({ settings, list, title: "tune", created: new Date().toISOString() })).done;
  };
  try {
    const source = await localCheckpoint(one(parsed, "model") ?? presetModel(preset));
    await session.openModel(source.folder, source.name, { choice: storageChoice(given) });
    const start = one(parsed, "start");
    if (start !== undefined) await session.forms.take(readTextFile(start), start);
    await run(1);
    say(`${seenShapes().length} buckets`);
    const peak = async (): Promise<number> => (await peakRates(clock)).f32;
    const stop = new AbortController();
    const leave = onStopSignal(() => stop.abort());
    try {
      await tuneKernels(session, false, {
        peak,
        now: seconds,
        stamps: !parsed.has("processor-time"),
        most,
        signal: stop.signal,
        onBucket: (done, total, bucket) => say(`${done + 1} of ${total}: ${bucket}`),
      });
    } finally {
      leave();
      writeFileSync(out, tableText(await session.forms.table()));
    }
    const table = await session.forms.table();
    for (const { bucket, form, reference, ratio } of table.entries) {
      const gain = form === reference ? "" : ` ${ratio.toFixed(2)} of the time of ${reference}`;
      process.stdout.write(`${bucket}: ${form}${gain}\n`);
    }
    if (rounds > 0) {
      const { tuned, builtIn } = await compare(rounds, run, seconds, (next) => {
        onStep = next;
      });
      const [own, other] = [median(tuned), median(builtIn)];
      process.stdout.write(
        `step: ${own.toFixed(3)} s tuned, ${other.toFixed(3)} s built-in, ratio of medians ${(own / other).toFixed(3)}, ` +
          `median of ratios ${ratioOf(tuned, builtIn).toFixed(3)} over ${tuned.length} pairs\n`,
      );
    }
  } finally {
    session.dispose();
    device.close();
  }
  return 0;
});

/**
 * Seconds of steps with the table and with the built-in forms, in turn; the first of each compiles and does not count.
 */
async function compare(
  rounds: number,
  run: (steps: number) => Promise<void>,
  seconds: () => number,
  watch: (onStep: (step: number) => boolean) => void,
): Promise<{ readonly tuned: number[]; readonly builtIn: number[] }> {
  const [tuned, builtIn]: [number[], number[]] = [[], []];
  const table = formTable();
  let began = seconds();
  watch((step) => {
    const now = seconds();
    if (step > 2) (step % 2 === 1 ? tuned : builtIn).push(now - began);
    setFormTable(step % 2 === 1 ? new Map() : table);
    began = seconds();
    return true;
  });
  await run(2 * (rounds + 1));
  return { tuned, builtIn };
}
