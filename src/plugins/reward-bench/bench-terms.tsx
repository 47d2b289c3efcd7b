import { type ReactNode, useMemo } from "react";
import { TableHead } from "../../app/components/ui/table.tsx";
import { fixed, percent } from "../../app/styles/format.ts";
import styles from "./bench.module.css";
import look from "./bench-terms.module.css";
import { type MeasuresProps, measureName } from "./bench-view.ts";
import { histogram, type Measure, summarise } from "./statistics.ts";

const BINS = 16;

/** Distribution and spread of every term, one row each; the reward first. */
export function BenchTerms({ groups, measures, selection, onSelect }: MeasuresProps): ReactNode {
  return (
    <div className="scroll-x">
      <table className={`full-width ${look.terms}`} data-testid="bench-terms">
        <TableHead
          columns={[
            "Term",
            "Distribution",
            "Mean",
            { label: "Std", title: "Standard deviation over all rollouts" },
            { label: "Within groups", title: "Mean standard deviation within a group. Advantages depend only on this" },
            { label: "Zero-spread groups", title: "Share of groups in which the term does not vary" },
            "Missing",
          ]}
        />
        <tbody>
          {measures.map((measure) => (
            <Row key={measure} {...{ groups, measure, selection, onSelect }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface MeasureProps extends Omit<MeasuresProps, "measures"> {
  readonly measure: Measure;
}

function Row(props: MeasureProps): ReactNode {
  const { groups, measure, onSelect } = props;
  const summary = useMemo(() => summarise(groups, measure), [groups, measure]);
  const weight = groups[0]?.rollouts[0]?.terms.find((term) => term.name === measure)?.weight ?? 0;
  return (
    <tr data-rewarded={measure === "reward" || weight !== 0}>
      <th scope="row">
        {measureName(measure)}
        {measure !== "reward" && <span>{weight === 0 ? "not rewarded" : `weight ${fixed(weight, 2)}`}</span>}
      </th>
      <td>
        <Bars {...props} />
      </td>
      <td>{fixed(summary.mean, 3)}</td>
      <td>{fixed(summary.std, 3)}</td>
      <td>{fixed(summary.withinStd, 3)}</td>
      <td>
        <NumberButton onClick={() => onSelect({ kind: "flat", measure })}>{percent(summary.flatShare)}</NumberButton>
      </td>
      <td>
        {summary.missing === 0 ? (
          "0"
        ) : (
          <NumberButton onClick={() => onSelect({ kind: "missing", measure })}>{summary.missing}</NumberButton>
        )}
      </td>
    </tr>
  );
}

/** A number that opens the rollouts behind it. */
function NumberButton(props: { readonly onClick: () => void; readonly children: ReactNode }): ReactNode {
  return <button type="button" className={`p-0 pointer clear borderless ${styles.number}`} {...props} />;
}

/** A histogram whose bars are buttons. */
function Bars({ groups, measure, selection, onSelect }: MeasureProps): ReactNode {
  const bins = useMemo(() => histogram(groups, measure, BINS), [groups, measure]);
  const most = Math.max(1, ...bins.map((bin) => bin.count));
  const first = bins[0];
  const last = bins.at(-1);
  if (first === undefined || last === undefined) return <span className="muted small">no values</span>;
  return (
    <div>
      <div className={`flex ${look.bars}`}>
        {bins.map((bin, at) => (
          <button
            key={bin.from}
            type="button"
            className="flex p-0 borderless clear pointer lit"
            disabled={bin.count === 0}
            aria-label={`${measureName(measure)}: ${bin.count} from ${fixed(bin.from, 3)} to ${fixed(bin.to, 3)}`}
            title={`${bin.count} from ${fixed(bin.from, 3)} to ${fixed(bin.to, 3)}`}
            aria-pressed={selection?.kind === "bin" && selection.measure === measure && selection.bin.from === bin.from}
            onClick={() => onSelect({ kind: "bin", measure, bin, last: at === bins.length - 1 })}
          >
            <i data-fill style={{ height: `${bin.count === 0 ? 0 : Math.max(6, (bin.count / most) * 100)}%` }} />
          </button>
        ))}
      </div>
      <div className="flex between muted tiny" aria-hidden="true">
        <span>{fixed(first.from, 2)}</span>
        <span>{fixed(last.to, 2)}</span>
      </div>
    </div>
  );
}
