import type { ReactNode } from "react";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { readThumbs } from "../../clients/run/thumb-actions.ts";
import { termName } from "../../components/rollout/rollout-view.ts";
import { Facts } from "../../components/ui/facts.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { linkTo } from "../../stores/route.ts";
import { useThumbs } from "../../stores/run/thumbs.ts";
import { counted, fixed, percent, signed } from "../../styles/format.ts";
import { agreements, captionPair, type Disagreement, disagreements } from "./agreement.ts";
import styles from "./judge.module.css";
import type { JudgedRollouts } from "./use-judged-rollouts.ts";

const SHOWN = 12;

/** Agreement of the judge with the user's thumbs, and rollouts on which judge and METEOR disagree. */
export function AgreementPanel({ judged }: { readonly judged: JudgedRollouts }): ReactNode {
  const { runId, groups, unread } = judged;
  const thumbs = useThumbs(runId, readThumbs);
  const rollouts = groups.flatMap((group) => group.rollouts);
  return (
    <>
      <Panel title="Agreement with your thumbs">
        <ThumbAgreement rollouts={rollouts} thumbs={thumbs} />
        {unread[0] !== undefined && (
          <p className={styles.help}>
            {unread[0]}
            {unread.length > 1 && `, and ${unread.length - 1} more`}
          </p>
        )}
      </Panel>
      <Panel title="Where judge and METEOR disagree most">
        <Disagreements runId={runId} found={disagreements(rollouts)} />
      </Panel>
    </>
  );
}

function ThumbAgreement(props: {
  readonly rollouts: readonly RolloutRecord[];
  readonly thumbs: ReturnType<typeof useThumbs>;
}): ReactNode {
  const { rollouts, thumbs } = props;
  const given = rollouts.filter((rollout) => thumbs[rollout.id] !== undefined);
  const up = given.filter((rollout) => thumbs[rollout.id] === 1).length;
  if (up === 0 || up === given.length) {
    return (
      <p className={styles.help} data-testid="no-thumbs">
        Give some rollouts a thumb up and others a thumb down on the Rollouts screen; this panel then shows which scores
        agree with you{given.length > 0 && ` (${up} up, ${given.length - up} down so far)`}
      </p>
    );
  }
  return (
    <div data-testid="thumb-agreement">
      <p className={styles.help}>
        {up} up, {given.length - up} down. Share of pairs in which the rollout you liked scores higher; 50 % is chance.
      </p>
      <Facts
        entries={agreements(given, thumbs, ["judge", "meteor", "reward"]).map(({ name, share, pairs }) => [
          name === "reward" ? "Reward" : termName(name),
          <span key={name} title={counted(pairs, "pair")}>
            {percent(share)}
          </span>,
        ])}
      />
    </div>
  );
}

function Disagreements(props: { readonly runId: string | null; readonly found: readonly Disagreement[] }): ReactNode {
  const { runId, found } = props;
  if (found.length < 3) {
    return <p className={styles.help}>The rollouts of this run have no judge score to compare with METEOR</p>;
  }
  return (
    <table className={`full-width ${styles.table}`} data-testid="disagreements">
      <TableHead columns={["Rollout", "Captions", "Judge", "METEOR", "Rank difference"]} />
      <tbody>
        {found.slice(0, SHOWN).map(({ rollout, judge, meteor, gap }) => {
          const { id, step, loop, group, referenceCaption } = rollout;
          return (
            <tr key={id}>
              <th scope="row">
                <a href={linkTo({ screen: "rollouts", run: runId, step, rollout: id, group: `${loop}-${group}` })}>
                  step {step}
                </a>
              </th>
              <td className={styles.caption}>
                {captionPair(rollout)?.hypothesis ?? "(empty)"}
                <span className="block muted anywhere">{referenceCaption}</span>
              </td>
              <td>{fixed(judge, 2)}</td>
              <td>{fixed(meteor, 2)}</td>
              <td title={gap > 0 ? "Judge prefers it" : "METEOR prefers it"}>{signed(gap, 2)}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
