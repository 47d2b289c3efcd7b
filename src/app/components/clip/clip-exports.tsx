import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { useClips } from "./clip-store.ts";
import type { ExportKind } from "./export-clip.ts";

const EXPORTS = [
  { kind: "json", label: "JSON", title: "Run-length masks of all masklets" },
  { kind: "png", label: "PNG", title: "One PNG per frame and masklet, in a zip" },
  { kind: "webm", label: "WebM", title: "A video of the frames with outlines" },
] as const satisfies readonly { readonly kind: ExportKind; readonly label: string; readonly title: string }[];

/** Files of a row's masklets; a video shows its frames and can be cancelled. */
export function ClipExports(props: { readonly rowId: string; readonly onSave: (kind: ExportKind) => void }): ReactNode {
  const filming = useClips((state) => state.filming);
  const other = filming !== null && filming.rowId !== props.rowId;
  return (
    <fieldset className="row gap-1 m-0 p-0 borderless" aria-label="Export of masklets">
      <span className="muted small">Export</span>
      {EXPORTS.map(({ kind, label, title }) =>
        kind === "webm" && filming !== null && !other ? (
          <span key={kind} className="row gap-1 small nowrap">
            <span role="status">
              {filming.done} of {filming.total} frames
            </span>
            <Button kind="quiet" onClick={filming.stop}>
              Cancel
            </Button>
          </span>
        ) : (
          <Button
            key={kind}
            kind="quiet"
            title={title}
            blocker={kind === "webm" && other ? "A video of another clip is being made" : null}
            onClick={() => props.onSave(kind)}
            data-testid={`export-${kind}`}
          >
            {label}
          </Button>
        ),
      )}
    </fieldset>
  );
}
