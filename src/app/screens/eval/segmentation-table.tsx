import type { ReactNode } from "react";
import { differenceText, verdict } from "../../../engine/runs/evaluations/difference-text.ts";
import type { EvalReport, SegmentationMetric } from "../../../engine/runs/evaluations/evaluations.ts";
import { TableHead } from "../../components/ui/table-head.tsx";
import { fixed, NONE } from "../../styles/format.ts";
import styles from "./eval.module.css";

const NAMES: readonly { readonly id: SegmentationMetric; readonly name: string; readonly help: string }[] = [
  { id: "giou", name: "gIoU", help: "Mean IoU over rows" },
  { id: "ciou", name: "cIoU", help: "Total intersection over total union; large regions count more" },
  { id: "precision_50", name: "P@0.5", help: "Share of rows with IoU of at least 0.5" },
  { id: "precision_70", name: "P@0.7", help: "Share of rows with IoU of at least 0.7" },
  { id: "precision_90", name: "P@0.9", help: "Share of rows with IoU of at least 0.9" },
];

/** Grounding in the metrics of referring segmentation; nothing for evaluations without pixel counts. */
export function SegmentationTable(props: {
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
                <td>{fixed(start, 3)}</td>
                <td>{fixed(value, 3)}</td>
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
