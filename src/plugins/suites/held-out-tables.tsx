/** Held-out scores as papers report them: by the metrics of referring segmentation, and by source of a mix. */
import type { ReactNode } from "react";
import { evalTexts } from "../../app/components/held-out-texts.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { TableHead } from "../../app/components/ui/table.tsx";
import { fixed, formatCount, NONE, scoreText } from "../../app/styles/format.ts";
import { differenceText, verdict } from "../../engine/runs/evaluations/difference-text.ts";
import { EVAL_METRICS } from "../../engine/runs/evaluations/evaluation-metrics.ts";
import type { EvalReport, SegmentationMetric } from "../../engine/runs/evaluations/evaluations.ts";
import styles from "./held-out-tables.module.css";

export default function HeldOutTables({ first, last, metric, pictures }: Places["held-out"]): ReactNode {
  return (
    <>
      <SourceTable first={first} last={last} />
      {metric === "grounding_iou" && <SegmentationTable first={first} last={last} pictures={pictures} />}
    </>
  );
}

const NAMES: readonly { readonly id: SegmentationMetric; readonly name: string; readonly help: string }[] = [
  { id: "giou", name: "gIoU", help: "Mean IoU over rows" },
  { id: "ciou", name: "cIoU", help: "Total intersection over total union; large regions count more" },
  { id: "precision_50", name: "P@0.5", help: "Share of rows with IoU of at least 0.5" },
  { id: "precision_70", name: "P@0.7", help: "Share of rows with IoU of at least 0.7" },
  { id: "precision_90", name: "P@0.9", help: "Share of rows with IoU of at least 0.9" },
];

/** Grounding in the metrics of referring segmentation; nothing for evaluations without pixel counts. */
function SegmentationTable(props: {
  readonly first: EvalReport;
  readonly last: EvalReport;
  readonly pictures: number;
}): ReactNode {
  const { first, last, pictures } = props;
  const now = last.segmentation;
  if (now === undefined) return null;
  return (
    <div className={`scroll-x ${styles.segmentation}`}>
      <table data-testid="segmentation">
        <caption className="muted small text-left">Referring-segmentation metrics</caption>
        <TableHead columns={["Score", "Start", "Now", "Difference (95 %)"]} />
        <tbody>
          {NAMES.map(({ id, name, help }) => {
            const { value, difference } = now[id];
            const start = first.segmentation?.[id].value;
            return (
              <tr key={id} title={help}>
                <th scope="row">{name}</th>
                <td>{scoreText(start)}</td>
                <td>{scoreText(value)}</td>
                <td data-verdict={verdict(difference, pictures)}>
                  {difference === null ? NONE : differenceText(difference)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Mean scores of the report rows by source of the mix, beside the scores of the start; nothing without a mix. */
function SourceTable(props: { readonly first: EvalReport; readonly last: EvalReport }): ReactNode {
  const { first, last } = props;
  if (last.sources === undefined) return null;
  const titles = new Map(evalTexts(last.reward.judge).map(({ id, title }) => [id, title]));
  const names = EVAL_METRICS.map((metric) => titles.get(metric) ?? metric);
  return (
    <div className={`scroll-x ${styles.segmentation}`}>
      <table data-testid="eval-sources">
        <caption className="muted small text-left">Scores by source, start → now</caption>
        <TableHead columns={["Source", "Rows", ...names]} />
        <tbody>
          {Object.entries(last.sources).map(([name, { n, means }]) => (
            <tr key={name}>
              <th scope="row">{name === "*" ? "other files" : name}</th>
              <td>{formatCount(n)}</td>
              {EVAL_METRICS.map((metric) => {
                const start = first.sources?.[name]?.means[metric];
                return (
                  <td key={metric}>
                    {start === undefined || first === last ? "" : `${fixed(start, 3)} → `}
                    {fixed(means[metric], 3)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
