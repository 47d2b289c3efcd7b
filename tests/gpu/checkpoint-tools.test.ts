/** The tools accept a checkpoint on a server in place of a folder. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type CheckpointServer, checkpointServer } from "../support/checkpoint-server.ts";
import { type Done, parity, tool } from "../support/tools.ts";

const VARIANT = join(root, "tests", "golden", "sa2va-tiny-variant");
const POCKET = join(root, "public", "pocket", "model");

let server: CheckpointServer;
let pocket: CheckpointServer;
let scratch: string;
beforeAll(async () => {
  server = await checkpointServer(VARIANT);
  pocket = await checkpointServer(POCKET);
  scratch = await mkdtemp(join(tmpdir(), "lab-tools-"));
});
beforeEach(() => {
  server.reset();
  pocket.reset();
});
afterAll(async () => {
  await server.close();
  await pocket.close();
  await rm(scratch, { recursive: true, force: true });
});

it("parity compares the numbers of a golden folder with the weights of a server", async () => {
  const words = ["--golden", VARIANT, "--checkpoint", "owner/tiny", "--hub", server.hub, "--json"];
  const good = await parity(...words);
  expect(good.code, good.err).toBe(0);
  expect(server.weightBytes()).toBeGreaterThan(200_000);
  expect(good.err).toMatch(/files, 0\.\d MB/);
  // A missing shard.
  server.reset();
  server.fault = (path) => (path.includes("00002") ? { status: 404 } : null);
  const bad = await parity(...words.with(3, server.url));
  expect(bad).toMatchObject({ code: 2, out: "" });
  expect(bad.err).toMatch(/model-00002-of-00003\.safetensors, which is not on the server/);
});

const TRAIN = [
  "--steps",
  "1",
  "--loops",
  "1",
  "--config",
  join(root, "tests", "fixtures", "page", "cheap.json"),
  "--storage",
  "q8",
];

it("train fetches a checkpoint once, and the next time its conversion is read", async () => {
  const cache = join(scratch, "cache");
  const words = (out: string): string[] => [
    ...TRAIN,
    "--checkpoint",
    pocket.url,
    "--cache",
    cache,
    "--out",
    join(scratch, out),
    "--json",
  ];
  const first = await tool("train", words("one"));
  expect(first.code, first.err).toBe(0);
  expect(first.err).toMatch(/conversion written/);
  expect(pocket.weightBytes()).toBeGreaterThan(3_000_000);
  pocket.reset();
  const second = await tool("train", words("two"));
  expect(second.err).toMatch(/conversion read/);
  expect(pocket.seen.filter(({ sent, path }) => path.endsWith(".safetensors") && sent > 100_000)).toHaveLength(1);
  const reward = ({ out }: Done): unknown => (JSON.parse(out.split("\n")[0] as string) as { loop1: unknown }).loop1;
  expect(reward(first)).toBeDefined();
  expect(reward(second)).toEqual(reward(first));
});

it("train says in one sentence what is wrong with an address", async () => {
  const out = join(scratch, "none");
  const run = (...words: string[]): Promise<Done> => tool("train", [...TRAIN, "--out", out, ...words]);
  const both = await run("--model", POCKET, "--checkpoint", pocket.url);
  expect(both).toMatchObject({ code: 2, err: expect.stringContaining("name two models") });
  const missing = await run("--checkpoint", `${pocket.url}nowhere/`);
  expect(missing.code).toBe(2);
  expect(missing.err).toMatch(/is not a checkpoint folder: config\.json is missing\n$/);
  expect(await readdir(scratch)).not.toContain("none");
});
