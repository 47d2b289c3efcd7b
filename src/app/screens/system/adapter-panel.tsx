import type { ReactNode } from "react";
import type { SystemReport } from "../../../protocol/trainer.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { useSession } from "../../stores/session.ts";
import { formatBytes, formatCount } from "../../styles/format.ts";
import { FEATURES, LIMITS } from "./adapter-texts.ts";
import styles from "./system.module.css";

/** The graphics adapter: vendor, features, limits and measured speed. */
export function AdapterPanel({ rate }: { readonly rate: SystemReport["rate"] }): ReactNode {
  const gpu = useSession((session) => session.gpu);
  const error = useSession((session) => session.gpuError);
  if (error !== null) {
    return (
      <Panel title="Graphics adapter" aside={<Badge tone="bad">None</Badge>}>
        <p className={styles.problem}>{error.message}</p>
        <ul className={`grid muted ${styles.remedies}`}>
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
      <dl className={`grid ${styles.facts}`} data-testid="adapter">
        <dt>Description</dt>
        <dd>{gpu.description || "not reported by the browser"}</dd>
        <dt>Vendor</dt>
        <dd>{gpu.vendor || "not reported by the browser"}</dd>
        <dt>Architecture</dt>
        <dd>{gpu.architecture || "not reported by the browser"}</dd>
        <dt>Products</dt>
        <dd>{rate === null ? "measured with the first plan" : `${gigaflops(rate.flops)} GFLOP/s`}</dd>
        <dt>Small operation</dt>
        <dd>{rate === null ? "measured with the first plan" : `${(rate.dispatch * 1e6).toFixed(0)} µs`}</dd>
      </dl>
      <h3>Features</h3>
      <ul className={`grid m-0 p-0 no-bullets ${styles.features}`}>
        {FEATURES.map(({ name, help }) => {
          const has = gpu.features.includes(name);
          return (
            <li key={name} data-has={has}>
              <Badge tone={has ? "good" : "neutral"}>{has ? "yes" : "no"}</Badge>
              <code>{name}</code>
              <span>{help}</span>
            </li>
          );
        })}
      </ul>
      {others.length > 0 && <p className="mt-2 muted small">Also on: {others.join(", ")}</p>}
      <h3>Limits</h3>
      <dl className={`grid ${styles.facts}`}>
        {LIMITS.map(({ name, label, bytes }) => (
          <Limit key={name} label={label} value={gpu.limits[name]} bytes={bytes === true} />
        ))}
      </dl>
    </Panel>
  );
}

function Limit(props: {
  readonly label: string;
  readonly value: number | undefined;
  readonly bytes: boolean;
}): ReactNode {
  return (
    <>
      <dt>{props.label}</dt>
      <dd>{props.bytes ? formatBytes(props.value) : formatCount(props.value)}</dd>
    </>
  );
}

function gigaflops(flops: number): string {
  const value = flops / 1e9;
  return value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en-US");
}
