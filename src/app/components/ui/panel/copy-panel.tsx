import { type ReactNode, useState } from "react";
import { report } from "../../../clients/lab.ts";
import { IconCheck, IconCopy } from "../icons.tsx";
import styles from "./copy-panel.module.css";
import { copyPanel } from "./panel-picture.ts";

/** How long "copied" is shown, in milliseconds. */
const TOLD_MS = 2000;

/** Copies the enclosing section or article as a picture; visible on hover, and always on devices without hover. */
export function CopyPanel({ name }: { readonly name: string }): ReactNode {
  const [copied, setCopied] = useState(false);
  const copy = async (panel: HTMLElement): Promise<void> => {
    await copyPanel(panel);
    setCopied(true);
    setTimeout(() => setCopied(false), TOLD_MS);
  };
  return (
    <button
      type="button"
      className={`p-0 round-m clear muted pointer ${styles.copy}`}
      data-copies
      data-copied={copied}
      title="Copy as a picture"
      aria-label={`Copy ${name} as a picture`}
      onClick={(event) => {
        const panel = event.currentTarget.closest<HTMLElement>("section, article");
        if (panel !== null) report(copy(panel));
      }}
    >
      {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      <span className="visually-hidden" role="status">
        {copied ? "Copied" : ""}
      </span>
    </button>
  );
}
