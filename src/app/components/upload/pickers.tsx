/** The page's file inputs, mounted once, and the drop zone, which covers the whole page. */
import { type ReactNode, useEffect, useState } from "react";
import { report } from "../../clients/lab.ts";
import { collectDropped, collectPicked } from "./collect.ts";
import styles from "./pickers.module.css";
import { takeFiles } from "./take-files.ts";

export type PickKind = "shards" | "shard-files" | "model" | "model-files" | "adapter" | "captioner";

const INPUTS: readonly { readonly kind: PickKind; readonly folder: boolean; readonly label: string }[] = [
  { kind: "shards", folder: true, label: "Folder of shards" },
  { kind: "shard-files", folder: false, label: "Shard files" },
  { kind: "model", folder: true, label: "Checkpoint folder" },
  { kind: "model-files", folder: false, label: "Checkpoint files" },
  { kind: "adapter", folder: true, label: "Adapter folder" },
  { kind: "captioner", folder: true, label: "Adapter folder of another checkpoint" },
];

const inputs = new Map<PickKind, HTMLInputElement>();

/** Opens the browser's file picker; must be called from a click or key event. */
export function pick(kind: PickKind): void {
  inputs.get(kind)?.click();
}

export function Pickers(): ReactNode {
  return (
    <div hidden>
      {INPUTS.map(({ kind, folder, label }) => (
        <input
          key={kind}
          type="file"
          multiple
          aria-label={label}
          data-testid={`pick-${kind}`}
          ref={(element) => {
            if (element === null) return;
            element.webkitdirectory = folder;
            inputs.set(kind, element);
          }}
          onChange={(event) => {
            const files = collectPicked(event.currentTarget.files ?? new DataTransfer().files);
            // Emptied, so that the same folder can be picked again.
            event.currentTarget.value = "";
            const expected =
              kind === "adapter" || kind === "captioner" ? kind : kind.startsWith("model") ? "model" : "any";
            report(takeFiles(files, expected));
          }}
        />
      ))}
    </div>
  );
}

/** Accepts files dropped anywhere; shows a hint while they are dragged over the page. */
export function PageDrop(): ReactNode {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
    const drag = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      setOver(false);
      report(collectDropped(event.dataTransfer.items).then((files) => takeFiles(files, "any")));
    };
    // Listen on the window: rows that appear under the pointer replace the element that would receive the drop.
    const end = new AbortController();
    const { signal } = end;
    window.addEventListener("dragenter", drag, { signal });
    window.addEventListener("dragover", drag, { signal });
    window.addEventListener("dragleave", leave, { signal });
    window.addEventListener("drop", drop, { signal });
    return () => end.abort();
  }, []);
  if (!over) return null;
  return (
    <div className={`grid bold ${styles.over}`} aria-hidden="true">
      <p>Drop shards, a folder of shards, a checkpoint folder, an adapter folder or an exported run</p>
    </div>
  );
}
