import type { ReactNode } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { useDeviceBlocker } from "../../app/clients/run/blockers.ts";
import { Badge, Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { jobKind, SELF_TEST, startJob, stopJob, useJob } from "../../app/stores/jobs.ts";
import { compact, formatSeconds } from "../../app/styles/format.ts";
import type { DiagnosticsCalls } from "./diagnostics-calls.ts";
import { passed, type SelfCheck } from "./self-check.ts";

/** Checks that the adapter computes correctly: small problems compared with the host, run on request. */
export default function SelfTestPanel(): ReactNode {
  const job = useJob(TEST);
  const { checks, total } = job?.progress ?? NOTHING;
  const busy = useDeviceBlocker();
  const running = job?.state === "running";
  const failures = checks.filter((check) => !passed(check));
  return (
    <Panel
      title="Self-test"
      aside={
        <span className="inline-flex gap-2 align-centre">
          {(job?.state === "stopped" || job?.state === "failed") && (
            <Badge tone="warn">{`Stopped after ${checks.length}`}</Badge>
          )}
          {job?.state === "done" && <Verdict failed={failures.length} />}
          {running ? (
            <Button data-testid="self-test-cancel" onClick={() => stopJob(TEST)}>
              Cancel
            </Button>
          ) : (
            <Button data-testid="self-test" blocker={busy} onClick={() => report(run())}>
              {job === null ? "Run" : "Run again"}
            </Button>
          )}
        </span>
      }
    >
      {job === null ? (
        <p className="muted">
          Compares products, attention, norms, gradients and the update with double-precision results, each twice. Takes
          a few seconds.
        </p>
      ) : (
        <div data-testid="self-checks">
          <p role="status" className="muted">
            {job.state === "done" && failures.length === 0
              ? `${checks.length} checks agree with the host within rounding, repeat bit for bit and leak no memory`
              : `${checks.length} of ${total === 0 ? "…" : total}`}
          </p>
          <details open={failures.length > 0}>
            <summary>{failures.length > 0 ? "Failed checks first" : "Every check"}</summary>
            <Checks checks={failures.length > 0 ? [...failures, ...checks.filter(passed)] : checks} />
          </details>
        </div>
      )}
    </Panel>
  );
}

function Verdict({ failed }: { readonly failed: number }): ReactNode {
  return failed === 0 ? <Badge tone="good">Passed</Badge> : <Badge tone="bad">{`${failed} failed`}</Badge>;
}

function Checks({ checks }: { readonly checks: readonly SelfCheck[] }): ReactNode {
  return (
    <div className="scroll-x">
      <table className="full-width">
        <TableHead
          columns={[
            "Check",
            { label: "Error", title: "Largest difference from the host's result, relative to the largest value" },
            "Allowed",
            "Repeats",
            "Time",
          ]}
        />
        <tbody>
          {checks.map((check) => (
            <tr key={check.name}>
              <th scope="row">
                <span className={passed(check) ? undefined : "bad"}>{check.name}</span>
                {check.problem !== null && <small className="block muted tiny">{check.problem}</small>}
              </th>
              <td>{compact(check.error)}</td>
              <td>{compact(check.allowed)}</td>
              <td>{check.repeats ? "yes" : "no"}</td>
              <td>{formatSeconds(check.seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const NOTHING = { checks: [] as readonly SelfCheck[], failed: 0, total: 0 };

/** The job that the core reads, with the checks of this plug-in. */
const TEST = jobKind<typeof NOTHING>(SELF_TEST.name);

function run(): Promise<void> {
  return startJob(TEST, NOTHING, (signal, show) => {
    let checks: readonly SelfCheck[] = [];
    const add = (check: SelfCheck, total: number): void => {
      checks = [...checks, check];
      show({ checks, failed: checks.filter((one) => !passed(one)).length, total });
    };
    return pluginCalls<DiagnosticsCalls>("trainer").selfTest(add, signal);
  });
}
