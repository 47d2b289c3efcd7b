/** Properties of a fresh clone: pinned packages, and nothing of the author's machine. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { trackedFiles } from "../support/sources.ts";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly resolved?: string }>>;
}

const json = (name: string): unknown => JSON.parse(readFileSync(join(root, name), "utf8"));
const manifest = json("package.json") as Manifest;
const lock = json("package-lock.json") as Lock;
const wanted = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
const isText = (path: string): boolean =>
  !/\.(?:arrow|safetensors|png|jpe?g|gif|webp|zip|bin|npz|npy|woff2?|ico)$/.test(path);

describe("packages", () => {
  it("are pinned to one version each", () => {
    expect(wanted.length).toBeGreaterThan(10);
    expect(wanted.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it("are locked to the version that is requested", () => {
    const other = wanted.filter(([name, version]) => lock.packages[`node_modules/${name}`]?.version !== version);
    expect(other).toEqual([]);
  });

  it("come from whichever registry the user has set", () => {
    expect(Object.entries(lock.packages).filter(([, entry]) => /^https?:/.test(entry.resolved ?? ""))).toEqual([]);
    expect(trackedFiles((path) => path.endsWith(".npmrc")).map(({ path }) => path)).toEqual([]);
  });
});

describe("tracked files", () => {
  const files = trackedFiles(isText);
  const holding = (pattern: RegExp): string[] =>
    files.flatMap(({ path, text }) => {
      const found = pattern.exec(text);
      return found === null ? [] : [`${path}: ${found[0]}`];
    });

  it("are found at all", () => expect(files.length).toBeGreaterThan(300));

  it("name no folder of one machine", () => {
    expect(holding(/(?<![\w.:/])\/(?:home|Users|root|work|tmp)\/[\w.-]+/)).toEqual([]);
    expect(holding(/\b[A-Z]:\\Users\\/)).toEqual([]);
  });

  it("name no registry", () => {
    expect(holding(/\bregistry\.(?:npmjs|yarnpkg|npmmirror)\.|\bartifactory\b|\bnpm\.pkg\.github\b/i)).toEqual([]);
  });

  it("hold no key", () => {
    expect(holding(/\bsk-[A-Za-z0-9]{20,}|\bhf_[A-Za-z0-9]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----/)).toEqual([]);
  });

  it("are small enough for a clone", () => {
    const bytes = trackedFiles(() => true).map(({ path, text }) => ({ path, length: text.length }));
    expect(bytes.filter(({ length }) => length > 12 * 2 ** 20)).toEqual([]);
  });
});
