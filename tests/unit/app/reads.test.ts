/** The cache of what is read of run folders. */
import { expect, it } from "vitest";
import { outdate, outdateBy, outdateRun, type Read, readKey, readOnce } from "../../../src/app/stores/reads.ts";

/** A read whose answers the test gives, one by one. */
function asked(key: string) {
  const answers: { readonly give: (value: string) => void; readonly fail: (why: Error) => void }[] = [];
  const read: Read<string> = {
    key,
    read: () => new Promise((give, fail) => void answers.push({ give, fail })),
  };
  return { read, answers };
}

it("a read is done once, for all who ask, until it is outdated", async () => {
  const { read, answers } = asked(readKey("run", "once"));
  const [first, second] = [readOnce(read), readOnce(read)];
  answers[0]?.give("a");
  expect(await Promise.all([first, second, readOnce(read)])).toEqual(["a", "a", "a"]);
  outdate(readKey("run", "other"), readKey("run", "onc"));
  expect(await readOnce(read)).toBe("a");
  outdate(readKey("run", "once"));
  const again = readOnce(read);
  answers[1]?.give("b");
  expect(await again).toBe("b");
  expect(answers).toHaveLength(2);
});

it("a read that began before a change is not what is asked for after it", async () => {
  const { read, answers } = asked(readKey("run", "late"));
  const before = readOnce(read);
  outdateRun("late");
  const after = readOnce(read);
  answers[0]?.give("old");
  expect(await before).toBe("old");
  await expect.poll(() => answers.length).toBe(2);
  answers[1]?.give("new");
  expect(await after).toBe("new");
});

it("a failed read is told to those who asked and tried again by the next", async () => {
  const { read, answers } = asked(readKey("alarms", "lost"));
  const failing = readOnce(read);
  answers[0]?.fail(new Error("no such file"));
  await expect(failing).rejects.toThrow("no such file");
  const again = readOnce(read);
  answers[1]?.give("found");
  expect(await again).toBe("found");
});

it("an event of the trainer outdates the parts of its run that it changes", async () => {
  const alarm = { id: "kl", step: 1, severity: "warning", message: "" } as const;
  const parts = { run: "", evaluations: "", groups: " 3", alarms: "" } as const;
  const reads = Object.keys(parts).map((part) => {
    const own = readKey(part as keyof typeof parts, "owl", ...(part === "groups" ? [3] : []));
    let count = 0;
    return { part, read: { key: own, read: async () => ++count } satisfies Read<number> };
  });
  const changed = async (event: Parameters<typeof outdateBy>[0]) => {
    const before = await Promise.all(reads.map(({ read }) => readOnce(read)));
    outdateBy(event, "owl");
    const after = await Promise.all(reads.map(({ read }) => readOnce(read)));
    return reads.flatMap(({ part }, at) => (after[at] === before[at] ? [] : [part]));
  };
  expect(await changed({ type: "alarm", alarm } as never)).toEqual(["alarms"]);
  expect(await changed({ type: "checkpoint", step: 2, bytes: 1 } as never)).toEqual(["run"]);
  expect(await changed({ type: "eval" } as never)).toEqual(["run", "evaluations"]);
  expect(await changed({ type: "step", step: 3 } as never)).toEqual(["groups"]);
  expect(await changed({ type: "step", step: 30 } as never)).toEqual([]);
  expect(await changed({ type: "phase" } as never)).toEqual([]);
});
