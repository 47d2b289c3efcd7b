import { type ReactNode, useState } from "react";
import { letterKeysOn, setLetterKeys } from "../components/shortcuts.ts";
import { Switch } from "../components/ui/controls.tsx";
import { Dialog } from "../components/ui/overlays.tsx";
import styles from "./frame.module.css";
import { GO_TO } from "./screens.tsx";

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
        <section key={place} className="grid gap-1 mt-4">
          <h3 className="muted">{place}</h3>
          <dl>
            {keys.map((entry) => (
              <div key={entry.what} className={`grid align-baseline ${styles.row}`}>
                <dt className="flex gap-1">
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

interface KeyHelp {
  readonly keys: readonly string[];
  readonly what: string;
}

/** Shortcuts as the dialog lists them, by screen. */
export const KEY_HELP: readonly { readonly place: string; readonly keys: readonly KeyHelp[] }[] = [
  {
    place: "Everywhere",
    keys: [
      { keys: ["?"], what: "Show this list" },
      ...GO_TO.map(({ key, label }) => ({ keys: ["G", key.toUpperCase()], what: `Go to ${label}` })),
      { keys: ["G", "Y"], what: "Open System" },
      { keys: ["P"], what: "Start, pause or continue the run" },
      { keys: ["S"], what: "Run one step, then pause; without a run, start one" },
      { keys: ["F"], what: "Run one phase, then pause; without a run, start one and pause in its first step" },
      { keys: ["C"], what: "Save a checkpoint at the end of the step" },
    ],
  },
  {
    place: "Pictures",
    keys: [
      { keys: ["H"], what: "Hold to hide masks" },
      { keys: ["+", "−"], what: "Zoom the focused picture; 0 resets the zoom" },
      { keys: ["Shift", "arrows"], what: "Move the zoomed picture" },
    ],
  },
  {
    place: "Data",
    keys: [
      { keys: ["←", "→", "↑", "↓"], what: "Go to the previous or next row" },
      { keys: ["Esc"], what: "Close the row" },
      { keys: ["/"], what: "Search captions" },
    ],
  },
  {
    place: "Train",
    keys: [
      { keys: ["←", "→"], what: "Go to the previous or next rollout" },
      { keys: ["↑", "↓"], what: "Go to the previous or next step" },
      { keys: ["Home", "End"], what: "Go to the best or worst rollout" },
      { keys: ["D"], what: "Show the difference between given mask and answer" },
      { keys: ["1", "…", "4"], what: "Show or hide a layer: given, answer, difference, sampled" },
      { keys: ["[", "]"], what: "Change mask opacity" },
      { keys: ["/"], what: "Search captions and rows" },
      { keys: ["Enter"], what: "Inspect the best rollout; Esc closes the inspector" },
    ],
  },
];
