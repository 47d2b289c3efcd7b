import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { openNodeRows, POCKET_SHARDS } from "../../../scripts/lib/node/node-rows.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { groupsPerStep } from "../../../src/engine/config/derived.ts";
import { weightKey } from "../../../src/engine/config/groups/reward-weights.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { type LabConfig, SETTINGS } from "../../../src/engine/config/table.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { wordCount } from "../../../src/engine/data/row-filter.ts";
import { TERMS } from "../../../src/engine/rewards/terms/registry.ts";
import { LOOP_IDS } from "../../../src/engine/rl/loops/abouts.ts";
import { rowOrder } from "../../../src/engine/rl/step/data-order.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { evaluatedRows, runRows, usedHash } from "../../../src/engine/runs/run-rows.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { launchFiles } from "../../../src/plugins/handover/scale-launch.ts";
import { contract, scaleOutFiles } from "../../../src/plugins/handover/scale-out.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { arePluggedIn, testWith } from "../../support/plugins.ts";
import { python } from "../../support/tools.ts";
import { manifest } from "../runs/sample-run.ts";

/** Without a judge its other settings have no effect. */
const JUDGED = { judge: "questions" };
const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);

async function exportable() {
  const { set, list } = await openNodeRows([POCKET_SHARDS]);
  const config: LabConfig = { ...manifest().config, rowFilter: "words:..7" };
  const used = await usedHash(list, runRows(list, config), config);
  const hash = await rowsHash(list.rows);
  const data = { ...manifest().data, name: list.dataSet, rows: list.rows.length, hash, ...used };
  const store = memoryStore();
  const run = await createRun(store, manifest("brave-otter", { data, config }));
  const wordnet = memorySource("wordnet30.txt", new TextEncoder().encode("table"));
  return { store, run, list, scale: { set, dataSet: list.dataSet, wordnet, step: null, fresh: true } };
}

test("a run leaves with its rows, the words it uses and the commands that start it", async () => {
  const { store, run, list, scale } = await exportable();
  await run.appendStep(1, { loss: 1 });
  await store.write("brave-otter/checkpoints/step-000001/complete.json", "{}");
  await store.write("brave-otter/checkpoints/step-000002/complete.json", "{}");
  const files = await collectFiles(scaleOutFiles(run, { ...scale, step: 1, fresh: false }));
  expect(text(files["brave-otter/metrics.jsonl"])).toBe('{"step":1,"loss":1}\n');
  expect(Object.keys(files)).toContain("brave-otter/checkpoints/step-000001/complete.json");
  expect(Object.keys(files)).not.toContain("brave-otter/checkpoints/step-000002/complete.json");
  const rows = text(files["brave-otter/scale/rows.jsonl"]).trim().split("\n");
  const own = rows.map((line) => JSON.parse(line) as { id: string; imageId: string; column: string });
  expect(own.map(({ id, imageId }) => [id, imageId])).toEqual(list.rows);
  expect(own[0]?.column).toBe("image");
  const data = JSON.parse(text(files["brave-otter/scale/data.json"])) as Record<string, readonly unknown[]>;
  // The package trains on the rows that the row filter chose.
  const filtered = scale.set.summaries.filter(({ caption }) => wordCount(caption) <= 7).map(({ index }) => index);
  expect(filtered.length).toBeLessThan(list.rows.length);
  expect([data.train, data.selection, data.report].flat().sort((a, b) => Number(a) - Number(b))).toEqual(filtered);
  expect(data.shards).toHaveLength(2);
  expect(text(files["brave-otter/scale/launch/8gpu.sh"])).toMatch(
    /sa2va_lab.launch --standalone --nproc_per_node "\$\{GPUS:-8\}"/,
  );
  // Times that no GPU has shown are not given.
  expect(text(files["brave-otter/scale/README.md"])).not.toMatch(/\d s on /);
  expect(contract()).toMatchObject({ templates: { phi3_chat: { before: "<|user|>\n" } }, streams: { token: 0 } });
});

test("launch files start the package from any folder, and name what is missing", () => {
  const home = mkdtempSync(join(tmpdir(), "lab-launch-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const launch = join(home, "brave otter", "scale", "launch");
  for (const folder of [launch, join(home, "bin")]) mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(launchFiles(manifest("brave-otter")))) {
    writeFileSync(join(launch, "..", name), content);
  }
  const slurm = join(launch, "2x8.slurm");
  const shows = `case $2 in job) echo "   Command=${slurm}";; *) echo first; echo second;; esac`;
  for (const [name, body] of [
    ["python", 'printf "%s|" "$@"'],
    ["srun", 'exec "$@"'],
    ["scontrol", shows],
  ] as const) {
    writeFileSync(join(home, "bin", name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  }
  const start = (file: string, given: Readonly<Record<string, string>>, ...words: readonly string[]) => {
    const env = { PATH: `${join(home, "bin")}:${process.env.PATH}`, ...given };
    return spawnSync("sh", [file, ...words], { cwd: home, env, encoding: "utf8" });
  };
  const folders = { MODEL: "a model", SHARDS: "rows" };
  const run = `-m|sa2va_lab.train|${join(home, "brave otter")}|--model|a model|--shards|rows|`;
  expect(start(join(launch, "1gpu.sh"), folders, "--steps", "6").stdout).toBe(`${run}--steps|6|`);
  const eight = "-m|sa2va_lab.launch|--standalone|--nproc_per_node|8|--max-restarts|3|";
  expect(start(join(launch, "8gpu.sh"), folders).stdout).toBe(`${eight}${run}--widen|`);
  // Slurm runs a copy of the file, from the folder of the caller.
  copyFileSync(slurm, join(home, "job"));
  const nodes = /^-m\|sa2va_lab\.launch\|--nnodes\|2\|.*\|--rdzv_endpoint\|first:29500\|/;
  expect(start(join(home, "job"), folders).stdout).toMatch(nodes);
  expect(start(join(home, "job"), folders).stdout).toContain(run);
  // One process does not use more threads than it is given; torchrun sees to that for several.
  writeFileSync(join(home, "bin", "python"), '#!/bin/sh\nprintf "%s" "$OMP_NUM_THREADS"\n', { mode: 0o755 });
  expect(start(join(launch, "1gpu.sh"), folders).stdout).toBe("1");
  expect(start(join(launch, "1gpu.sh"), { ...folders, OMP_NUM_THREADS: "6" }).stdout).toBe("6");
  expect(start(join(launch, "8gpu.sh"), { MODEL: "a model" }).stderr).toContain("SHARDS: names no folder");
  expect(start(join(launch, "2x8gpu.sh"), folders).stderr).toContain("HEAD: names no machine");
});

test("what cannot be taken on is refused", async () => {
  const { store, run, scale } = await exportable();
  const made = (change: object): Promise<unknown> => collectFiles(scaleOutFiles(run, { ...scale, ...change }));
  await expect(made({ fresh: false })).rejects.toThrow(/has no checkpoint; add --fresh/);
  await expect(made({ step: 4 })).rejects.toThrow(/no checkpoint of step 4/);
  const other = await openRegionSet(memoryFolder({}));
  await expect(made({ set: other })).rejects.toThrow(/has other rows/);
  await store.write("brave-otter/checkpoints/step-000001/complete.json", "{}");
  await expect(made({})).rejects.toThrow(/has checkpoints and continues from them; leave --fresh out/);
});

/** What the package says of settings that it reads, that change nothing there, that it refuses, and which choices it knows. */
interface Known {
  readonly used: readonly string[];
  readonly tab: readonly string[];
  readonly refused: Readonly<Record<string, string>>;
  readonly choices: Readonly<Record<string, readonly string[]>>;
}
const PACKAGE = join(root, "python", "sa2va_lab");
const KNOWN = JSON.parse(readFileSync(join(PACKAGE, "settings.json"), "utf8")) as Known;
const SOURCES = readdirSync(PACKAGE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".py"));
const source = (name: string): string => readFileSync(join(PACKAGE, name), "utf8");

// python/ knows the settings of these plug-ins.
const OTHERS = ["mask-policies", "question-answer", "supervised", "clips"];

testWith(...OTHERS)("the Python package knows every setting of the table", () => {
  const sources = SOURCES.map(source).join("\n");
  const attribute = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const unread = KNOWN.used.filter((name) => !new RegExp(`\\.${attribute(name)}\\b`).test(sources));
  expect(unread, 'settings under "used" in python/sa2va_lab/settings.json that nothing reads').toEqual([]);
  const terms = LOOP_IDS.flatMap((loop) => TERMS.map((term): string => weightKey(loop, term)));
  const known = [...KNOWN.used, ...terms, ...KNOWN.tab, ...Object.keys({ ...KNOWN.refused, ...KNOWN.choices })];
  expect(
    known.filter((name) => !(name in SETTINGS)),
    "settings that the table no longer has",
  ).toEqual([]);
  const unknown = Object.keys(SETTINGS).filter((name) => !known.includes(name));
  const advice =
    'settings that python/ does not know: run them ("used" in python/sa2va_lab/settings.json, and the code that reads ' +
    'them), or add them to "refused" there with the reason, or to "tab" ' +
    "if they change no number of a run. A new choice of a known setting is refused by itself until it stands under " +
    '"choices"';
  expect(unknown, advice).toEqual([]);
});

const PARSE = `
import json, sys
from sa2va_lab.errors import LabError
from sa2va_lab.settings import parse_settings
said = {}
given = json.loads(sys.argv[1])
for label, change in given["changes"].items():
    try:
        parse_settings(change, given["defaults"])
        said[label] = None
    except LabError as refused:
        said[label] = str(refused)
print(json.dumps(said))
`;
process.env.PYTHONPATH = [join(root, "python"), process.env.PYTHONPATH ?? ""].filter((part) => part !== "").join(":");
const interpreter = await python("-c", "import sys; sys.exit(sys.version_info < (3, 10))");
test.skipIf(interpreter.code !== 0 || !arePluggedIn(...OTHERS))(
  "a setting is run, or refused by one sentence that names it",
  async () => {
    const changes: Record<string, Record<string, unknown>> = {};
    for (const [name, setting] of Object.entries(SETTINGS)) {
      if (setting.kind === "choice") {
        for (const { value } of setting.choices) changes[`${name}=${value}`] = { ...JUDGED, [name]: value };
      } else if (setting.kind === "flag") changes[name] = { [name]: !setting.default };
      else if (setting.kind === "text") changes[name] = { [name]: "something" };
      else changes[name] = { [name]: setting.default === setting.max ? setting.min : setting.max };
    }
    const done = await python("-c", PARSE, JSON.stringify({ defaults: contract().defaults, changes }));
    expect(done.code, done.err).toBe(0);
    const said = JSON.parse(done.out) as Record<string, string | null>;
    const refused = Object.entries(said).filter((entry): entry is [string, string] => entry[1] !== null);
    for (const [label, sentence] of refused) expect(sentence).toContain(label.replace(/^loop\dUser$/, "userReward"));
    const names = refused.map(([label]) => label);
    expect(names).toEqual(expect.arrayContaining(["loraDropout", "loop1User"]));
    const choices = Object.entries(KNOWN.choices).flatMap(([name, own]) => own.map((value) => `${name}=${value}`));
    expect(
      choices.filter((label) => said[label] !== null),
      "choices that are listed and not run, or not there",
    ).toEqual([]);
    // Terms that the package does not compute, and a reward without its file, are refused where weights are read.
    const isListed = (label: string): boolean => {
      const [name = "", value = ""] = label.split("=");
      return name in KNOWN.refused || (name in KNOWN.choices && !KNOWN.choices[name]?.includes(value));
    };
    expect(
      names.filter((label) => !isListed(label) && !/^loop\d(?:User|J|F|Utility)$/.test(label)),
      "refused without a reason in the lists",
    ).toEqual([]);
  },
);

const DRAW = `
import json, sys
from types import SimpleNamespace
from sa2va_lab.evaluation.rows import evaluated
from sa2va_lab.order import Known, RowOrder, word_count
from sa2va_lab.settings import attribute
given = json.loads(sys.argv[1])
for case in given["cases"]:
    s = SimpleNamespace(groups=given["groups"], **{attribute(k): v for k, v in (given["defaults"] | case).items()})
    words = [word_count(caption) for caption in given["captions"]]
    s.rows_per_step = s.groups
    earlier = [(last, SimpleNamespace(groups=size, rows_per_step=size)) for last, size in given["earlier"]]
    known = Known(given["train"], given["ids"], words, given["difficulty"], given["streams"])
    order = RowOrder(known, s, earlier)
    print(json.dumps([[order.before(step) for step in range(1, 12)]] + [[order.of(loop).rows[order.of(loop).place(n, n // 3 + 1, round)] for n in range(60)]
                      for loop in (1, 2) for round in (0, 1)] + [evaluated(order, s, given["train"])[:9]]))
`;
const needed = await python("-c", "import pytest, torch, transformers, peft, pyarrow, nltk, pycocotools");
if (needed.code !== 0) {
  console.warn(
    "Skipped: no Python with pytest, torch, transformers, peft, pyarrow, nltk and pycocotools; set PYTHON to one",
  );
}
test.skipIf(needed.code !== 0)(
  "prompts draw the lab's rows: mixes, lengths, curriculum, rounds of sampling",
  async () => {
    const files = ["one/a.arrow", "two/b.tar", "two/b.tar", "c.json", "one/d.arrow"];
    const ids = Array.from({ length: 37 }, (_, at) => `${files[at % 5]}#${at}`);
    const captions = ids.map((_, at) => " a thing".repeat((at * 7) % 5));
    const train = ids.map((_, at) => at).filter((at) => at % 6 !== 0);
    const difficulty = train.flatMap((at) => {
      const own = { rowId: ids[at] as string, reward: ((at * 11) % 7) / 3, zeroSpread: at % 4 === 0 };
      return at % 9 === 0 ? [] : ([1, 2] as const).map((loop) => ({ ...own, loop }));
    });
    const cases: Partial<LabConfig>[] = [
      { seed: 91 },
      { seed: 92, mixSources: "one = 1.5, b = 0.25", lengthGrouping: true },
      { seed: 93, mixSources: "one/a = 3, b = 1, * = 0", mixBy: "weights" },
      { seed: 97, mixSources: "o=1, one/=2, one/d=3, *=0.5" },
      { seed: 94, curriculum: "hard", curriculumSteps: 12, zeroSpreadRows: "skip", mixSources: "two=2\nc.json=0.5" },
      { seed: 95, curriculum: "easy", curriculumStart: 0.1, curriculumSteps: 40, mixSources: "c=2", mixBy: "weights" },
      { seed: 96, lengthGrouping: true, promptsPerStep: 2 },
    ];
    const defaults = defaultConfig();
    const { streams } = contract();
    for (const some of cases) {
      const config = { ...defaults, ...some };
      const earlier = [3, 7].map((upTo) => ({ upTo, config: { ...config, promptsPerStep: 8 - upTo } }));
      const given = {
        cases: [some],
        defaults,
        groups: groupsPerStep(config),
        earlier: earlier.map(({ upTo, config }) => [upTo, groupsPerStep(config)]),
        captions,
        train,
        ids,
        difficulty,
        streams,
      };
      const done = await python("-c", DRAW, JSON.stringify(given));
      expect(done.code, done.err).toBe(0);
      const order = rowOrder(
        { train, id: (at) => ids[at] as string, words: (at) => wordCount(captions[at] ?? ""), difficulty },
        config,
        earlier,
      );
      const before = Array.from({ length: 11 }, (_, at) => order.before(at + 1));
      const draws = ([1, 2] as const).flatMap((loop) => {
        const { rows, place } = order.of(loop);
        return [0, 1].map((round) =>
          Array.from({ length: 60 }, (_, n) => rows[place(n, Math.floor(n / 3) + 1, round)]),
        );
      });
      const rows = ids.map((id) => [id, ""] as const);
      const { report } = evaluatedRows({ selection: [], report: train }, { ...config, evalRows: 9 }, { rows });
      expect(JSON.parse(done.out), JSON.stringify(some)).toEqual([before, ...draws, report]);
    }
  },
);

test.skipIf(needed.code !== 0)("the package's own tests pass", async () => {
  const folder = join(root, "python");
  const done = await python("-m", "pytest", "-q", "--rootdir", folder, join(folder, "tests"));
  expect(done.code, done.out).toBe(0);
});

const checked = await python("-c", "import mypy, ruff, torch, numpy");
if (checked.code !== 0) console.warn("Skipped: no Python with mypy, ruff, torch and numpy; set PYTHON to one");
test.skipIf(checked.code !== 0)("the package is typed, linted and formatted", async () => {
  const folder = join(root, "python");
  for (const words of [
    ["mypy", "--config-file", join(folder, "pyproject.toml"), join(folder, "sa2va_lab")],
    ["ruff", "check", folder],
    ["ruff", "format", "--check", folder],
  ]) {
    const done = await python("-m", ...words);
    expect(done.code, done.out + done.err).toBe(0);
  }
});

test("the read-me counts the groups of every update of a step", () => {
  const config = { ...defaultConfig(), promptsPerStep: 2, accumulation: 2, stepsPerGeneration: 8 };
  expect(launchFiles(manifest("brave-otter", { config }))["README.md"]).toContain("A step samples 16 groups of");
});
