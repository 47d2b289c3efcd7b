import { type ReactNode, useCallback, useState } from "react";
import type { LiveScore, Places } from "../../app/components/place/page-plugin.ts";
import { splitTerms, termContribution, termName } from "../../app/components/rollout/rollout-view.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { IconBack, IconChevron } from "../../app/components/ui/icons.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { useSession } from "../../app/stores/session.ts";
import { fixed, formatCount, NONE } from "../../app/styles/format.ts";
import { shownLoops } from "../../engine/config/derived.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import type { ScoredRollout } from "../../engine/rewards/types.ts";
import type { LoopId } from "../../engine/rl/loops/abouts.ts";
import { MeteorDetails } from "../rollout-tools/reward-details.tsx";
import { MaskPainter } from "./mask-painter.tsx";
import styles from "./trial.module.css";

/** One row with a hand-painted mask and a hand-written caption; shows the reward of each loop live. */
export default function TrialPanel(props: Places["trial"]): ReactNode {
  const { row, rows, trial, score, onRow, onTrial } = props;
  const config = useSession((session) => session.config);
  const loops = shownLoops(config);
  const at = rows.indexOf(row);
  const [unknown, setUnknown] = useState(false);
  const show = (next: RegionSummary | undefined): void => {
    setUnknown(next === undefined);
    if (next !== undefined && next !== row) onRow(next);
  };
  const go = (by: number): void => show(rows[(at + by + rows.length) % rows.length]);
  const find = (text: string): void => show(rows.find(({ id }) => id === text) ?? rows[Number(text) - 1]);
  const paint = useCallback((mask: Rle): void => onTrial({ ...trial, mask }), [trial, onTrial]);
  const terms = score.loops?.[1].terms ?? [];
  const meteor = terms.find((term) => term.meteor !== undefined)?.meteor;
  return (
    <Panel
      title="Try out"
      aside={
        <span className="inline-flex gap-1 align-centre muted small">
          <Button kind="quiet" icon={<IconBack size={14} />} aria-label="Previous row" onClick={() => go(-1)} />
          Row
          <TextInput
            className={styles.row ?? ""}
            aria-label="Row"
            aria-invalid={unknown}
            title={unknown ? `No row has this id, and the numbers are 1 to ${rows.length}` : `Number or id: ${row.id}`}
            data-testid="try-row"
            defaultValue={at + 1}
            onKeyDown={(event) => event.key === "Enter" && find(event.currentTarget.value.trim())}
            onBlur={(event) => find(event.currentTarget.value.trim())}
          />
          of {formatCount(rows.length)}
          <Button kind="quiet" icon={<IconChevron size={14} />} aria-label="Next row" onClick={() => go(1)} />
        </span>
      }
    >
      <MaskPainter
        rowId={row.id}
        given={row.mask}
        painted={trial.mask}
        onChange={paint}
        label={`Row ${at + 1}: given mask in blue, painted mask in green, IoU ${fixed(terms.find((term) => term.name === "iou")?.value, 2)}`}
      />
      <label className={`grid gap-1 mt-4 medium ${styles.caption}`}>
        Generated caption
        <textarea
          rows={2}
          data-testid="try-caption"
          value={trial.caption}
          onChange={(event) => onTrial({ ...trial, caption: event.currentTarget.value })}
        />
      </label>
      <p className={`muted mt-2 ${styles.reference}`}>
        <span>Reference</span> {row.caption}
      </p>
      {score.problem !== null && (
        <p className="mt-3 p-2-3 bad bad-soft round-m" role="alert" data-testid="try-problem">
          {score.problem}
        </p>
      )}
      {score.customProblem !== null && score.loops === null && (
        <p className="mt-3 muted">No reward: the custom reward fails, as its panel says</p>
      )}
      {score.loops !== null && (
        <div
          className={`grid mt-3 clip framed round-m ${styles.results}`}
          data-busy={score.busy}
          data-testid="try-results"
        >
          {loops.map((loop) => (
            <Line key={loop} loop={loop} score={score.loops?.[loop]} />
          ))}
        </div>
      )}
      {loops.some((loop) => config[`loop${loop}Confidence`] !== 0) && (
        <p className="mt-2 muted small">A painted mask has confidence 1</p>
      )}
      {config.judge !== "off" && <p className="mt-2 muted small">The judge is not called here; METEOR replaces it</p>}
      {terms.length > 0 && <Terms loops={loops} score={score.loops} />}
      {meteor !== undefined && (
        <div className="mt-4">
          <MeteorDetails detail={meteor} />
        </div>
      )}
    </Panel>
  );
}

/** "IoU 0.62 · METEOR 0.31 → 0.64". */
function Line({ loop, score }: { readonly loop: LoopId; readonly score: ScoredRollout | undefined }): ReactNode {
  if (score === undefined) return null;
  const { rewarded } = splitTerms(score.terms);
  return (
    <p className={`grid gap-2 align-baseline p-2-3 surface ${styles.line}`} data-testid={`try-loop${loop}`}>
      <span>Loop {loop}</span>
      <span className="muted">
        {rewarded.length === 0
          ? "no term has a weight"
          : rewarded.map((term) => `${termName(term.name)} ${fixed(term.value, 2)}`).join(" · ")}
      </span>
      <b>{fixed(score.reward, 3)}</b>
    </p>
  );
}

function Terms(props: { readonly loops: readonly LoopId[]; readonly score: LiveScore["loops"] }): ReactNode {
  const { loops, score } = props;
  if (score === null) return null;
  return (
    <details className={`fold mt-3 ${styles.terms}`} open>
      <summary>All terms</summary>
      <table>
        <TableHead columns={["Term", "Value", ...loops.map((loop) => `Loop ${loop}`)]} />
        <tbody>
          {score[1].terms.map((term, at) => (
            <tr key={term.name}>
              <th scope="row">
                {termName(term.name)}
                {term.note !== undefined && <span className={`muted small ${styles.note}`}>{term.note}</span>}
              </th>
              <td>{fixed(term.value, 3)}</td>
              {loops.map((loop) => {
                const own = score[loop].terms[at];
                return (
                  <td key={loop}>{own === undefined || own.weight === 0 ? NONE : fixed(termContribution(own), 3)}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
