/**
 * A run as fragments of trackio's inbox (version 1, as trackio 0.43 reads them): one JSON object per step with its
 * metrics, pictures and rollouts, and one per alarm. `TRACKIO_DIR=DIR trackio show` imports the folder.
 */
import { type ExportFiles, type ExportFormat, type ExportSources, wholeFile } from "../../engine/export/export-file.ts";
import { readAlarms } from "../../engine/runs/alarms.ts";
import { readEvaluations } from "../../engine/runs/evaluations/evaluations.ts";
import { withAliases } from "../../engine/runs/metrics/metric-table.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";
import { drawnGroups, evaluationValues, metricEvents } from "../../engine/runs/run-events.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";

export const trackio: ExportFormat = { uses: ["pictureOf"], files: trackioFiles };

const PROJECT = "sa2va-lab";
const LEVELS = { error: "ERROR", warning: "WARN" } as const;

async function* trackioFiles(run: RunFolder, { pictureOf = null }: ExportSources): ExportFiles {
  const { id, title, config, created, model, data } = run.manifest();
  const start = new Date(created).getTime() / 1000;
  const events = metricEvents(start, (await run.readMetrics()).map(withAliases));
  const timeOf = (step: number): string =>
    new Date(1000 * (events.findLast((event) => event.step <= step)?.wallTime ?? start)).toISOString();
  const steps = new Map<number, Record<string, unknown>>();
  const add = (step: number, values: Readonly<Record<string, unknown>>): void => {
    steps.set(step, { ...steps.get(step), ...values });
  };
  for (const { step, values } of events) add(step, values);
  for (const { report } of await readEvaluations(run.store, run.id)) add(report.step, evaluationValues(report));
  for await (const { group, image } of drawnGroups(run, pictureOf)) {
    const { step, loop } = group;
    const name = `loop${loop}-rollouts.png`;
    // trackio keeps the pictures of a step in this folder of its media.
    const path = `${PROJECT}/${id}/${step}/${name}`;
    yield wholeFile(`media/${path}`, image.png);
    const picture = { _type: "trackio.image", file_path: path, caption: `Row ${group.rowId}` };
    const table = { _type: "trackio.table", _value: group.rollouts.map(rolloutCells) };
    add(step, { [`loop${loop}/pictures`]: picture, [`loop${loop}/rollouts`]: table });
  }
  const of = { v: 1, project: PROJECT, run: id, run_id: id };
  const about = { ...config, title, model: model.name, data: data.name };
  const metrics = [...steps]
    .sort(([a], [b]) => a - b)
    .map(([step, values]) => ({
      ...{ ...of, kind: "metric", metrics: values, step, timestamp: timeOf(step), config: about },
      log_id: `${id}-${step}`,
    }));
  const alerts = (await readAlarms(run.store, run.id)).map(({ id: alarm, step, severity, message }) => ({
    ...{ ...of, kind: "alert", title: alarm, text: message, level: LEVELS[severity], step, timestamp: timeOf(step) },
    alert_id: `${id}-${step}-${alarm}`,
  }));
  const lines = [...metrics, ...alerts].map((record) => `${JSON.stringify(record, finite)}\n`);
  yield wholeFile(`inbox/${id}/00000000.jsonl`, lines.join(""));
  yield wholeFile("README.md", README);
}

/** Numbers that JSON lacks, as trackio writes them. */
function finite(_: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

function rolloutCells(rollout: GroupRecord["rollouts"][number]): Readonly<Record<string, unknown>> {
  const { index, loop, reward, advantage, referenceCaption, terms } = rollout;
  return {
    rollout: index + 1,
    caption: generatedText(loop, rollout),
    reference: referenceCaption,
    reward,
    advantage,
    ...Object.fromEntries(terms.map(({ name, value }) => [name, value])),
  };
}

const README = `# A run for trackio

    TRACKIO_DIR="$PWD" trackio show --project ${PROJECT}

imports \`inbox\` and shows metrics, held-out scores, pictures of rollouts, tables of their captions and rewards, and alarms.
trackio deletes the imported lines; \`media\` has the pictures and stays where it is.
`;
