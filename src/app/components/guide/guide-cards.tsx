import type { ReactNode } from "react";
import { linkTo, navigate, type Route, type Screen } from "../../stores/route.ts";
import styles from "./guide-cards.module.css";

interface Card {
  readonly screen: Screen;
  readonly tab?: Route["tab"];
  readonly title: string;
  readonly text: string;
}

/** From rows to a trained adapter, in the order of the work. */
const CARDS: readonly Card[] = [
  { screen: "data", title: "Load", text: "Drop a folder with pictures, masks and captions, or use the demo shard." },
  { screen: "train", title: "Start", text: "Both loops train in this tab. P pauses, S runs one step, F one phase." },
  {
    screen: "train",
    tab: "rollouts",
    title: "Open a rollout",
    text: "See masks, caption, reward and tokens. ← → change the rollout, ↑ ↓ the step.",
  },
  {
    screen: "train",
    tab: "rollouts",
    title: "Compare masks",
    text: "1 to 4 switch layers, D shows the difference. Hold H to hide all masks.",
  },
  { screen: "runs", title: "Export", text: "Save the adapter, merged weights, rollouts or the whole run." },
  {
    screen: "runs",
    title: "Resume",
    text: "A stopped run continues from its newest checkpoint with the same results.",
  },
];

/** The guide: six links, each to the screen of one step. */
export function GuideCards({ onGo }: { readonly onGo?: () => void }): ReactNode {
  return (
    <ol className={`grid gap-2 m-0 p-0 no-bullets ${styles.cards}`} data-testid="guide">
      {CARDS.map(({ title, text, ...place }, at) => (
        <li key={title}>
          <a
            className={`choice grid gap-1 p-3 framed round-m surface ${styles.card}`}
            href={linkTo(place)}
            onClick={(event) => {
              if (event.metaKey || event.ctrlKey || event.shiftKey) return;
              event.preventDefault();
              navigate(place);
              onGo?.();
            }}
          >
            <b>
              <span className="muted normal">{at + 1}</span> {title}
            </b>
            <span className="muted small">{text}</span>
          </a>
        </li>
      ))}
    </ol>
  );
}
