/** Recognises golden folders by their content, and assigns their parity modules. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { intactJson, isRecord, readText } from "../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { badInput, LabError } from "../../src/engine/errors.ts";
import type { ScriptDeps } from "./deps.ts";
import { isEvaluationGolden } from "./evaluation/golden.ts";
import type { ParityRow } from "./row.ts";

export interface ParityCheck {
  /** File name of the module; those of sa2va, grpo, video and evaluation are in folders of that name. */
  readonly name: string;
  /** Loads the module and starts it. @throws LabError("unsupported") when the engine has no such module */
  open(folder: ByteFolder, deps: ScriptDeps): Promise<AsyncIterable<ParityRow>>;
}

export interface GoldenKind {
  readonly name: string;
  /** Whether its checks compute with tensors. */
  readonly gpu: boolean;
  readonly modules: readonly ParityCheck[];
}

export interface GoldenSet {
  /** As given on the command line, or a folder below it. */
  readonly path: string;
  readonly folder: ByteFolder;
  readonly kind: GoldenKind;
}

const KINDS = {
  sa2va: kind("sa2va", true, ["sa2va-text", "sa2va-vision", "sa2va-llm", "sa2va-sam2", "sa2va-answer", "sa2va-train"]),
  "sa2va-ops": kind("sa2va-ops", true, ["sa2va-ops"]),
  grpo: kind("grpo", true, ["grpo"]),
  optim: kind("optim", true, ["optim"]),
  rle: kind("rle", false, ["rle"]),
  meteor: kind("meteor", false, ["meteor"]),
  judge: kind("judge", false, ["judge"]),
  arrow: kind("arrow", false, ["arrow"]),
  video: kind("video", true, ["video-clips", "video-ops", "video-scores"]),
  evaluation: kind("evaluation", false, ["evaluation-metrics", "evaluation-files", "evaluation-rows"]),
} as const;

function kind(name: string, gpu: boolean, modules: readonly string[]): GoldenKind {
  return { name, gpu, modules: modules.map(checkOf) };
}

type ParityGenerator = (folder: ByteFolder, deps: ScriptDeps) => AsyncIterable<ParityRow>;

/** A module's only exported function named `…Parity`; a missing module gives an error, not a crash. */
function checkOf(name: string): ParityCheck {
  return {
    name,
    async open(folder, deps) {
      const module = await import(
        new URL(`./${/^(?:sa2va|grpo|video|evaluation)/.exec(name)?.[0] ?? "."}/${name}.ts`, import.meta.url).href
      ).catch((cause: unknown) => {
        throw new LabError("unsupported", `The parity module ${name} cannot be loaded: ${String(cause)}`, { cause });
      });
      const entry = Object.entries(module as Record<string, unknown>).find(([key]) => key.endsWith("Parity"));
      if (typeof entry?.[1] !== "function") {
        throw new LabError("unsupported", `The parity module ${name} exports no check`);
      }
      return (entry[1] as ParityGenerator)(folder, deps);
    },
  };
}

/**
 * The golden sets at a path: the folder itself, or else every folder right below it.
 * @throws LabError("bad-input") when the path is not a folder or nothing in it is recognised
 */
export async function findGoldenSets(path: string): Promise<GoldenSet[]> {
  const own = await setsOf(path);
  if (own.length > 0) return own;
  const entries = await readdir(path, { withFileTypes: true });
  const sets: GoldenSet[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.isDirectory() && !entry.name.startsWith(".")) sets.push(...(await setsOf(join(path, entry.name))));
  }
  if (sets.length > 0) return sets;
  throw badInput(`${path} holds no golden set of a known form (${Object.keys(KINDS).join(", ")})`);
}

async function setsOf(path: string): Promise<GoldenSet[]> {
  const folder = await nodeFolder(path);
  const kinds = await kindsOf(folder);
  return [...kinds].map((one) => ({ path, folder, kind: one }));
}

async function kindsOf(folder: ByteFolder): Promise<Set<GoldenKind>> {
  const direct = folder.paths.filter((path) => !path.includes("/"));
  const has = (path: string): boolean => direct.includes(path);
  const checkpoint = direct.some((path) => /^model.*\.safetensors$/.test(path));
  if (has("config.json") && checkpoint) return new Set([KINDS.sa2va]);
  if (["ops.safetensors", "pil_bicubic.safetensors", "tiling.json"].some(has)) return new Set([KINDS["sa2va-ops"]]);
  if (has("sam2.safetensors") && has("video.json")) return new Set([KINDS.video]);
  if (isEvaluationGolden(folder.paths)) return new Set([KINDS.evaluation]);
  const kinds = new Set<GoldenKind>();
  if (direct.some((path) => path.endsWith(".arrow.expected.json"))) kinds.add(KINDS.arrow);
  for (const path of direct) {
    const source = path.endsWith(".json") ? folder.get(path) : undefined;
    if (source === undefined) continue;
    // A folder of other inputs may hold files that only look like JSON.
    const found = kindOfJson(intactJson(await readText(source), z.unknown()));
    if (found !== undefined) kinds.add(found);
  }
  return kinds;
}

function kindOfJson(json: unknown): GoldenKind | undefined {
  if (!isRecord(json)) return undefined;
  const schema = typeof json.schema === "string" ? json.schema : "";
  if (schema.startsWith("grpo-")) return KINDS.grpo;
  if (schema.startsWith("optim-")) return KINDS.optim;
  const [item] = Array.isArray(json.cases) ? (json.cases as unknown[]) : [];
  const first = isRecord(item) ? item : {};
  if ("choices" in first || "questions" in first) return KINDS.judge;
  if ("hypothesis" in first || "tokens" in first || ["stems", "lemmas", "multi"].some((key) => key in json)) {
    return KINDS.meteor;
  }
  const masks = ["polygons", "boxes", "merges", "pairs"].some((key) => Array.isArray(json[key]));
  return masks || "rle" in first || "counts" in first ? KINDS.rle : undefined;
}
