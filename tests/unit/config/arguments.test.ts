import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { one, parseArguments, requireWritable, WORDS, whole } from "../../../scripts/lib/arguments.ts";

const SPECS = { shards: { takes: "many" }, seed: { takes: 1 }, set: { takes: 1 }, json: { takes: 0 } } as const;
const read = (...words: string[]) => Object.fromEntries(parseArguments(words, SPECS));

describe("arguments of a tool", () => {
  it.each<[string[], Record<string, string[]>]>([
    [["--shards", "a", "b", "--json", "--seed", "3"], { shards: ["a", "b"], json: [], seed: ["3"] }],
    [["--seed=3", "--set", "a=1", "--set=b=--2"], { seed: ["3"], set: ["a=1", "b=--2"] }],
    [["--seed", "-3"], { seed: ["-3"] }],
    [["--shards", "a", "--shards", "b"], { shards: ["a", "b"] }],
  ])("%j", (words, found) => {
    expect(read(...words)).toEqual(found);
  });

  it.each<[string[], RegExp]>([
    [["--fast"], /^Unknown argument "--fast"; known are --shards, --seed, --set, --json$/],
    [["stray"], /^Unknown argument "stray"/],
    [["--json", "stray"], /^Unknown argument "stray"/],
    [["--seed", "3", "4"], /^Unknown argument "4"/],
    [["-j"], /^Unknown argument "-j"/],
    [["--"], /^Unknown argument "--"/],
    [["--sed", "3"], /^Unknown argument "--sed"; did you mean --seed or --set\?$/],
    [["--jsn=1"], /^Unknown argument "--jsn=1"; did you mean --json\?$/],
    [["--seed"], /^--seed needs a value$/],
    [["--seed", ""], /^--seed needs a value$/],
    [["--set="], /^--set needs a value$/],
    [["--seed", "--json"], /^--seed needs a value$/],
    [["--shards", "--json"], /^--shards needs a value$/],
    [["--constructor"], /^Unknown argument "--constructor"/],
  ])("%j is refused", (words, sentence) => {
    expect(() => read(...words)).toThrow(sentence);
  });

  it("may be words alone", () => {
    const found = parseArguments(["a", "--json", "b"], { [WORDS]: { takes: "many" }, json: { takes: 0 } });
    expect(found.get(WORDS)).toEqual(["a", "b"]);
  });

  it("name files that can be written, or the work does not begin", () => {
    const folder = mkdtempSync(join(tmpdir(), "arguments-"));
    writeFileSync(join(folder, "kept"), "text");
    for (const name of ["kept", "new"]) requireWritable(join(folder, name));
    expect(readFileSync(join(folder, "kept"), "utf8")).toBe("text");
    expect(readdirSync(folder)).toEqual(["kept"]);
    expect(() => requireWritable(folder)).toThrow(/^EISDIR/);
    expect(() => requireWritable(join(folder, "none", "file"))).toThrow(/^ENOENT/);
    rmSync(folder, { recursive: true });
  });

  it("are whole numbers in a range", () => {
    const found = parseArguments(["--seed", "3", "--seed", "4"], SPECS);
    expect([one(found, "seed"), whole(found, "seed", 0, 9, 1), whole(found, "shards", 0, 9, 1)]).toEqual(["4", 4, 1]);
    expect(() => whole(parseArguments(["--seed", "0x3"], SPECS), "seed", 0, 9, 1)).toThrow(/not "0x3"$/);
    expect(() => whole(found, "seed", 5, 9, 1)).toThrow(/^--seed must be a whole number from 5 to 9/);
  });
});
