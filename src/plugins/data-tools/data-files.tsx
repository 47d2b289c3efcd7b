/** Tables beside the gallery: the shards, and the rows that were left out. */

import type { ReactNode } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Badge, CopyText } from "../../app/components/ui/button.tsx";
import { Dialog } from "../../app/components/ui/overlays.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { labelOf } from "../../app/screens/data/checks.tsx";
import { formatBytes, formatCount, NONE, sentence } from "../../app/styles/format.ts";
import type { SkippedRow } from "../../engine/data/sample.ts";
import type { SetInfo } from "../../engine/data/set-info.ts";
import { quote } from "../../engine/errors.ts";
import { useTableRows } from "../whole-run/table-rows.tsx";
import Corrections from "./corrections.tsx";
import styles from "./data-files.module.css";

/** The dialog of the files, the skipped rows or the checks of the open data. */
export default function DataFiles({ info, open, onClose }: Places["data-files"]): ReactNode {
  const Shown = DIALOGS[open];
  return <Shown info={info} onClose={onClose} />;
}

interface SideProps {
  readonly info: SetInfo;
  readonly onClose: () => void;
}

function ShardsDialog(props: SideProps): ReactNode {
  const { info } = props;
  return (
    <Dialog title="Shards" open onOpenChange={props.onClose} wide>
      <Corrections key={info.name} info={info} onReopen={props.onClose} />
      <div className="scroll-x">
        <table className={`full-width ${styles.table}`}>
          <TableHead
            columns={[
              "File",
              { label: "Rows kept", className: styles.number },
              { label: "Rows", className: styles.number },
              { label: "Size", className: styles.number },
              "Read as",
            ]}
          />
          <tbody>
            {info.files.map((file) => (
              <ShardRow key={file.path} file={file} />
            ))}
          </tbody>
        </table>
      </div>
      {info.ignored.length > 0 && (
        <details className={`muted mt-3 ${styles.ignored}`}>
          <summary>{formatCount(info.ignored.length)} other files were ignored</summary>
          <ul>
            {info.ignored.slice(0, 500).map(({ name, reason }) => (
              <li key={name}>
                {name}: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Dialog>
  );
}

function ShardRow(props: { readonly file: SetInfo["files"][number] }): ReactNode {
  const { file } = props;
  return (
    <>
      <tr>
        <td className={`anywhere ${styles.path}`}>{file.path}</td>
        <td className={styles.number}>{formatCount(file.kept)}</td>
        <td className={styles.number}>{formatCount(file.rows)}</td>
        <td className={styles.number}>{formatBytes(file.bytes)}</td>
        <td>{file.adapter}</td>
      </tr>
      <tr className={styles.schema}>
        <td colSpan={5}>
          {file.what !== "" && <p>{file.what}</p>}
          {file.becomes !== "" && <p>{file.becomes}</p>}
          {file.problem !== undefined && <p className="warn">{file.problem}</p>}
          <code>{file.schema}</code>
        </td>
      </tr>
    </>
  );
}

function SkippedDialog(props: SideProps): ReactNode {
  const { skipped } = props.info;
  const report = ["file\trow\tcolumn\treason", ...skipped.map(line)].join("\n");
  return (
    <Dialog title={`Skipped (${formatCount(skipped.length)})`} open onOpenChange={props.onClose} wide>
      <SkippedTable skipped={skipped} />
      <p className="mt-3">
        <CopyText label="Copy report" text={() => report} />
      </p>
    </Dialog>
  );
}

/** The row, "all" for a file that cannot be read, or nothing for parts of a file. */
const place = ({ row, lost }: SkippedRow): string => (row >= 0 ? formatCount(row) : lost === undefined ? "all" : NONE);

const line = (row: SkippedRow): string => [row.file, place(row), row.column, row.reason].join("\t");

/** Any number of rows: only those in sight are in the page. */
function SkippedTable(props: { readonly skipped: readonly SkippedRow[] }): ReactNode {
  const { skipped } = props;
  const { scroller, items, above, below, measure } = useTableRows<HTMLDivElement>(skipped.length, 44);
  return (
    <div ref={scroller} className={`scroll ${styles.tall}`}>
      <table className={`full-width ${styles.table}`} aria-rowcount={skipped.length + 1}>
        <TableHead columns={["File", { label: "Row", className: styles.number }, "Column", "Reason"]} />
        <tbody>
          <tr style={{ height: above }} />
          {items.map((item) => {
            const row = skipped[item.index];
            if (row === undefined) return null;
            return (
              <tr key={item.key} data-index={item.index} ref={measure} aria-rowindex={item.index + 2}>
                <td className={`anywhere ${styles.path}`}>{row.file}</td>
                <td className={styles.number}>{place(row)}</td>
                <td>{row.column || NONE}</td>
                <td>{row.reason}</td>
              </tr>
            );
          })}
          <tr style={{ height: below }} />
        </tbody>
      </table>
    </div>
  );
}

function ChecksDialog({ info, onClose }: SideProps): ReactNode {
  return (
    <Dialog title="Data checks" open onOpenChange={onClose} wide>
      <ul className={`column-flex gap-3 m-0 p-0 no-bullets ${styles.checks}`} data-testid="checks-list">
        {info.checks.map((check) => (
          <li key={check.name} className="grid gap-3 align-start">
            <Badge tone={check.ok ? "good" : check.blocks ? "bad" : "warn"}>
              {check.ok ? "Passed" : check.blocks ? "Failed" : "Warning"}
            </Badge>
            <div>
              <strong>{labelOf(check)}</strong>
              <p className="muted anywhere">{sentence(check.detail)}</p>
              {check.name === "captions found" &&
                info.pairs.map(({ file, row, question, answer, became }) => (
                  <p key={`${file}#${row}: ${question}`} className="muted anywhere" data-testid="sample-pair">
                    {quote(question, 160)} → {quote(answer, 160)}: {became}
                  </p>
                ))}
            </div>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

const DIALOGS = { shards: ShardsDialog, skipped: SkippedDialog, checks: ChecksDialog } as const;
