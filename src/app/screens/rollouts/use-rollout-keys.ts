import { useOverlay } from "../../components/mask/overlay-store.ts";
import { LAYER_KEYS, type LayerKey } from "../../components/rollout/rollout-view.ts";
import { useShortcuts, usesArrows } from "../../components/shortcuts.ts";

export interface RolloutActions {
  /** Whether rollouts are listed in a table, which arrows scroll. */
  readonly table: boolean;
  /** Moves by a number of rollouts, or to the first or last. */
  readonly rollout: (by: number | "first" | "last") => void;
  readonly step: (by: number) => void;
  readonly toggle: (layer: LayerKey) => void;
  readonly blink: () => void;
  readonly find: () => void;
  readonly back: () => void;
  readonly open: () => void;
}

/** Keyboard shortcuts of the rollouts screen; letters work only if letter keys are on and no field has the focus. */
export function useRolloutKeys(actions: RolloutActions): void {
  useShortcuts((event) => {
    // A letter may need Shift on its keyboard.
    if (event.shiftKey && event.key.length > 1) return;
    if (/^(Arrow|Home|End)/.test(event.key) && (actions.table || usesArrows(event.target))) return;
    const act = actionOf(event.key, actions);
    if (act === null) return;
    event.preventDefault();
    act();
  });
}

function actionOf(key: string, actions: RolloutActions): (() => void) | null {
  const { opacity, setOpacity } = useOverlay.getState();
  const always = new Map<string, () => void>([
    ["ArrowLeft", () => actions.rollout(-1)],
    ["ArrowRight", () => actions.rollout(1)],
    ["ArrowUp", () => actions.step(-1)],
    ["ArrowDown", () => actions.step(1)],
    ["Home", () => actions.rollout("first")],
    ["End", () => actions.rollout("last")],
    ["Escape", actions.back],
  ]);
  const known = always.get(key);
  if (known !== undefined) return known;
  if (key === "Enter") return document.activeElement === document.body ? actions.open : null;
  const layer = LAYER_KEYS[Number(key) - 1];
  if (layer !== undefined) return () => actions.toggle(layer);
  const letters: Readonly<Record<string, () => void>> = {
    "[": () => setOpacity(opacity - 0.1),
    "]": () => setOpacity(opacity + 0.1),
    d: () => actions.toggle("difference"),
    b: actions.blink,
    "/": actions.find,
  };
  return letters[key.toLowerCase()] ?? null;
}
