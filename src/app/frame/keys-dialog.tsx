import { type ReactNode, useState } from "react";
import { letterKeysOn, setLetterKeys } from "../components/shortcuts.ts";
import { Switch } from "../components/ui/controls.tsx";
import { Dialog } from "../components/ui/overlays.tsx";
import { KEY_HELP } from "./keys.ts";
import styles from "./keys-dialog.module.css";

/** The list of keyboard shortcuts, and the switch for single letters. */
export function KeysDialog(props: {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}): ReactNode {
  const [letters, setLetters] = useState(letterKeysOn);
  return (
    <Dialog title="Keyboard shortcuts" open={props.open} onOpenChange={props.onOpenChange}>
      <div className="row between">
        <label htmlFor="letter-keys">Single-letter shortcuts</label>
        <Switch
          id="letter-keys"
          checked={letters}
          onChange={(on) => {
            setLetters(on);
            setLetterKeys(on);
          }}
        />
      </div>
      {KEY_HELP.map(({ place, keys }) => (
        <section key={place} className={`mt-4 ${styles.place}`}>
          <h3>{place}</h3>
          <dl>
            {keys.map((entry) => (
              <div key={entry.what} className={`grid align-baseline ${styles.row}`}>
                <dt>
                  {entry.keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>
                <dd>{entry.what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
