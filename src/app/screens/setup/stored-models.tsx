import { type ReactNode, useState } from "react";
import { storageText } from "../../../engine/loading/storage-settings.ts";
import { report } from "../../clients/lab.ts";
import { openStoredModel, removeStoredModel } from "../../clients/loading.ts";
import { Button } from "../../components/ui/button.tsx";
import { useSession } from "../../stores/session.ts";
import { formatBytes } from "../../styles/format.ts";
import styles from "./stored-models.module.css";

/** Stored conversions of checkpoints: load them in seconds, or delete them. */
export function StoredModels(): ReactNode {
  const models = useSession((session) => session.storedModels);
  const busy = useSession((session) => session.modelProgress !== null);
  /** The conversion whose Delete button was pressed once; a second press deletes it. */
  const [sure, setSure] = useState<string | null>(null);
  if (models.length === 0) return null;
  return (
    <div className="mt-3" data-testid="stored-models">
      <h3 className={`muted medium small ${styles.title}`}>Stored conversions</h3>
      <ul className="grid gap-2 p-0 m-0 no-bullets">
        {models.map(({ id, name, choice, bytes, finished }) => (
          <li key={id} className="flex gap-2 align-centre">
            <span className="min-0 grow anywhere">
              {name}
              <small className="block muted">
                {storageText(choice)}, {formatBytes(bytes)}
                {finished ? "" : ", incomplete: open it again to continue"}
              </small>
            </span>
            {finished && (
              <Button disabled={busy} onClick={() => report(openStoredModel(id))}>
                Load
              </Button>
            )}
            <Button
              disabled={busy}
              kind={sure === id ? "danger" : "plain"}
              onClick={() => (sure === id ? report(removeStoredModel(id)) : setSure(id))}
              onBlur={() => setSure(null)}
              aria-label={`Delete the conversion of ${name}${sure === id ? "" : "…"}`}
            >
              {sure === id ? `Delete ${formatBytes(bytes)}` : "Delete…"}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
