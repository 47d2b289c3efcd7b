import type { ReactNode } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { CopyText } from "../../app/components/ui/button.tsx";
import styles from "./row-record.module.css";

/** The record of an open row as its file holds it, and its mask as run lengths. */
export default function RowRecord({ row, raw }: Places["row-record"]): ReactNode {
  const { size, counts } = row.mask;
  return (
    <div className="grid gap-2 min-0">
      <Code text={raw} />
      <h3>Mask as run lengths (RLE)</h3>
      <Code text={JSON.stringify({ size, counts }, null, 2)} />
    </div>
  );
}

function Code(props: { readonly text: string }): ReactNode {
  return (
    <div className={`relative ${styles.code}`}>
      <CopyText kind="quiet" label="Copy" text={() => props.text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard */}
      <pre className="p-3 scroll anywhere surface-2 round-m" tabIndex={0}>
        {props.text}
      </pre>
    </div>
  );
}
