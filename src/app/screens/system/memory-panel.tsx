import { Fragment, type ReactNode } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { useSession } from "../../stores/session.ts";
import { formatBytes, formatCount, NONE } from "../../styles/format.ts";
import { OWNER_GROUPS, OWNER_TEXTS } from "./owner-texts.ts";
import styles from "./system.module.css";

type MemoryEntry = SystemReport["memory"]["owners"][number];

/** In the order of a forward pass, then of an update. */
const ORDER = Object.keys(OWNER_TEXTS);

/** Memory by owner; memory without an owner belongs to the current step. */
export function MemoryPanel({ report }: { readonly report: SystemReport | null }): ReactNode {
  const broken = useSession((session) => session.gpuError !== null);
  if (report === null) {
    return (
      <Panel title="Memory by owner">
        <p className="muted">
          {broken ? "No memory is used: there is no GPU device" : "Memory is shown when the GPU device is open"}
        </p>
      </Panel>
    );
  }
  const { memory } = report;
  const size = ({ bytes, hostBytes }: MemoryEntry): number => bytes + hostBytes;
  const most = Math.max(1, ...memory.owners.map(size));
  const groups = OWNER_GROUPS.map((group) => ({
    ...group,
    owners: memory.owners
      .filter(({ owner }) => OWNER_TEXTS[owner].group === group.id)
      .sort((a, b) => ORDER.indexOf(a.owner) - ORDER.indexOf(b.owner)),
  })).filter(({ owners }) => owners.length > 0);
  return (
    <Panel title="Memory by owner">
      {groups.length === 0 && <p className="muted">No memory is used: no model is loaded</p>}
      {groups.length > 0 && (
        <table className={`full-width ${styles.table}`} data-testid="owners">
          <TableHead columns={["Owner", "Tensors", "Bytes"]} />
          <tbody>
            {groups.map(({ id, title, owners }) => (
              <Fragment key={id}>
                <tr>
                  <th scope="colgroup" colSpan={3} className={styles.group}>
                    {title}
                  </th>
                </tr>
                {owners.map((holding) => (
                  <tr key={holding.owner}>
                    <th scope="row" className={styles.owner} title={OWNER_TEXTS[holding.owner].help}>
                      {OWNER_TEXTS[holding.owner].label}
                      <span className={`block relative ${styles.share} ${styles.whole}`} aria-hidden="true">
                        <i data-fill style={{ width: `${(100 * size(holding)) / most}%` }} />
                      </span>
                    </th>
                    <td>{holding.tensors === 0 ? NONE : formatCount(holding.tensors)}</td>
                    <td>{size(holding) === 0 ? NONE : formatBytes(size(holding))}</td>
                  </tr>
                ))}
              </Fragment>
            ))}
          </tbody>
          <tfoot>
            <tr className={`${styles.sum} ${styles.quiet}`}>
              <th scope="row">Tensors, as counted by the backend</th>
              <td>{formatCount(memory.tensors)}</td>
              <td>{formatBytes(memory.bytes)}</td>
            </tr>
            <tr className={styles.quiet}>
              <th scope="row">GPU buffers in use</th>
              <td />
              <td>{formatBytes(memory.gpuBytes)}</td>
            </tr>
          </tfoot>
        </table>
      )}
      <p className="mt-2 muted small">
        Tensors are uploaded at first use, so GPU buffers can be smaller than the sum of all tensors
      </p>
    </Panel>
  );
}
