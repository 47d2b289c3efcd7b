import type { ReactNode } from "react";
import { passed, type SelfCheck } from "../../../engine/self-test/self-check.ts";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { lab, report } from "../../clients/lab.ts";
import { useDeviceBlocker } from "../../clients/run/blockers.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { FactList } from "../../components/ui/facts.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { addSelfCheck, useSelfTest } from "../../stores/self-test.ts";
import { useSession } from "../../stores/session.ts";
import { compact, formatBytes, formatCount, formatSeconds } from "../../styles/format.ts";
import styles from "./system.module.css";

const UNREPORTED = "not reported by the browser";
const UNMEASURED = "not measured yet";

/** The graphics adapter: vendor, features, limits and measured speed. */
export function AdapterPanel({ rate }: { readonly rate: SystemReport["rate"] }): ReactNode {
  const gpu = useSession((session) => session.gpu);
  const error = useSession((session) => session.gpuError);
  if (error !== null) {
    return (
      <Panel title="Graphics adapter" aside={<Badge tone="bad">None</Badge>}>
        <p className="bad">{error.message}</p>
        <ul className={`grid gap-1 muted ${styles.remedies}`}>
          <li>
            Chrome and Edge support WebGPU on Windows, macOS, Android and ChromeOS; Safari supports it from version 26
          </li>
          <li>
            On Linux, start Chrome with <code>--enable-unsafe-webgpu --enable-features=Vulkan</code>
          </li>
          <li>
            <code>chrome://gpu</code> lists the adapters and why they were rejected
          </li>
        </ul>
      </Panel>
    );
  }
  if (gpu === null) {
    return (
      <Panel title="Graphics adapter">
        <p className="muted">Opening</p>
      </Panel>
    );
  }
  const others = gpu.features.filter((name) => !FEATURES.some((feature) => feature.name === name));
  return (
    <Panel
      title="Graphics adapter"
      aside={gpu.software ? <Badge tone="warn">Software adapter</Badge> : <Badge tone="good">Hardware</Badge>}
    >
      <FactList
        testId="adapter"
        facts={[
          ["Description", gpu.description || UNREPORTED],
          ["Vendor", gpu.vendor || UNREPORTED],
          ["Architecture", gpu.architecture || UNREPORTED],
          ["Products", rate === null ? UNMEASURED : `${gigaflops(rate.flops)} GFLOP/s`],
          ["Small operation", rate === null ? UNMEASURED : `${(rate.dispatch * 1e6).toFixed(0)} µs`],
        ]}
      />
      <h3 className="muted small medium">Features</h3>
      <ul className={`grid m-0 p-0 no-bullets ${styles.features}`}>
        {FEATURES.map(({ name, help }) => {
          const has = gpu.features.includes(name);
          return (
            <li key={name} className="grid gap-2 align-baseline" data-has={has}>
              <Badge tone={has ? "good" : "neutral"}>{has ? "yes" : "no"}</Badge>
              <code>{name}</code>
              <span className="muted">{help}</span>
            </li>
          );
        })}
      </ul>
      {others.length > 0 && <p className="mt-2 muted small">Also enabled: {others.join(", ")}</p>}
      <h3 className="muted small medium">Limits</h3>
      <FactList
        facts={LIMITS.map(({ name, label, bytes }) => [label, (bytes ? formatBytes : formatCount)(gpu.limits[name])])}
      />
    </Panel>
  );
}

function gigaflops(flops: number): string {
  const value = flops / 1e9;
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}

/** Features that the lab requests, and their use. */
const FEATURES: readonly { readonly name: string; readonly help: string }[] = [
  { name: "shader-f16", help: "half-precision arithmetic in shaders" },
  { name: "subgroups", help: "exchange of values between threads without memory" },
  { name: "timestamp-query", help: "GPU time per phase" },
];

/** Limits that affect memory and the choice of kernels. */
const LIMITS: readonly { readonly name: string; readonly label: string; readonly bytes?: true }[] = [
  { name: "maxBufferSize", label: "Largest buffer", bytes: true },
  { name: "maxStorageBufferBindingSize", label: "Largest binding", bytes: true },
  { name: "maxStorageBuffersPerShaderStage", label: "Buffers per program" },
  { name: "maxComputeWorkgroupStorageSize", label: "Workgroup memory", bytes: true },
  { name: "maxComputeInvocationsPerWorkgroup", label: "Threads per workgroup" },
  { name: "maxComputeWorkgroupsPerDimension", label: "Workgroups per dimension" },
];

/** Checks that the adapter computes correctly: small problems compared with the host, run on request. */
export function SelfTestPanel(): ReactNode {
  const { state, checks, total } = useSelfTest((test) => test);
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

let stop = new AbortController();

async function run(): Promise<void> {
  stop = new AbortController();
  useSelfTest.setState({ state: "running", checks: [], total: 0 });
  try {
    await lab().trainer.selfTest(addSelfCheck, stop.signal);
    useSelfTest.setState({ state: "done" });
  } catch (thrown) {
    useSelfTest.setState({ state: "broken" });
    throw thrown;
  }
}
