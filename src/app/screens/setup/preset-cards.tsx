import type { ReactNode } from "react";
import { configDifference } from "../../../engine/config/parse.ts";
import { PRESETS, presetConfig } from "../../../engine/config/presets.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { choosePreset, useSession } from "../../stores/session.ts";
import styles from "./preset-cards.module.css";

/** Presets; selecting one sets all its values. */
export function PresetCards(): ReactNode {
  const chosen = useSession((session) => session.preset);
  const changed = useSession((session) => Object.keys(configDifference(session.config, presetConfig(chosen))).length);
  return (
    <section aria-label="Presets" className={`grid gap-2 ${styles.cards}`}>
      {PRESETS.map((preset) => (
        <button
          key={preset.name}
          type="button"
          className={`column-flex ${styles.card}`}
          aria-pressed={preset.name === chosen}
          data-testid={`preset-${preset.name}`}
          onClick={() => choosePreset(preset.name)}
        >
          <span className="row gap-2 bold">
            {preset.title}
            {preset.name === chosen && changed > 0 && <Badge tone="accent">{changed} changed</Badge>}
          </span>
          <span className={`muted small ${styles.summary}`}>{preset.summary}</span>
        </button>
      ))}
    </section>
  );
}
