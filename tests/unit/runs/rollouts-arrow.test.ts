import {
  Bool,
  Date_,
  DateUnit,
  Field,
  Float64,
  Int32,
  List,
  makeVector,
  Struct,
  tableFromIPC,
  tableToIPC,
  Utf8,
} from "apache-arrow";
import { afterEach, expect, test, vi } from "vitest";
import { columnData, groupsFromArrow, groupsToArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { group } from "./sample-run.ts";

afterEach(() => void vi.unstubAllGlobals());

test("every field of every rollout survives, numbers bit for bit", async () => {
  const groups = [group(7, 1, 0), group(7, 1, 1, 1), group(7, 2, 0)];
  const back = await groupsFromArrow(groupsToArrow(groups), "x.arrow");
  expect(back).toStrictEqual(groups);
  expect(Object.is(back[0]?.rewardMean, Number.NaN)).toBe(true);
  expect(await groupsFromArrow(groupsToArrow([]), "x.arrow")).toEqual([]);
});

test("the hash of the pixels survives; files from before it lack it", async () => {
  const hashed = { ...group(1, 1, 0), pixels: "00c0ffee" };
  const bytes = groupsToArrow([hashed]);
  expect(await groupsFromArrow(bytes, "x.arrow")).toStrictEqual([hashed]);
  const table = tableFromIPC(bytes);
  const older = table.select(table.schema.fields.map(({ name }) => name).filter((name) => name !== "pixels"));
  expect(await groupsFromArrow(tableToIPC(older, "stream"), "x.arrow")).toStrictEqual([group(1, 1, 0)]);
});

test("actions are read under the names of earlier versions", async () => {
  const groups = [group(1, 1, 0), group(1, 2, 0)];
  const bytes = Buffer.from(groupsToArrow(groups));
  // In the schema a name follows its length, and zeros end it.
  const at = bytes.indexOf("\r\0\0\0sampling_logp\0");
  bytes.fill(0, at, at + 17).write("\b\0\0\0old_logp", at);
  expect(at).toBeGreaterThan(0);
  expect(await groupsFromArrow(new Uint8Array(bytes), "x.arrow")).toStrictEqual(groups);
});

test("a clip's rollouts say how many frames their masks hold, which divide them", async () => {
  const clip = (frames: number) => {
    const [first] = [group(1, 1, 0)];
    return [{ ...first, rollouts: first.rollouts.map((rollout) => ({ ...rollout, frames })) }];
  };
  expect(await groupsFromArrow(groupsToArrow(clip(2)), "x.arrow")).toStrictEqual(clip(2));
  await expect(groupsFromArrow(groupsToArrow(clip(3)), "x.arrow")).rejects.toThrow(
    /frames is 3, which does not divide/,
  );
});

test("the columns do not depend on which loop ran, and the same groups give the same bytes", () => {
  const columns = (loop: 1 | 2) =>
    tableFromIPC(groupsToArrow([group(1, loop, 0)])).schema.fields.map((field) => field.name);
  expect(columns(1)).toEqual(expect.arrayContaining(["rewards/iou", "rewards/meteor"]));
  expect(columns(2).filter((name) => !columns(1).includes(name))).toEqual(["rewards/judge"]);
  expect(groupsToArrow([group(1, 2, 0)])).toEqual(groupsToArrow([group(1, 2, 0)]));
});

test("Hugging Face features describe each column", () => {
  const { schema } = tableFromIPC(groupsToArrow([group(1, 1, 0)]));
  const { info } = JSON.parse(schema.metadata.get("huggingface") ?? "") as {
    info: { features: Record<string, unknown> };
  };
  expect(Object.keys(info.features)).toEqual(schema.fields.map((field) => field.name));
  expect(info.features.given_mask).toEqual({
    counts: { dtype: "string", _type: "Value" },
    size: [{ dtype: "int32", _type: "Value" }],
  });
});

test("nothing is compiled from text, which the page's security policy forbids", async () => {
  const forbid = (): never => {
    throw new EvalError("forbidden");
  };
  vi.stubGlobal("Function", new Proxy(Function, { construct: forbid, apply: forbid }));
  const groups = [group(1, 2, 0)];
  expect(await groupsFromArrow(groupsToArrow(groups), "x.arrow")).toEqual(groups);
});

test("a damaged file is named", async () => {
  const bytes = groupsToArrow([group(1, 1, 0)]);
  for (const broken of [
    bytes.slice(0, 100),
    Uint8Array.of(1, 2, 3),
    new TextEncoder().encode("version https://git-lfs"),
  ]) {
    await expect(groupsFromArrow(broken, "rollouts/step-000001.arrow")).rejects.toThrow(/step-000001\.arrow/);
  }
});

test("a mask that is none is refused, naming the file", async () => {
  const [first] = [group(1, 1, 0)];
  for (const counts of ["04d0`\\~", "5", "", "~~~~"]) {
    const rollouts = first.rollouts.map((rollout) => ({
      ...rollout,
      predictedMask: { size: [4, 6] as const, counts },
    }));
    await expect(groupsFromArrow(groupsToArrow([{ ...first, rollouts }]), "x.arrow")).rejects.toThrow(
      /^x\.arrow holds no rollouts that can be read/,
    );
  }
});

test("columns of each type, nulls inside and outside of nested values", () => {
  const read = (...[type, values]: Parameters<typeof columnData>): unknown =>
    JSON.parse(JSON.stringify([...makeVector(columnData(type, values))]));
  expect(read(new Utf8(), ["a", null, "", "ü😀"])).toEqual(["a", null, "", "ü😀"]);
  expect(read(new Int32(), [1, null, -2147483648])).toEqual([1, null, -2147483648]);
  expect(read(new Float64(), [0.1, undefined, -1])).toEqual([0.1, null, -1]);
  const flags = Array.from({ length: 19 }, (_, n) => (n % 5 === 0 ? null : n % 2 === 0));
  expect(read(new Bool(), flags)).toEqual(flags);
  const struct = new Struct([new Field("a", new Int32(), true), new Field("b", new Utf8(), true)]);
  expect(read(struct, [{ a: 1, b: "x" }, null, { a: null, b: "z" }])).toEqual([
    { a: 1, b: "x" },
    null,
    { a: null, b: "z" },
  ]);
  const list = new List(new Field("item", struct, true));
  expect(read(list, [[{ a: 1, b: "x" }, null], null, [], [{ a: 2, b: null }]])).toEqual([
    [{ a: 1, b: "x" }, null],
    null,
    [],
    [{ a: 2, b: null }],
  ]);
  expect(() => columnData(new Date_(DateUnit.DAY), [1])).toThrow(/cannot be written/);
});
