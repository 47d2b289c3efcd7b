import type { ReactNode } from "react";
import { passed } from "../../../engine/self-test/self-check.ts";
import type { Plan as RunPlan, PlannedBlock as TrainableBlock } from "../../../engine/session/plan.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { linkTo } from "../../stores/route.ts";
import { useSelfTest } from "../../stores/self-test.ts";
import { useSession } from "../../stores/session.ts";
import { formatCount, formatShare } from "../../styles/format.ts";
import { FitTable } from "./fit.tsx";
import styles from "./side.module.css";

/** Trainable parts, memory and time of a run with these settings. */
export function Preflight(): ReactNode {
  const plan = useSession((session) => session.plan);
  const model = useSession((session) => session.model);
  const failed = useSelfTest(({ checks }) => checks.filter((check) => !passed(check)).length);
  if (plan === null) {
    return (
      <Panel title="Preflight">
        <p className="muted">{model === null ? "Load a model to see memory, time and trainable parts" : "Computing"}</p>
      </Panel>
    );
  }
  const warnings = plan.warnings.length + (failed > 0 ? 1 : 0);
  const verdict =
    plan.problems.length > 0 ? (
      <Badge tone="bad">Cannot start</Badge>
    ) : warnings > 0 ? (
      <Badge tone="warn">{warnings === 1 ? "1 warning" : `${warnings} warnings`}</Badge>
    ) : (
      <Badge tone="good">Ready</Badge>
    );
  return (
    <Panel title="Preflight" aside={verdict}>
      {plan.problems.map((sentence) => (
        <p key={sentence} className={`bad bad-soft ${styles.problem}`}>
          {sentence}
        </p>
      ))}
      {plan.warnings.map((sentence) => (
        <p key={sentence} className={`warn warn-soft ${styles.warning}`}>
          {sentence}
        </p>
      ))}
      {failed > 0 && (
        <p className={`warn warn-soft ${styles.warning}`}>
          The <a href={linkTo({ screen: "system" })}>self-test</a> of this graphics adapter failed in {failed}{" "}
          {failed === 1 ? "check" : "checks"}; its results may be wrong
        </p>
      )}
      <FitTable plan={plan} />
      <Trainable plan={plan} />
    </Panel>
  );
}

function Trainable(props: { readonly plan: RunPlan }): ReactNode {
  const { trainable, trainableParameters, frozenParameters } = props.plan;
  const all = trainableParameters + frozenParameters;
  return (
    <section className={`mt-4 ${styles.tree}`} aria-label="Trainable parts" data-testid="trainable">
      <h3>
        {formatCount(trainableParameters)} trainable parameters
        {all > 0 && <span className="muted normal"> · {formatShare(trainableParameters / all)} of all</span>}
      </h3>
      {trainable.map((block) => (
        <Block key={block.block} block={block} />
      ))}
      <p className={`flex between muted ${styles.frozen}`}>
        <span>All other parameters are frozen</span>
        <span>{formatCount(frozenParameters)}</span>
      </p>
    </section>
  );
}

function Block(props: { readonly block: TrainableBlock }): ReactNode {
  const { block, tensors, parameters } = props.block;
  return (
    <details className={styles.block}>
      <summary className="row gap-2 round-s pointer">
        <span className="grow anywhere">{block}</span>
        <span className="muted">{formatCount(parameters)}</span>
      </summary>
      <ul className="m-0 scroll no-bullets">
        {tensors.map((tensor) => (
          <li key={tensor.path} className="flex gap-3 between muted tiny">
            <code className="tiny anywhere">{tensor.path}</code>
            <span>{tensor.shape.join(" × ") || "scalar"}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
