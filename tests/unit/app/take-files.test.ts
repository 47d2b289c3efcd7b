/** Files that hold nothing, and files that fail beside each other. */
import { expect, it, onTestFinished } from "vitest";
import { report } from "../../../src/app/clients/lab.ts";
import { followCauses, openData, openDemoSet } from "../../../src/app/clients/loading.ts";
import { IMPORT, takeFiles } from "../../../src/app/components/upload/take-files.ts";
import { runningOf } from "../../../src/app/stores/jobs.ts";
import { useRoute } from "../../../src/app/stores/route.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { badInput } from "../../../src/engine/errors.ts";
import type { Plan as RunPlan } from "../../../src/engine/session/plan.ts";
import type { FolderRef } from "../../../src/protocol/common.ts";
import type { AdapterInfo, ModelInfo } from "../../../src/protocol/trainer.ts";
import { openFakeLab } from "./fake-lab.ts";

const files = (...paths: string[]) => paths.map((path) => ({ path, file: new Blob([path]) }));

openFakeLab({
  data: { open: async () => Promise.reject(badInput("No table")) },
  trainer: {
    openModel: async () => Promise.reject(badInput("No tensor")),
    storedModels: () => [],
  },
});

it("hidden files alone are nothing, as an empty folder is", async () => {
  await expect(takeFiles(files("set/.DS_Store"), "any")).rejects.toThrow("the folder holds no files");
});

it("a checkpoint and data that both fail are both listed", async () => {
  await takeFiles(files("model/config.json", "data/x.arrow"), "any");
  const listed = () => useSession.getState().problems.map(({ message }) => message);
  await expect.poll(listed).toEqual(expect.arrayContaining(["No table", "No tensor"]));
});

it("an adapter opens beside the data it was dropped with; of two, neither, and the data still", async () => {
  const asked: string[] = [];
  openFakeLab({
    data: { open: async () => Promise.reject(badInput(`Rows of ${asked.push("data")}`)) },
    trainer: {
      openAdapter: async () => Promise.reject(badInput(`Factors ${asked.push("adapter")}`)),
      storedModels: () => [],
    },
  });
  await takeFiles(files("set/ad/adapter_config.json", "set/x.arrow"), "any");
  await expect.poll(() => [...asked].sort()).toEqual(["adapter", "data"]);
  await takeFiles(files("a/adapter_config.json", "b/adapter_config.json", "x.arrow"), "any");
  const listed = () => useSession.getState().problems.map(({ message }) => message);
  await expect
    .poll(listed)
    .toEqual(expect.arrayContaining(["Several adapters were dropped (a, b). Open one at a time", "Rows of 3"]));
});

it("an adapter is read after the checkpoint it was dropped with", async () => {
  const asked: string[] = [];
  openFakeLab({
    trainer: {
      openModel: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        asked.push("model");
        return { name: "model" } as never;
      },
      openAdapter: async () => {
        asked.push("adapter");
        return null;
      },
      storedModels: () => [],
    },
  });
  await takeFiles(files("set/model/config.json", "set/ad/adapter_config.json"), "any");
  await expect.poll(() => asked).toEqual(["model", "adapter"]);
});

it("runs open beside the data they were dropped with, each as its own", async () => {
  const asked: string[] = [];
  const names = (refs: readonly FolderRef[]): string[] =>
    refs.flatMap((ref) => (ref.kind === "picked" ? ref.files.map(({ path }) => `${ref.name}: ${path}`) : []));
  const importing: (string | null)[] = [];
  openFakeLab({
    data: {
      importRun: async (ref) => {
        asked.push(...names([ref]));
        importing.push(runningOf(IMPORT));
        if (names([ref])[0] === "bad.zip: bad.zip") throw badInput("Another run");
        return names([ref]).some((name) => /run\.json|runs\.zip/.test(name))
          ? { id: "a", stored: false, known: false }
          : null;
      },
      open: async (refs) => {
        asked.push(...names(refs).map((name) => `data ${name}`));
        return Promise.reject(badInput("No table"));
      },
    },
  });
  await takeFiles(files("a/run.json", "a/metrics.jsonl", "runs.zip", "set.zip", "bad.zip", "set/x.arrow"), "any");
  await expect
    .poll(() => asked)
    .toEqual([
      ...["a: run.json", "a: metrics.jsonl", "runs.zip: runs.zip", "set.zip: set.zip", "bad.zip: bad.zip"],
      ...["data set.zip: set.zip", "data set: x.arrow"],
    ]);
  // The page names what it reads meanwhile.
  expect(importing).toEqual(["a", "runs.zip", "set.zip", "bad.zip"]);
  expect(runningOf(IMPORT)).toBeNull();
  // The refused one is listed.
  expect(useSession.getState().problems.map(({ message }) => message)).toContain("Another run");
});

it("an error goes when something of its kind opens, however that is opened", async () => {
  const refused = new Set(["cut.arrow", "page.html"]);
  openFakeLab({
    data: {
      importRun: async (ref) =>
        ref.kind === "picked" && ref.name.endsWith(".zip") ? { id: "a", stored: false, known: false } : null,
      open: async ([ref], _mapping, _onProgress, onRows) => {
        const name = ref?.kind === "picked" ? ref.name : "pocket shards";
        if (refused.has(name)) throw badInput(`No usable row in ${name}`);
        onRows([{ id: name, index: 0 } as RegionSummary]);
        return { name, ignored: [] as SetInfo["ignored"] } as SetInfo;
      },
    },
    trainer: {
      openModel: async () => ({ name: "tiny" }) as ModelInfo,
      openAdapter: async () => ({ rank: 4, scale: 1 }) as AdapterInfo,
      plan: async () => ({ problems: [], fit: { fitted: null } }) as unknown as RunPlan,
      storedModels: () => [],
    },
  });
  onTestFinished(followCauses());
  const listed = () => useSession.getState().problems.map(({ message }) => message);
  const take = (expected: Parameters<typeof takeFiles>[1], ...paths: string[]): void =>
    report(takeFiles(files(...paths), expected));
  await openData([{ kind: "built-in", baseUrl: "http://localhost/pocket/shards/" }]);
  await expect.poll(listed).toEqual([]);

  take("model", "tiny/model.safetensors");
  await expect.poll(listed).toEqual([expect.stringContaining("config.json is missing")]);
  take("any", "tiny/config.json");
  await expect.poll(listed).toEqual([]);

  take("adapter", "tiny/notes.txt");
  await expect.poll(listed).toEqual([expect.stringContaining("adapter_config.json is missing")]);
  take("any", "tiny/adapter_config.json");
  await expect.poll(listed).toEqual([]);
  await expect.poll(() => useRoute.getState().screen).toBe("setup");

  take("any", "cut.arrow");
  await expect.poll(listed).toEqual(["No usable row in cut.arrow"]);
  // These rows are open already.
  report(openDemoSet("demo"));
  await expect.poll(listed).toEqual([]);

  take("any", "page.html");
  await expect.poll(listed).toEqual(["No usable row in page.html"]);
  take("any", "run.zip");
  await expect.poll(listed).toEqual([]);
});
