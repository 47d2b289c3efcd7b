import type { ReactNode } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Badge } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { FactList } from "../../app/components/ui/table.tsx";
import { useSession } from "../../app/stores/session.ts";
import { formatBytes, formatCount } from "../../app/styles/format.ts";
import styles from "./adapter-panel.module.css";

const UNREPORTED = "not reported by the browser";
const UNMEASURED = "not measured yet";

/** The graphics adapter: vendor, features, limits and measured speed. */
export default function AdapterPanel({ rate }: Places["adapter"]): ReactNode {
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
