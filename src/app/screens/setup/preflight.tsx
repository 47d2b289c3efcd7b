import type { ReactNode } from "react";
import type { RunPlan, TrainableBlock } from "../../../protocol/trainer.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { useSession } from "../../stores/session.ts";
import { formatCount, formatShare } from "../../styles/format.ts";
import { FitTable } from "./fit.tsx";
import styles from "./side.module.css";

/** What a run with these settings trains and takes, before it starts. */
export function Preflight(): ReactNode {
  const plan = useSession((session) => session.plan);
  const model = useSession((session) => session.model);
  if (plan === null) {
    return (
      <Panel title="Preflight">
        <p className={styles.muted}>
          {model === null ? "Bytes and trainable parts are shown once a model is loaded" : "Being worked out"}
        </p>
      </Panel>
    );
  }
  const verdict =
    plan.problems.length > 0 ? (
      <Badge tone="bad">Cannot start</Badge>
    ) : plan.warnings.length > 0 ? (
      <Badge tone="warn">{plan.warnings.length === 1 ? "1 warning" : `${plan.warnings.length} warnings`}</Badge>
    ) : (
      <Badge tone="good">Nothing in the way</Badge>
    );
  return (
    <Panel title="Preflight" aside={verdict}>
      {plan.problems.map((sentence) => (
        <p key={sentence} className={styles.problem}>
          {sentence}
        </p>
      ))}
      {plan.warnings.map((sentence) => (
        <p key={sentence} className={styles.warning}>
          {sentence}
        </p>
      ))}
      <FitTable plan={plan} />
      <Trainable plan={plan} />
    </Panel>
  );
}

function Trainable(props: { readonly plan: RunPlan }): ReactNode {
  const { trainable, trainableParameters, frozenParameters } = props.plan;
  const all = trainableParameters + frozenParameters;
  return (
    <section className={styles.tree} aria-label="Trainable parts" data-testid="trainable">
      <h3>
        {formatCount(trainableParameters)} trainable parameters
        {all > 0 && <span className={styles.muted}> · {formatShare(trainableParameters / all)} of all</span>}
      </h3>
      {trainable.map((block) => (
        <Block key={block.block} block={block} />
      ))}
      <p className={styles.frozen}>
        <span>Everything else is frozen</span>
        <span>{formatCount(frozenParameters)}</span>
      </p>
    </section>
  );
}

function Block(props: { readonly block: TrainableBlock }): ReactNode {
  const { block, tensors, parameters } = props.block;
  return (
    <details className={styles.block}>
      <summary>
        <span>{block}</span>
        <span>{formatCount(parameters)}</span>
      </summary>
      <ul>
        {tensors.map((tensor) => (
          <li key={tensor.path}>
            <code>{tensor.path}</code>
            <span>{tensor.shape.join(" × ") || "scalar"}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
