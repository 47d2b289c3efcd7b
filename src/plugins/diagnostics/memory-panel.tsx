import { Fragment, type ReactNode } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { useSession } from "../../app/stores/session.ts";
import { formatBytes, formatCount, NONE } from "../../app/styles/format.ts";
import type { SystemReport } from "../../engine/session/memory-report.ts";
import styles from "./memory-panel.module.css";

type MemoryEntry = SystemReport["memory"]["owners"][number];

type Owner = SystemReport["memory"]["owners"][number]["owner"];
type Group = "model" | "run" | "kept" | "host" | "work";

const OWNER_GROUPS: readonly { readonly id: Group; readonly title: string }[] = [
  { id: "model", title: "Model, shared by policy, partner and reference" },
  { id: "run", title: "Run" },
  { id: "kept", title: "Kept for reuse" },
  { id: "host", title: "In host memory" },
  { id: "work", title: "In use" },
];

const frozen = (label: string): { group: Group; label: string; help: string } => ({
  group: "model",
  label,
  help: "Frozen weights, which training does not change",
});

/** Name of an owner, and one sentence about its contents. */
const OWNER_TEXTS: Readonly<Record<Owner, { readonly group: Group; readonly label: string; readonly help: string }>> = {
  "frozen vision": frozen("Vision tower"),
  "frozen projector": frozen("Projector"),
  "frozen language": frozen("Language model"),
  "frozen embedding": frozen("Embedding and head"),
  "frozen seg-prompt": frozen("[SEG] prompt"),
  "frozen sam-encoder": frozen("SAM2 image encoder"),
  "frozen mask-decoder": frozen("Mask decoder, fixed part"),
  "frozen prompt-encoder": frozen("Prompt encoder, fixed part"),
  published: {
    group: "model",
    label: "Published tensors of trained parts",
    help: "Projector, [SEG] prompt, mask decoder and prompt encoder of the checkpoint: the starting point of runs",
  },
  trained: { group: "run", label: "Trained weights θ", help: "Adapters and the other trained tensors: the policy" },
  partner: { group: "run", label: "Moving average φ", help: "The partner of both loops" },
  start: { group: "run", label: "Starting weights", help: "Reference for KL and anchors" },
  captioner: { group: "run", label: "Other checkpoint", help: "Captioner that scores likelihoods" },
  reference: { group: "run", label: "Synchronised reference", help: "Reference for KL that follows the policy" },
  "first moments": { group: "run", label: "First moments", help: "AdamW's mean of gradients" },
  "second moments": { group: "run", label: "Second moments", help: "AdamW's mean of squared gradients" },
  "moment tables": {
    group: "run",
    label: "Update tables",
    help: "Offsets of the trained tensors in the moments",
  },
  decoding: {
    group: "kept",
    label: "Generation buffers",
    help: "Key-value caches and activations of decoding, reused between batches",
  },
  pool: {
    group: "kept",
    label: "Free pool buffers",
    help: "Large buffers are released after every step; small ones are reused",
  },
  features: {
    group: "host",
    label: "Picture features",
    help: "Outputs of the frozen towers; the least recently used are dropped first",
  },
  "try-out features": {
    group: "host",
    label: "Try-out features",
    help: "Outputs of the frozen towers for pictures of try-outs",
  },
  work: {
    group: "work",
    label: "Tensors of the step",
    help: "Tensors of the current phase; none between steps",
  },
};

/** In the order of a forward pass, then of an update. */
const ORDER = Object.keys(OWNER_TEXTS);

/** Memory by owner; memory without an owner belongs to the current step. */
export default function MemoryPanel({ report }: Places["memory"]): ReactNode {
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
        <table className={`full-width ${styles.table} ${styles.owners}`} data-testid="owners">
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
