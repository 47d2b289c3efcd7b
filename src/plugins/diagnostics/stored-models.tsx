import { type ReactNode, useState } from "react";
import { lab, report } from "../../app/clients/lab.ts";
import { openStoredModel } from "../../app/clients/loading.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { useSession } from "../../app/stores/session.ts";
import { formatBytes } from "../../app/styles/format.ts";
import { storageText } from "../../engine/loading/storage-settings.ts";

/** Stored conversions of checkpoints: load them in seconds, or delete them. */
export default function StoredModels(): ReactNode {
  const models = useSession((session) => session.storedModels);
  const busy = useSession((session) => session.modelProgress !== null);
  if (models.length === 0) return null;
  return (
    <div className="grid gap-1 mt-3" data-testid="stored-models">
      <h3 className="muted medium small">Stored conversions</h3>
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
            <DeleteButton
              disabled={busy}
              what={`the conversion of ${name}`}
              bytes={bytes}
              onDelete={() => remove(id)}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Deletes at the second press, which says how much it frees. @param props.what what is deleted, for screen readers */
function DeleteButton(props: {
  readonly what: string;
  readonly bytes: number;
  readonly disabled?: boolean;
  readonly onDelete: () => Promise<void>;
}): ReactNode {
  const [sure, setSure] = useState(false);
  return (
    <Button
      kind={sure ? "danger" : "plain"}
      disabled={props.disabled}
      aria-label={`Delete ${props.what}${sure ? "" : "…"}`}
      // A double click is one press.
      onClick={({ detail }) => (sure ? detail < 2 && report(props.onDelete()) : setSure(true))}
      onBlur={() => setSure(false)}
    >
      {sure ? `Delete ${formatBytes(props.bytes)}` : "Delete…"}
    </Button>
  );
}

/** Deletes a stored conversion; the loaded model stays. */
async function remove(id: string): Promise<void> {
  useSession.setState({ storedModels: await lab().trainer.removeStored(id) });
}
