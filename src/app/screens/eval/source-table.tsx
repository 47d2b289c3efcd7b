import type { ReactNode } from "react";
import { EVAL_METRICS } from "../../../engine/runs/evaluations/evaluation-metrics.ts";
import type { EvalReport } from "../../../engine/runs/evaluations/evaluations.ts";
import { TableHead } from "../../components/ui/table-head.tsx";
import { fixed, formatCount } from "../../styles/format.ts";
import styles from "./eval.module.css";
import { evalTexts } from "./eval-metrics.ts";

/** Mean scores of the report rows by source of the mix, beside the scores of the start; nothing without a mix. */
export function SourceTable(props: { readonly first: EvalReport; readonly last: EvalReport }): ReactNode {
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
