import { type ReactNode, useMemo, useState } from "react";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { Caption, CaptionDiff } from "../../app/components/rollout/caption.tsx";
import { textTitle } from "../../app/components/rollout/rollout-view.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Select } from "../../app/components/ui/controls.tsx";
import { useSession } from "../../app/stores/session.ts";
import { fixed, signed } from "../../app/styles/format.ts";
import { isStoredRow } from "../../engine/data/open-rows.ts";
import RewardDetails from "../rollout-tools/reward-details.tsx";
import styles from "./bench.module.css";
import type { BenchGroup } from "./bench-group.ts";
import { factsOf } from "./bench-group.ts";
import look from "./bench-groups.module.css";
import { isSelected, type Selection } from "./bench-view.ts";
import { type Order, rankGroups } from "./statistics.ts";
import { tryOut } from "./trial-panel.tsx";

const PAGE = 12;
const ORDERS: Readonly<Record<Order, string>> = {
  worst: "Lowest first",
  best: "Best first",
  widest: "Widest spread first",
  flattest: "Least spread first",
};

/** The rows behind a number, best or worst first; one row shows its rollouts. */
export function BenchGroups(props: {
  readonly groups: readonly BenchGroup[];
  readonly selection: Selection | null;
}): ReactNode {
  const { groups, selection } = props;
  const [order, setOrder] = useState<Order>("worst");
  const [shown, setShown] = useState(PAGE);
  const [open, setOpen] = useState<string | null>(null);
  const ranked = useMemo(() => rankGroups(groups, order), [groups, order]);
  return (
    <section className={`grid gap-3 ${styles.section}`}>
      <header className="row wrap gap-2-3">
        <h3>Rows</h3>
        <Select label="Order of rows" testId="bench-order" options={ORDERS} value={order} onChange={setOrder} />
      </header>
      <ul className="full-width m-0 p-0 no-bullets" data-testid="bench-groups">
        {ranked.slice(0, shown).map((group) => (
          <li key={group.key}>
            <button
              type="button"
              className={`grid gap-3 align-centre full-width text-left pointer clear borderless lit ${look.group}`}
              aria-expanded={open === group.key}
              onClick={() => setOpen(open === group.key ? null : group.key)}
            >
              <span className={look.rowName}>{group.rowId}</span>
              <Dots group={group} selection={selection} />
              <span>
                mean <b>{fixed(group.rewardMean, 3)}</b>
              </span>
              <span>
                std <b>{fixed(group.rewardStd, 3)}</b>
              </span>
              <span className={`muted ${look.first}`}>{firstCaption(group)}</span>
            </button>
            {open === group.key && <Opened group={group} selection={selection} />}
          </li>
        ))}
      </ul>
      {ranked.length > shown && (
        <Button onClick={() => setShown(shown + 4 * PAGE)}>Show more of {ranked.length} rows</Button>
      )}
    </section>
  );
}

function firstCaption({ loop, rollouts: [first] }: BenchGroup): string {
  return (first === undefined ? null : factsOf(loop, first).caption) ?? "no caption";
}

/** The rewards of a group on one line, scaled to the lowest and highest reward. */
function Dots(props: { readonly group: BenchGroup; readonly selection: Selection | null }): ReactNode {
  const { group, selection } = props;
  const known = group.rollouts.filter((rollout) => rollout.reward !== null);
  const least = Math.min(0, ...known.map((rollout) => rollout.reward as number));
  const most = Math.max(1, ...known.map((rollout) => rollout.reward as number));
  return (
    <svg className={`full-width ${look.dots}`} viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
      <path d="M0 6H100" stroke="var(--line)" />
      {known.map((rollout) => (
        <rect
          key={rollout.id}
          x={2 + (((rollout.reward as number) - least) / (most - least)) * 95}
          y="1.5"
          width="1.6"
          height="9"
          fill={isSelected(group, rollout, selection) ? "var(--run-1)" : "var(--line-control)"}
        />
      ))}
    </svg>
  );
}

function Opened(props: { readonly group: BenchGroup; readonly selection: Selection | null }): ReactNode {
  const { group, selection } = props;
  const rows = useSession((session) => session.rows);
  const openRow = rows.find((row) => isStoredRow(row, group));
  const ordered = useMemo(
    () => [...group.rollouts].sort((a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity)),
    [group],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const behind = ordered.find((rollout) => selection !== null && isSelected(group, rollout, selection));
  const rollout = ordered.find(({ id }) => id === chosen) ?? behind ?? ordered[0];
  if (rollout === undefined) return null;
  const facts = factsOf(group.loop, rollout);
  const [height, width] = rollout.givenMask.size;
  const layers = [
    ...(facts.given === null ? [] : [{ role: "given" as const, mask: facts.given }]),
    ...(facts.predicted === null ? [] : [{ role: "partner" as const, mask: facts.predicted }]),
  ];
  return (
    <div className={`grid gap-3 ${look.opened}`}>
      <div className="flex wrap gap-1">
        {ordered.map((each) => (
          <button
            key={each.id}
            type="button"
            className={`pointer surface framed round-m min-control ${look.member}`}
            aria-pressed={each.id === rollout.id}
            data-behind={selection !== null && isSelected(group, each, selection)}
            onClick={() => setChosen(each.id)}
          >
            <b>{fixed(each.reward, 3)}</b> <span className="muted small">{signed(each.advantage, 2)}</span>
          </button>
        ))}
      </div>
      <div className={`grid align-start ${look.inside}`}>
        <div className={`grid gap-2 ${look.picture}`}>
          {openRow !== undefined ? (
            <MaskFigure
              rowId={openRow.id}
              imageId={openRow.imageId}
              width={width}
              height={height}
              layers={layers}
              label={`Given mask in blue and predicted mask in green of ${group.rowId}`}
            />
          ) : (
            <p className="muted small">This row is not open, so its picture cannot be shown</p>
          )}
          {openRow !== undefined && (
            <Button
              onClick={() =>
                tryOut({
                  rowId: openRow.id,
                  imageId: openRow.imageId,
                  caption: facts.caption ?? "",
                  mask: facts.predicted,
                })
              }
            >
              Try it out
            </Button>
          )}
        </div>
        <div className="grid gap-3 min-0">
          <CaptionDiff name={textTitle(group.loop)} text={facts.caption ?? ""} reference={facts.reference ?? ""} />
          <Caption name="Reference" text={facts.reference ?? ""} />
          <RewardDetails rollout={rollout} />
        </div>
      </div>
    </div>
  );
}
