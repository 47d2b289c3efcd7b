import type { ReactNode } from "react";
import type { FailureKind } from "../../engine/rewards/judge/providers/provider.ts";
import type { Judged } from "../../protocol/reward.ts";
import { diagnose } from "./diagnosis.ts";

/** Meaning of the first failure of a try-out and how to fix it; nothing when none failed. */
export function DiagnosisBox(props: {
  readonly judged: Judged;
  /** Address used by the try-out. */
  readonly url: string;
  readonly testId: string;
}): ReactNode {
  const { judged, url, testId } = props;
  const failed = judged.rounds.flat().find((term) => term.judge?.failure != null);
  if (failed === undefined) return null;
  const { title, advice, line } = diagnose(failed.judge?.failure as FailureKind, {
    origin: location.origin,
    url,
    model: judged.judge.model,
    reach: judged.reach,
  });
  return (
    <div className="grid gap-2 p-3 bad-soft round-m" role="alert" data-testid={testId}>
      <h3 className="bad">{title}</h3>
      <p>{advice}</p>
      {line !== undefined && <code className="block p-2 scroll-x surface round-s">{line}</code>}
      {failed.note !== undefined && <p className="muted small anywhere">{failed.note}</p>}
    </div>
  );
}
