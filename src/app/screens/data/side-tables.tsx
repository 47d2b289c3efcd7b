/** Tables beside the gallery: the shards, and the rows that were left out. */

import type { ReactNode } from "react";
import type { SkippedRow } from "../../../engine/data/sample.ts";
import type { SetInfo } from "../../../engine/data/set-info.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { CopyText } from "../../components/ui/button.tsx";
import { Dialog } from "../../components/ui/overlays.tsx";
import { TableHead, useTableRows } from "../../components/ui/table.tsx";
import { formatBytes, formatCount, NONE } from "../../styles/format.ts";
import styles from "./side-tables.module.css";

interface SideProps {
  readonly info: SetInfo;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function ShardsDialog(props: SideProps): ReactNode {
  const { info } = props;
  return (
    <Dialog title="Shards" open={props.open} onOpenChange={props.onOpenChange} wide>
      <PluginPanels key={info.name} at="shards" given={{ info, onReopen: () => props.onOpenChange(false) }} />
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

export function SkippedDialog(props: SideProps): ReactNode {
  const { skipped } = props.info;
  const report = ["file\trow\tcolumn\treason", ...skipped.map(line)].join("\n");
  return (
    <Dialog title={`Skipped (${formatCount(skipped.length)})`} open={props.open} onOpenChange={props.onOpenChange} wide>
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
