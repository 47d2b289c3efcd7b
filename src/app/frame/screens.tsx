/** The screens, in the order of the rail. */
import { type ComponentProps, type ComponentType, lazy, type ReactNode } from "react";
import { act, togglePlay } from "../clients/run/run-actions.ts";
import type { Places } from "../components/place/page-plugin.ts";
import { loadPanels } from "../components/place/place.tsx";
import { isCovered, isShortcut } from "../components/shortcuts.ts";
import { IconData, IconRewards, IconRuns, IconSetup, IconTrain } from "../components/ui/icons.tsx";
import { linkTo, navigate, openScreen, type Route, SCREENS, type Screen, useRoute } from "../stores/route.ts";
import styles from "./frame.module.css";

interface ScreenEntry {
  readonly id: Screen;
  readonly label: string;
  /** Second key after "g". */
  readonly key: string;
  readonly icon: ReactNode;
}

export const SCREEN_LIST: readonly ScreenEntry[] = [
  { id: "data", label: "Data", key: "d", icon: <IconData size={18} /> },
  { id: "setup", label: "Setup", key: "s", icon: <IconSetup size={18} /> },
  { id: "rewards", label: "Rewards", key: "w", icon: <IconRewards size={18} /> },
  { id: "train", label: "Train", key: "t", icon: <IconTrain size={18} /> },
  { id: "runs", label: "Runs", key: "n", icon: <IconRuns size={18} /> },
];

/** Loaded on demand, so that the first script holds only the frame. */
const CODE: Readonly<Record<Screen, () => Promise<ComponentType>>> = {
  home: async () => (await import("../screens/home/home-screen.tsx")).HomeScreen,
  data: async () => (await import("../screens/data/data-screen.tsx")).DataScreen,
  setup: async () => (await import("../screens/setup/setup-screen.tsx")).SetupScreen,
  rewards: async () => (await import("../screens/rewards/rewards-screen.tsx")).RewardsScreen,
  train: async () => (await import("../screens/train/train-screen.tsx")).TrainScreen,
  runs: async () => (await import("../screens/runs/runs-screen.tsx")).RunsScreen,
};

/** Panels that are loaded with their screen, because one that comes later moves what is below it. */
const PANELS: Readonly<Record<Screen, readonly (keyof Places)[]>> = {
  home: ["stopped-work", "frames"],
  data: ["row-filter", "frames"],
  setup: ["settings-file", "mix", "dry-run", "stored-models"],
  rewards: ["custom-reward", "trial", "judge", "rewards"],
  train: [
    "curve-tools",
    "curves",
    "phases",
    "rollout-table",
    "rewards-of",
    "evaluations",
    "held-out",
    "stopped-work",
    "frames",
    "lesson",
    "caption",
    "remedies",
  ],
  runs: ["open-run", "run-filter", "run-curves", "compare", "runs", "runs-elsewhere", "run-details", "curve-tools"],
};

async function load(id: Screen): Promise<{ default: ComponentType }> {
  const [found] = await Promise.all([CODE[id](), loadPanels(PANELS[id])]);
  return { default: found };
}

const COMPONENTS = new Map(SCREENS.map((id) => [id, lazy(() => load(id))]));

/** Loads the code of all screens, one after the other, so that a press of the rail waits for none. */
export async function loadScreens(): Promise<void> {
  for (const id of SCREENS) await load(id);
}

/** Opened by the product name in the status strip; the rail lists the other screens. */
const HOME = { id: "home", label: "Home", key: "h" } as const;

/** Where the keys after "g" lead. */
export const GO_TO: readonly (Pick<ScreenEntry, "id" | "label" | "key"> & { readonly tab?: Route["tab"] })[] = [
  HOME,
  ...SCREEN_LIST,
  { id: "train", tab: "rollouts", label: "Rollouts", key: "r" },
  { id: "train", tab: "held-out", label: "Held-out rows", key: "e" },
];

export function screenComponent(id: Screen): ComponentType {
  return COMPONENTS.get(id) as ComponentType;
}

/** Address of a screen, and what a click on it does; one with a modifier opens a new tab. */
export const screenLink = (screen: Screen): Pick<ComponentProps<"a">, "href" | "onClick"> => ({
  href: linkTo({ screen }),
  onClick: (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    openScreen(screen);
  },
});

/** Navigation between the screens: at the left, or at the bottom of a narrow window. */
export function Rail(): ReactNode {
  const current = useRoute((route) => route.screen);
  return (
    <nav className={`column-flex p-2 surface gap-2px ${styles.rail}`} aria-label="Screens">
      {SCREEN_LIST.map(({ id, label, icon }) => (
        <a
          key={id}
          className={`row muted medium round-m ${styles.link}`}
          {...screenLink(id)}
          data-testid={`nav-${id}`}
          {...(id === current ? { "aria-current": "page" as const } : {})}
        >
          {icon}
          <span>{label}</span>
        </a>
      ))}
    </nav>
  );
}

/** Listens for the shortcuts of the whole page. @returns the function that stops it */
export function listenForKeys(onHelp: () => void): () => void {
  let goUntil = 0;
  const down = (event: KeyboardEvent): void => {
    if (!isShortcut(event) || isCovered()) return;
    if (event.key === "?") {
      event.preventDefault();
      onHelp();
      return;
    }
    if (event.repeat) return;
    const key = event.key.toLowerCase();
    if (event.timeStamp < goUntil) {
      goUntil = 0;
      const place = GO_TO.find((entry) => entry.key === key);
      if (place === undefined && key !== "y") return;
      event.preventDefault();
      // Screens that listen for the same letter must ignore it.
      event.stopImmediatePropagation();
      if (place === undefined) navigate({ panel: "system" });
      else {
        openScreen(place.id, place.tab);
        // The next Tab begins in the screen that was opened.
        document.getElementById("main")?.focus();
      }
    } else if (key === "g") goUntil = event.timeStamp + 1200;
    else if (key === "p") togglePlay();
    else if (key === "s") act("step");
    else if (key === "f") act("phase");
    else if (key === "c") act("checkpoint");
  };
  window.addEventListener("keydown", down, { capture: true });
  return () => window.removeEventListener("keydown", down, { capture: true });
}
