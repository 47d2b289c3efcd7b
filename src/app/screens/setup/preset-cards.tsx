import type { ReactNode } from "react";
import { configDifference } from "../../../engine/config/parse.ts";
import { PRESETS, type Preset } from "../../../engine/config/presets.ts";
import { report } from "../../clients/lab.ts";
import { openPocketModel } from "../../clients/loading.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { choosePreset, presetValues, useSession } from "../../stores/session.ts";
import styles from "./preset-cards.module.css";

/** Presets; selecting one sets all its values. */
export function PresetCards(): ReactNode {
  const chosen = useSession((session) => session.preset);
  const changed = useSession(
    (session) => Object.keys(configDifference(session.config, presetValues(chosen, session.plan))).length,
  );
  const preset: Preset | undefined = PRESETS.find(({ name }) => name === chosen);
  return (
    <section aria-label="Presets" className={`grid gap-2 ${styles.cards}`}>
      {PRESETS.map(({ name, title, summary }) => (
        <button
          key={name}
          type="button"
          className={`choice column-flex gap-2px p-3 text-left pointer surface framed round-l ${styles.card}`}
          aria-pressed={name === chosen}
          data-testid={`preset-${name}`}
          onClick={() => {
            choosePreset(name);
            if (!isActive(useRun.getState().state)) report(openPocketModel(name));
          }}
        >
          <span className="row gap-2 bold">
            {title}
            {name === chosen && changed > 0 && <Badge tone="accent">{changed} changed</Badge>}
          </span>
          <span className={`muted small ${styles.summary}`}>{summary}.</span>
        </button>
      ))}
      {preset?.evidence !== undefined && <p className={`muted small ${styles.evidence}`}>{preset.evidence}.</p>}
    </section>
  );
}
