import type { ReactNode } from "react";
import type { SettingKey } from "../../../engine/config/table.ts";
import { lab, report } from "../../clients/lab.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { Fields } from "../../components/settings/field.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { ConnectionPanel } from "./connection-panel.tsx";
import styles from "./judge.module.css";
import { PromptsPanel } from "./prompts-panel.tsx";

/** The language model that judges captions: connection and prompts; plug-ins test it. */
export function JudgeScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  return (
    <div className={`grid gap-4 p-4 align-start ${styles.screen}`} data-testid="screen-judge">
      <h1 className="visually-hidden">Judge</h1>
      <div className="column-flex gap-4 min-0">
        {active && (
          <p className="p-2-3 warn warn-soft round-m">
            The run in progress keeps its judge. A new key takes effect at once; all other changes take effect with the
            next run.
          </p>
        )}
        <ConnectionPanel />
        <LimitsPanel />
        <PromptsPanel />
      </div>
      <div className="column-flex gap-4 min-0">
        <PluginPanels at="judge" given={{}} />
      </div>
    </div>
  );
}

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
function LimitsPanel(): ReactNode {
  return (
    <Panel
      title="Limits"
      aside={
        <Button
          kind="quiet"
          title="Deletes the cached judge replies, so repeated requests are sent again"
          onClick={() => report(lab().reward.forgetReplies())}
        >
          Clear the cache
        </Button>
      }
    >
      <Fields keys={KEYS} />
    </Panel>
  );
}
