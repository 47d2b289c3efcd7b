import type { ReactNode } from "react";
import type { SettingKey } from "../../../engine/config/table.ts";
import { lab, report } from "../../clients/lab.ts";
import { Fields } from "../../components/settings/field.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";

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
