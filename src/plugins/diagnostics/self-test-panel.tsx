import type { ReactNode } from "react";
import { create } from "zustand";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { useDeviceBlocker } from "../../app/clients/run/blockers.ts";
import { Badge, Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import styles from "../../app/screens/system/system.module.css";
import { useSelfTest } from "../../app/stores/self-test.ts";
import { compact, formatSeconds } from "../../app/styles/format.ts";
import type { DiagnosticsCalls } from "./diagnostics-calls.ts";
import { passed, type SelfCheck } from "./self-check.ts";

/** Checks that the adapter computes correctly: small problems compared with the host, run on request. */
export default function SelfTestPanel(): ReactNode {
  const { state, checks, total } = useProgress();
  const busy = useDeviceBlocker();
  const running = state === "running";
  const failures = checks.filter((check) => !passed(check));
  return (
    <Panel
      title="Self-test"
      aside={
        <span className="inline-flex gap-2 align-centre">
          {state === "broken" && <Badge tone="warn">{`Stopped after ${checks.length}`}</Badge>}
          {state === "done" && <Verdict failed={failures.length} />}
          {running ? (
            <Button data-testid="self-test-cancel" onClick={() => stop.abort()}>
              Cancel
            </Button>
          ) : (
            <Button data-testid="self-test" blocker={busy} onClick={() => report(run())}>
              {state === "never" ? "Run" : "Run again"}
            </Button>
          )}
        </span>
      }
    >
      {state === "never" ? (
        <p className="muted">
          Compares products, attention, norms, gradients and the update with double-precision results, each twice. Takes
          a few seconds.
        </p>
      ) : (
        <div data-testid="self-checks">
          <p role="status" className="muted">
            {state === "done" && failures.length === 0
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
      <table className={`full-width ${styles.table}`}>
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

interface Progress {
  /** "broken": it ended before its last check. */
  readonly state: "never" | "running" | "done" | "broken";
  readonly checks: readonly SelfCheck[];
  readonly total: number;
}

const useProgress = create<Progress>()(() => ({ state: "never", checks: [], total: 0 }));

function addCheck(check: SelfCheck, total: number): void {
  const checks = [...useProgress.getState().checks, check];
  useProgress.setState({ checks, total });
  useSelfTest.setState({ checks, failed: checks.filter((one) => !passed(one)).length });
}

let stop = new AbortController();

async function run(): Promise<void> {
  stop = new AbortController();
  useProgress.setState({ state: "running", checks: [], total: 0 });
  useSelfTest.setState({ checks: [], failed: 0 });
  try {
    await pluginCalls<DiagnosticsCalls>("trainer").selfTest(addCheck, stop.signal);
    useProgress.setState({ state: "done" });
  } catch (thrown) {
    useProgress.setState({ state: "broken" });
    throw thrown;
  }
}
