/** The evaluation of a stored checkpoint; the trainer is a stand-in. */
import { expect, it } from "vitest";
import { EVALUATION, runningOf, stopJob } from "../../../src/app/stores/jobs.ts";
import { useSession } from "../../../src/app/stores/session.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { evaluateCheckpoint } from "../../../src/plugins/run-details/run-details.tsx";
import { openFakeLab, untilStopped } from "./fake-lab.ts";

const RUN = { id: "run", title: "brave otter", config: presetConfig("demo") };

/** What the trainer was asked for: step and rows. */
const asked: (readonly [number, number])[] = [];

openFakeLab({
  trainer: {
    async evaluate(_id, rows, step, onRows, signal) {
      asked.push([step, rows.rows.length]);
      onRows(1, 2);
      await untilStopped(signal);
    },
  },
});

it("is shown with its progress from the press on, and can be stopped", async () => {
  useSession.setState({
    rows: [{ id: "row", imageId: "", index: 0, caption: "a car" } as RegionSummary],
    dataInfo: { name: "rows", checks: [] as SetInfo["checks"] } as SetInfo,
  });
  const evaluated = evaluateCheckpoint(RUN, 4);
  expect(runningOf(EVALUATION)).toMatchObject({ runId: "run", title: "brave otter", step: 4, done: 0 });
  await expect.poll(() => asked).toEqual([[4, 1]]);
  await expect.poll(() => runningOf(EVALUATION)).toMatchObject({ done: 1, total: 2 });
  stopJob(EVALUATION);
  await expect(evaluated).rejects.toThrow("stopped");
  expect(runningOf(EVALUATION)).toBeNull();
});
