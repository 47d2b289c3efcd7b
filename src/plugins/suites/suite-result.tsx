import type { ReactNode } from "react";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { counted, fixed, NONE } from "../../app/styles/format.ts";
import { verdict } from "../../engine/runs/evaluations/difference-text.ts";
import { looksText } from "./report.ts";
import type { SuiteScore } from "./run-suite.ts";
import type { PublishedScore } from "./suite.ts";
import { useSuite } from "./suite-store.ts";
import styles from "./suites.module.css";

/** A score times 100, as papers print it. */
export const percent = (value: number | undefined): string => fixed(value === undefined ? value : 100 * value, 1);
const interval = ({ low, high }: SuiteScore): string => `${percent(low)} to ${percent(high)}`;

/** Scores with intervals, base against adapter, published numbers below their metric; what was left out. */
export function SuiteResult(): ReactNode {
  const report = useSuite((state) => state.report);
  const leftOut = useSuite((state) => state.leftOut);
  if (report === null) return null;
  const { systems, difference, published, rows, pictures, unjudged, judge } = report;
  const base = systems.base ?? [];
  const extra = published.filter(({ metric }) => !base.some((score) => score.metric === metric));
  const printed = published.length > extra.length;
  return (
    <Panel title={`${report.suite}${report.split === null ? "" : ` ${report.split}`}`}>
      <p className="small muted mb-3" data-testid="suite-counts">
        {counted(rows, "row")} of {counted(pictures, "picture")}, {report.interval}
        {judge === null ? "" : `; judge: ${judge}`}; {looksText(report)}
        {unjudged > 0
          ? `; ${counted(unjudged, "caption")} without a verdict, whose rows are left out; see Rewards → Judge`
          : ""}
      </p>
      <div className="scroll-x">
        <table className={styles.table} data-testid="suite-scores">
          <TableHead
            columns={[
              "Metric, ×100",
              "Base",
              ...(systems.adapter === undefined ? [] : ["Adapter"]),
              ...(difference === null ? [] : ["Difference"]),
              ...(printed ? [{ label: "Published", className: styles.published }] : []),
            ]}
          />
          <tbody>
            {base.map((score) => {
              const { metric } = score;
              const own = (list: readonly SuiteScore[] | null | undefined) =>
                list?.find((one) => one.metric === metric);
              const [adapter, change] = [own(systems.adapter), own(difference)];
              return (
                <tr key={metric}>
                  <th scope="row">{metric}</th>
                  <Cell score={score} pictures={pictures} />
                  {systems.adapter !== undefined && <Cell score={adapter} pictures={pictures} />}
                  {difference !== null && <Cell score={change} pictures={pictures} difference />}
                  {printed && (
                    <td className={styles.published}>
                      <Published entries={published.filter((one) => one.metric === metric)} />
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {extra.length > 0 && (
        <p className="small muted mt-3">
          Published numbers, not computed here: <Published entries={extra} metric />
        </p>
      )}
      {leftOut.length > 0 && (
        <details className="small mt-3">
          <summary>Rows left out, {counted(leftOut.length, "reason")}</summary>
          <ul className="anywhere">
            {leftOut.slice(0, 50).map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

function Cell(props: {
  readonly score: SuiteScore | undefined;
  readonly pictures: number;
  readonly difference?: boolean;
}): ReactNode {
  const { score, pictures, difference = false } = props;
  if (score === undefined) return <td>{NONE}</td>;
  return (
    <td {...(difference ? { "data-verdict": verdict(score, pictures) } : {})}>
      <b>
        {difference && score.value > 0 ? "+" : ""}
        {percent(score.value)}
      </b>
      <small className="block muted nowrap">{interval(score)}</small>
    </td>
  );
}

/** Published numbers, one line per source. */
function Published(props: { readonly entries: readonly PublishedScore[]; readonly metric?: boolean }): ReactNode {
  const sources = [...new Set(props.entries.map(({ source }) => source))];
  return sources.map((source) => (
    <span key={source} className="block small">
      {props.entries
        .filter((one) => one.source === source)
        .map(({ model, metric, value }) => `${model} ${props.metric === true ? `${metric} ` : ""}${value.toFixed(1)}`)
        .join(", ")}{" "}
      <span className="muted">({source})</span>
    </span>
  ));
}
