import { type ReactNode, useEffect, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { hasPanels } from "../../app/components/place/place.tsx";
import { Fields } from "../../app/components/settings/field.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { allowWritten } from "../../app/stores/consent.ts";
import { changeConfig, useSession } from "../../app/stores/session.ts";
import { fixed } from "../../app/styles/format.ts";
import { shownLoops } from "../../engine/config/derived.ts";
import { hasWeight, weightKey } from "../../engine/config/groups/reward-weights.ts";
import { rewardHash } from "../../engine/rewards/user/hash.ts";
import { LOOP_IDS } from "../../engine/rl/loops/abouts.ts";
import { useTrials } from "../reward-bench/trial-panel.tsx";
import styles from "./custom-reward.module.css";
import { EXAMPLE_REWARD, ROLLOUT_TYPES } from "./guide.ts";

let newest = "";

/** Sets a source and its hash, unless a newer one was typed while it was hashed. */
async function takeSource(userReward: string): Promise<void> {
  newest = userReward;
  const userRewardHash = await rewardHash(userReward);
  if (newest !== userReward) return;
  allowWritten("rewards", userRewardHash);
  changeConfig({ userReward, userRewardHash });
}

/** Editor of the custom reward; it runs in an interpreter without network, clock or random numbers. */
export default function CustomReward(): ReactNode {
  const row = useTrials((tried) => tried.row);
  const value = useTrials(({ score }) => score?.custom ?? null);
  const problem = useTrials(({ score }) => score?.customProblem ?? null);
  const config = useSession((session) => session.config);
  const [text, setText] = useState(config.userReward);
  useEffect(() => setText(config.userReward), [config.userReward]);
  const change = (source: string): void => {
    setText(source);
    report(takeSource(source));
  };
  // A weight without a function would keep every run from starting.
  const remove = (): void => {
    changeConfig(Object.fromEntries(LOOP_IDS.map((loop) => [weightKey(loop, "user"), 0])));
    change("");
  };
  const unused = config.userReward.trim() !== "" && !hasWeight(config, "user");
  return (
    <Panel
      title="Custom reward"
      aside={
        <span
          className="muted"
          data-testid="reward-hash"
          title={`SHA-256 of the code, by which a run tells that it is the same: ${config.userRewardHash || "none"}`}
        >
          {config.userRewardHash === "" ? (
            "no function"
          ) : (
            <>
              Hash of the code <span className={styles.hash}>{config.userRewardHash.slice(0, 12)}</span>
            </>
          )}
        </span>
      }
    >
      <p className="muted">
        A TypeScript or JavaScript function <code>reward(rollout)</code> that returns a number. It runs in a sandbox
        without network, clock or random numbers. If it fails, the run pauses and shows the reason.
      </p>
      <textarea
        className={`full-width mt-3 p-3 scroll-x surface round-m framed-control ${styles.source}`}
        aria-label="Source of the custom reward"
        data-testid="reward-source"
        spellCheck={false}
        autoCapitalize="off"
        rows={Math.min(24, Math.max(6, text.split("\n").length + 1))}
        value={text}
        placeholder={"function reward(rollout) {\n  return rollout.iou?.value ?? 0;\n}"}
        aria-invalid={problem !== null}
        aria-describedby="custom-result"
        onChange={(event) => change(event.currentTarget.value)}
      />
      <p
        id="custom-result"
        className={`mt-2 ${problem === null ? "" : "p-2-3 bad bad-soft round-m anywhere"}`}
        role={problem === null ? "status" : "alert"}
        data-testid="custom-result"
      >
        {problem ??
          (value === null || row === null ? (
            hasPanels("trial") && (
              <span className="muted">Its value for the row beside it appears here, also without a weight</span>
            )
          ) : (
            <>
              <b>{fixed(value, 3)}</b> <span className="muted">for row {row} with the caption and mask beside it</span>
            </>
          ))}
      </p>
      <div className="row wrap gap-2 mt-2">
        {text.trim() === "" ? (
          <Button onClick={() => change(EXAMPLE_REWARD)}>Insert an example</Button>
        ) : (
          <Button onClick={remove}>Remove</Button>
        )}
        {unused && (
          <>
            <span className={`small warn ${styles.unused}`}>The custom reward has no weight</span>
            {shownLoops(config).map((loop) => (
              <Button key={loop} onClick={() => changeConfig({ [weightKey(loop, "user")]: 1 })}>
                Set weight 1 in loop {loop}
              </Button>
            ))}
          </>
        )}
      </div>
      <details className={`fold mt-2 ${styles.more}`}>
        <summary>Fields of a rollout</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
        <pre className="p-3 scroll surface-2 round-m" tabIndex={0}>
          {ROLLOUT_TYPES}
        </pre>
      </details>
      <details className={`fold mt-2 ${styles.more}`}>
        <summary>Limits</summary>
        <Fields keys={["userRewardMs", "userRewardMb"]} />
      </details>
    </Panel>
  );
}
