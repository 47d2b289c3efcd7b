/** Verdicts given faster than they are stored; the worker is a stand-in. */
import { beforeEach, describe, expect, it } from "vitest";
import { giveThumb } from "../../../src/app/clients/run/thumb-actions.ts";
import { forgetThumbs, thumbStore } from "../../../src/app/stores/run/thumbs.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { Thumb, Thumbs } from "../../../src/engine/runs/rollouts/thumbs.ts";
import { openFakeLab } from "./fake-lab.ts";

let stored: Record<string, Thumb> = {};
let written: (Thumb | null)[] = [];
let full = false;

openFakeLab({
  data: {
    thumbs: async (): Promise<Thumbs> => stored,
    async setThumb(_run, rollout, thumb): Promise<Thumbs> {
      if (full) throw new LabError("storage", "The storage is full");
      written.push(thumb);
      const { [rollout]: _, ...others } = stored;
      stored = thumb === null ? others : { ...others, [rollout]: thumb };
      return stored;
    },
  },
});

beforeEach(() => {
  [stored, written, full] = [{}, [], false];
  forgetThumbs();
});

const thumbs = (): Thumbs => thumbStore.getState().thumbs;

describe("a thumb", () => {
  it("is taken back by a second press, however soon", async () => {
    giveThumb("run", "1-1-0-0", 1);
    expect(thumbs()).toEqual({ "1-1-0-0": 1 });
    giveThumb("run", "1-1-0-0", 1);
    expect(thumbs()).toEqual({});
    await expect.poll(() => written).toEqual([1, null]);
  });

  it("is given where the rollout of the same id of another run has it", async () => {
    thumbStore.setState({ runId: "other", thumbs: { "1-1-0-0": 1 } });
    giveThumb("run", "1-1-0-0", 1);
    await expect.poll(() => written).toEqual([1]);
  });

  it("is shown as it is stored where it cannot be stored", async () => {
    stored = { "1-1-0-0": -1 };
    full = true;
    giveThumb("run", "1-1-0-0", 1);
    await expect.poll(thumbs).toEqual({ "1-1-0-0": -1 });
  });
});
