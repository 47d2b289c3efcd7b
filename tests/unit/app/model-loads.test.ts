import { describe, expect, it } from "vitest";
import { ModelLoads } from "../../../src/app/clients/loading.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";

/** A loader like the worker's: one at a time, ended by its signal, and its reports in order. */
function loader() {
  const said: string[] = [];
  let end: { readonly finish: () => void } | null = null;
  const loads = new ModelLoads();
  const load = (name: string, broken = false) =>
    loads.run(async (signal) => {
      if (end !== null) throw new Error(`${name} began beside another`);
      said.push(`${name} begins`);
      try {
        if (broken) throw badInput("no model");
        await new Promise<void>((finish, fail) => {
          end = { finish };
          signal.addEventListener("abort", () => fail(new LabError("cancelled", "stopped")));
        });
      } finally {
        end = null;
        said.push(`${name} ends`);
      }
      return name;
    });
  return { loads, load, said, finish: () => end?.finish() };
}

const CANCELLED = { code: "cancelled" };
const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("loadings of models", () => {
  it("stop the one in progress, and begin when it has ended", async () => {
    const { loads, load, said, finish } = loader();
    const first = load("large");
    const stopped = expect(first).rejects.toMatchObject(CANCELLED);
    await soon();
    const second = load("pocket");
    await stopped;
    await soon();
    expect(said).toEqual(["large begins", "large ends", "pocket begins"]);
    expect(loads.pending).toBe(true);
    finish();
    expect(await second).toBe("pocket");
    expect(loads.pending).toBe(false);
  });

  it("pass over those that were asked for between the one in progress and the newest", async () => {
    const { load, said, finish } = loader();
    const first = expect(load("first")).rejects.toMatchObject(CANCELLED);
    await soon();
    const second = expect(load("second")).rejects.toMatchObject(CANCELLED);
    const third = load("third");
    await Promise.all([first, second]);
    await soon();
    finish();
    expect(await third).toBe("third");
    expect(said).toEqual(["first begins", "first ends", "third begins", "third ends"]);
  });

  it("are all stopped by one press, and free for the next", async () => {
    const { loads, load, said, finish } = loader();
    const first = expect(load("first")).rejects.toMatchObject(CANCELLED);
    await soon();
    const second = expect(load("second")).rejects.toMatchObject(CANCELLED);
    loads.stop();
    await Promise.all([first, second]);
    expect(loads.pending).toBe(false);
    await expect(load("broken", true)).rejects.toThrow("no model");
    const next = load("next");
    await soon();
    finish();
    expect(await next).toBe("next");
    expect(said).not.toContain("second begins");
  });
});
