import { type ReactNode, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { useDeviceBlocker } from "../../app/clients/run/blockers.ts";
import { saveJson } from "../../app/clients/save-blob.ts";
import { Badge, Button, CopyText } from "../../app/components/ui/button.tsx";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { type Job, stopJob, useJob } from "../../app/stores/jobs.ts";
import { compact, formatSeconds } from "../../app/styles/format.ts";
import { browserName } from "../diagnostics/page-panels.tsx";
import type { CardLine, CardSizes, CardUnit } from "./card-line.ts";
import { CARD, type CardReport, measureCard } from "./card-report.ts";

const SIZES: Readonly<Record<CardSizes, string>> = { "1B": "1B model", small: "Small" };

/** Measures the graphics card as `npm run card-battery` does, without other libraries, and writes a report to share. */
export default function CardPanel(): ReactNode {
  const job = useJob(CARD);
  const { lines = [], total = 0, sizes: measured } = job?.progress ?? {};
  const [sizes, setSizes] = useState<CardSizes>("1B");
  const busy = useDeviceBlocker();
  const running = job?.state === "running";
  return (
    <Panel
      title="Measure this card"
      aside={
        <span className="inline-flex gap-2 align-centre">
          {(job?.state === "stopped" || job?.state === "failed") && (
            <Badge tone="warn">{`Stopped after ${lines.length}`}</Badge>
          )}
          {job?.state === "done" && <Verdict lines={lines} />}
          {running ? (
            <Button data-testid="card-cancel" onClick={() => stopJob(CARD)}>
              Cancel
            </Button>
          ) : (
            <Button data-testid="card-measure" blocker={busy} onClick={() => report(measureCard(sizes))}>
              {job === null ? "Measure" : "Measure again"}
            </Button>
          )}
        </span>
      }
    >
      <div className="row wrap gap-2-3 mb-3">
        <Segmented label="Sizes" options={SIZES} value={sizes} onChange={setSizes} />
        {job !== null && lines.length > 0 && !running && (
          <>
            <CopyText kind="quiet" label="Copy text" text={() => textOf(job)} />
            <Button
              kind="quiet"
              onClick={() =>
                saveJson({ browser: browserName(), sizes: measured, state: job.state, lines }, "card-report.json")
              }
            >
              Save JSON
            </Button>
          </>
        )}
      </div>
      {job === null ? (
        <p className="muted">
          Checks correctness and measures arithmetic, memory, dispatches, decoding of 1 to 16 rows and the fastest
          kernel forms, all at the sizes of a 1B model with random weights. Takes minutes and 1.2 GB of GPU memory;
          small sizes take seconds. The report names the adapter and the browser and contains no data.
        </p>
      ) : (
        <div data-testid="card-report">
          <p role="status" className="muted">
            {running ? `${lines.length} of ${total === 0 ? "…" : total}` : `${lines.length} lines`}
          </p>
          <Lines lines={lines} />
        </div>
      )}
    </Panel>
  );
}

function Verdict({ lines }: { readonly lines: readonly CardLine[] }): ReactNode {
  const bad = lines.filter(isBad).length;
  return bad === 0 ? <Badge tone="good">Measured</Badge> : <Badge tone="bad">{`${bad} failed`}</Badge>;
}

const isBad = ({ passed, failed }: CardLine): boolean => passed === false || failed !== undefined;

/** Rates, and what failed; checks that passed are in the report. */
function Lines({ lines }: { readonly lines: readonly CardLine[] }): ReactNode {
  const shown = lines.filter((line) => line.unit !== undefined || isBad(line));
  return (
    <div className="scroll-x">
      <table className="full-width">
        <TableHead columns={["Measurement", "Result"]} />
        <tbody>
          {shown.map((line) => (
            <tr key={`${line.stage} ${line.case ?? ""}`}>
              <th scope="row">
                <span className={isBad(line) ? "bad" : undefined}>{line.case ?? line.stage}</span>
                {line.failed !== undefined && <small className="block muted tiny">{line.failed}</small>}
              </th>
              <td>{resultOf(line)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const UNITS: Readonly<Record<CardUnit, (value: number) => string>> = {
  "FLOP/s": (value) => `${compact(value / 1e9)} GFLOP/s`,
  "B/s": (value) => `${compact(value / 1e9)} GB/s`,
  s: (value) => (value < 1e-3 ? `${compact(value * 1e6)} µs` : formatSeconds(value)),
};

function resultOf({ value, unit, passed, failed }: CardLine): string {
  if (unit !== undefined && value !== undefined) return UNITS[unit](value);
  return failed !== undefined || passed === false ? "failed" : "passed";
}

/** One line per measurement, to paste into an issue. */
function textOf({ state, progress: { lines, sizes } }: Job<CardReport, void>): string {
  const head = `sizes ${sizes}, ${state}, ${browserName()}`;
  const adapter = lines.find(({ stage }) => stage === "adapter");
  const name = [adapter?.vendor, adapter?.architecture, adapter?.description].filter(Boolean).join(" ");
  const rest = lines.filter(({ stage }) => stage !== "adapter");
  return [head, name, ...rest.map((line) => `${line.stage}: ${line.case ?? ""} ${resultOf(line)}`), ""].join("\n");
}
