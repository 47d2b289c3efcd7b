import { type ReactNode, useMemo } from "react";
import { presetConfig } from "../../../engine/config/presets.ts";
import type { SettingKey } from "../../../engine/config/table.ts";
import { lab, report } from "../../clients/lab.ts";
import { Field } from "../../components/settings/field.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { useSession } from "../../stores/session.ts";

const KEYS: readonly SettingKey[] = [
  "missingVerdict",
  "judgeRange",
  "judgeParallel",
  "judgeTimeout",
  "judgeRetries",
  "judgeMaxCalls",
  "judgeMaxCost",
  "judgePromptPrice",
  "judgeReplyPrice",
  "judgeMaxTokens",
];

/** Limits of the judge, and the fallback when it gives no verdict. */
export function LimitsPanel(): ReactNode {
  const config = useSession((session) => session.config);
  const preset = useSession((session) => session.preset);
  const base = useMemo(() => presetConfig(preset), [preset]);
  return (
    <Panel
      title="Limits"
      aside={
        <Button
          kind="quiet"
          title="Judge replies are cached by content, so that the same question is never asked twice. This empties the cache"
          onClick={() => report(lab().reward.forgetReplies())}
        >
          Empty the cache
        </Button>
      }
    >
      <div className="column-flex">
        {KEYS.map((key) => (
          <Field key={key} name={key} value={config[key]} base={base[key]} />
        ))}
      </div>
    </Panel>
  );
}
