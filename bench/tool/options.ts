/** The bench's command line. */

import { one, type Parsed, parseArguments, refuseIdle, whole } from "../../scripts/lib/arguments.ts";
import { badInput } from "../../src/engine/errors.ts";
import { SUITES, type Suite } from "../context.ts";
import type { Where } from "../row.ts";

const ALL = [...SUITES, "meteor", "memory"] as const;

export interface ToolOptions {
  readonly suite: (typeof ALL)[number];
  readonly where: Where;
  readonly rounds: number;
  /** Seconds for the suite. */
  readonly budget: number;
  /** Steps of the memory suite. */
  readonly steps: number;
  readonly only: string;
  readonly jax: boolean;
  readonly ort: boolean;
  /** Measures the programs for graphics cards, whatever the adapter. */
  readonly card: boolean;
  readonly processorTime: boolean;
  readonly json: boolean;
  readonly write: boolean;
}

/** Default seconds of a suite: enough for every case on an idle machine with llvmpipe. */
const BUDGETS: Readonly<Record<Suite, number>> = { kernels: 420, decode: 180, step: 360 };

export function isDeviceSuite(suite: string): suite is Suite {
  return (SUITES as readonly string[]).includes(suite);
}

const OPTIONS = {
  suite: { takes: 1 },
  where: { takes: 1 },
  chromium: { takes: 0 },
  rounds: { takes: 1 },
  budget: { takes: 1 },
  steps: { takes: 1 },
  only: { takes: 1 },
  "no-jax": { takes: 0 },
  "no-ort": { takes: 0 },
  card: { takes: 0 },
  "processor-time": { takes: 0 },
  json: { takes: 0 },
  write: { takes: 0 },
} as const;

const OF_DEVICES = [
  "where",
  "chromium",
  "budget",
  "only",
  "no-jax",
  "no-ort",
  "card",
  "processor-time",
  "write",
] as const;
/** Options that change nothing on a suite. */
const IDLE: Readonly<Record<ToolOptions["suite"], readonly (keyof typeof OPTIONS)[]>> = {
  kernels: ["steps"],
  decode: ["steps", "only", "no-jax", "no-ort"],
  step: ["steps", "no-ort", "card"],
  meteor: ["steps", ...OF_DEVICES],
  memory: ["rounds", ...OF_DEVICES],
};

/** @throws LabError("bad-input") with one sentence */
export function toolOptions(words: readonly string[]): ToolOptions {
  const parsed = parseArguments(words, OPTIONS);
  const suite = choice(parsed, "suite", ALL, "kernels");
  refuseIdle(parsed, IDLE[suite], `on suite ${suite}`);
  const where = choice(parsed, "where", ["node", "chromium"] as const, parsed.has("chromium") ? "chromium" : "node");
  const only = one(parsed, "only") ?? "";
  if (parsed.has("chromium") && where === "node") {
    throw badInput("--chromium and --where node contradict each other", "where");
  }
  if (parsed.has("write") && only !== "") throw badInput("--write needs a whole suite, without --only", "write");
  if (parsed.has("write") && parsed.has("card")) {
    throw badInput("--write stores results of the adapter in use, not of --card", "write");
  }
  return {
    suite,
    where,
    rounds: whole(parsed, "rounds", 1, 1000, 5),
    budget: whole(parsed, "budget", 1, 86_400, isDeviceSuite(suite) ? BUDGETS[suite] : BUDGETS.kernels),
    steps: whole(parsed, "steps", 1, 100_000, 500),
    only,
    jax: !parsed.has("no-jax"),
    ort: !parsed.has("no-ort"),
    card: parsed.has("card"),
    processorTime: parsed.has("processor-time"),
    json: parsed.has("json"),
    write: parsed.has("write"),
  };
}

function choice<T extends string>(parsed: Parsed, name: string, values: readonly T[], fallback: T): T {
  const text = one(parsed, name) ?? fallback;
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw badInput(`--${name} must be one of ${values.join(", ")}, not "${text}"`, name);
}
