import { type FormEvent, type ReactNode, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { allowWritten } from "../../app/stores/consent.ts";
import { changeConfig, useSession } from "../../app/stores/session.ts";
import { counted, formatBytes } from "../../app/styles/format.ts";
import { SETTINGS } from "../../engine/config/table.ts";
import styles from "./address-form.module.css";
import type { RemoteCopy } from "./hub-calls.ts";
import { askModel, copyOf, openRemoteModel } from "./hub-model.ts";
import type { Asked } from "./listing.ts";

/** Opens a checkpoint by address: the first click checks its size, the second downloads it. */
export default function AddressForm(): ReactNode {
  const hub = useSession((session) => session.config.hub);
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const ask = async (): Promise<void> => {
    setBusy(true);
    setAsked(null);
    try {
      setAsked(await askModel(text));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="grid gap-2 p-3 mt-3 surface-2 framed round-m">
      <form
        className="flex wrap gap-2"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          if (text.trim() !== "" && !busy) report(ask());
        }}
      >
        <label className="visually-hidden" htmlFor="address">
          Address of a checkpoint
        </label>
        <TextInput
          id="address"
          className={styles.input}
          data-testid="address"
          placeholder="owner/name or https://…/folder/"
          inputMode="url"
          value={text}
          readOnly={busy}
          aria-describedby="address-help"
          onChange={(event) => {
            setText(event.currentTarget.value);
            setAsked(null);
          }}
        />
        <Button
          type="submit"
          data-testid="ask-address"
          blocker={text.trim() === "" ? "Enter an address first" : busy ? "Contacting the server" : null}
        >
          {busy ? "Checking…" : "Check size"}
        </Button>
      </form>
      <p className={`muted small ${styles.help}`} id="address-help">
        A repository of the hub below (add @revision for another branch), or a folder on any server that allows
        cross-origin reads. Weights are downloaded only when you press Load.
      </p>
      <label className="row wrap gap-2 muted small" htmlFor="hub">
        <span>{SETTINGS.hub.label}</span>
        <TextInput
          className={styles.input}
          id="hub"
          data-testid="hub"
          inputMode="url"
          value={hub}
          readOnly={busy}
          maxLength={SETTINGS.hub.maxLength}
          onChange={(event) => {
            allowWritten("hubs", event.currentTarget.value);
            changeConfig({ hub: event.currentTarget.value });
            setAsked(null);
          }}
        />
      </label>
      {asked !== null && <Found asked={asked} />}
    </div>
  );
}

/** Files on the server, the copy that will be stored, and the download button. */
function Found(props: { readonly asked: Asked }): ReactNode {
  const { asked } = props;
  const { listing } = asked;
  const storage = useSession((session) => `${session.config.weightStorage} ${session.config.towerStorage}`);
  const loading = useSession((session) => session.modelProgress !== null);
  // A load uses storage, so the space for a copy is computed again when it ends.
  const copy = useAsync(loading ? null : `${listing.baseUrl} ${storage}`, () => copyOf(asked));
  const host = new URL(listing.baseUrl).host;
  return (
    <div className={`grid gap-2 anywhere ${styles.found}`}>
      <p data-testid="address-size">
        {listing.name}: {counted(listing.files.length, "file")}, {formatBytes(listing.bytes)} from {host}
      </p>
      {!loading && (
        <p className={`muted small ${styles.help}`} data-testid="address-copy">
          {copy.problem ?? (copy.value === undefined ? "Computing the size of a copy…" : copyText(copy.value))}
        </p>
      )}
      {!listing.ranges && (
        <p className={`small warn warn-soft round-m ${styles.warning}`} data-testid="address-ranges">
          This server does not support range requests: files are downloaded whole, and a stopped download starts over
        </p>
      )}
      <Button
        kind="primary"
        data-testid="load-address"
        disabled={loading}
        onClick={() => report(openRemoteModel(listing))}
      >
        Load {formatBytes(listing.bytes)}
      </Button>
    </div>
  );
}

function copyText(copy: RemoteCopy | null): string {
  if (copy === null) return "No copy will be stored, because the server does not identify versions of the weights";
  const { bytes, room } = copy;
  return bytes <= room
    ? `A copy of ${formatBytes(bytes)} is stored in this browser, so the next visit downloads nothing`
    : `No copy will be stored, because it needs ${formatBytes(bytes)} and only ${formatBytes(room)} are free`;
}
