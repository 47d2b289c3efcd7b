import { describe, expect, it } from "vitest";
import { classifyPicked } from "../../../src/app/components/upload/take-files.ts";

const files = (...paths: string[]) => paths.map((path) => ({ path, file: new Blob([path]) }));
const plain = (folders: ReturnType<typeof classifyPicked>["models"]) =>
  folders.map((folder) =>
    folder.kind === "picked" ? { name: folder.name, paths: folder.files.map((file) => file.path) } : null,
  );

describe("classifyPicked", () => {
  it("takes a folder of shards with paths relative to it", () => {
    const { models, shards } = classifyPicked(files("set/a.arrow", "set/deep/b.arrow", "set/.DS_Store"));
    expect(models).toEqual([]);
    expect(plain(shards)).toEqual([{ name: "set", paths: ["a.arrow", "deep/b.arrow"] }]);
  });

  it("finds a checkpoint folder wherever it lies and leaves the rest as shards", () => {
    const { models, shards } = classifyPicked(
      files("all/model/config.json", "all/model/model.safetensors", "all/model/vision/config.json", "all/data/x.arrow"),
    );
    expect(plain(models)).toEqual([
      { name: "model", paths: ["config.json", "model.safetensors", "vision/config.json"] },
    ]);
    expect(plain(shards)).toEqual([{ name: "all", paths: ["data/x.arrow"] }]);
  });

  it("tells an adapter from the checkpoint and the data it was dropped with", () => {
    const { models, adapters, shards } = classifyPicked(
      files("all/model/config.json", "all/ad/adapter_config.json", "all/ad/adapter_model.safetensors", "all/x.arrow"),
    );
    expect(plain(models)).toEqual([{ name: "model", paths: ["config.json"] }]);
    expect(plain(adapters)).toEqual([{ name: "ad", paths: ["adapter_config.json", "adapter_model.safetensors"] }]);
    expect(plain(shards)).toEqual([{ name: "all", paths: ["x.arrow"] }]);
    const inside = classifyPicked(files("model/config.json", "model/adapter_config.json"));
    expect(inside.adapters).toEqual([]);
  });

  it("takes loose files of either kind", () => {
    expect(plain(classifyPicked(files("config.json", "model.safetensors")).models)).toEqual([
      { name: "checkpoint", paths: ["config.json", "model.safetensors"] },
    ]);
    expect(plain(classifyPicked(files("a.arrow")).shards)).toEqual([{ name: "a.arrow", paths: ["a.arrow"] }]);
    expect(plain(classifyPicked(files("a.arrow", "b.arrow")).shards)).toEqual([
      { name: "2 files", paths: ["a.arrow", "b.arrow"] },
    ]);
  });

  it("keeps folders that were dropped together apart", () => {
    const { shards } = classifyPicked(files("one/a.arrow", "two/a.arrow"));
    expect(plain(shards).map((folder) => folder?.name)).toEqual(["one", "two"]);
  });
});
