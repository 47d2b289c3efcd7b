import type { ReactNode } from "react";
import { closeAdapter } from "../../clients/adapters.ts";
import { builtIn, openModel, report } from "../../clients/lab.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconFolder } from "../../components/ui/icons.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import { useSession } from "../../stores/session.ts";
import { useTry } from "../../stores/try-out.ts";
import { formatBytes, formatCount } from "../../styles/format.ts";
import styles from "./side.module.css";

/** The adapter that runs start from, and the way to open one. */
function AdapterLine(): ReactNode {
  const adapter = useTry((state) => state.adapter);
  const model = useSession((session) => session.model);
  return (
    <div className={styles.adapter} data-testid="adapter">
      <p>
        {adapter === null
          ? "Runs start from a fresh adapter"
          : `Runs start from ${adapter.name}: rank ${adapter.rank}, scale ${adapter.scale}, ${adapter.factors} factors, ${adapter.modules} further tensors`}
      </p>
      {adapter === null ? (
        <Button obstacle={model === null ? "Load its model first" : null} onClick={() => pick("adapter")}>
          Open adapter…
        </Button>
      ) : (
        <Button onClick={() => report(closeAdapter())}>Close adapter</Button>
      )}
    </div>
  );
}

/** The checkpoint in the trainer, and the ways to put another there. */
export function ModelPanel(): ReactNode {
  const model = useSession((session) => session.model);
  const progress = useSession((session) => session.modelProgress);
  const gpu = useSession((session) => session.gpu);
  const gpuError = useSession((session) => session.gpuError);
  return (
    <Panel title="Loaded model">
      {progress !== null ? (
        <div className={styles.progress} role="status">
          <progress
            max={Math.max(1, progress.totalBytes)}
            value={progress.loadedBytes}
            aria-label="Bytes of the model read"
          />
          <p>
            {progress.what}
            {progress.totalBytes > 0 && `, ${formatBytes(progress.loadedBytes)} of ${formatBytes(progress.totalBytes)}`}
          </p>
        </div>
      ) : model === null ? (
        <p className={styles.muted}>No model is loaded; drop a checkpoint folder anywhere on the page</p>
      ) : (
        <dl className={styles.facts} data-testid="model-facts">
          <dt>Name</dt>
          <dd>{model.name}</dd>
          <dt>Family</dt>
          <dd>{model.family}</dd>
          <dt>Parameters</dt>
          <dd>{formatCount(model.parameters)}</dd>
          <dt>Size</dt>
          <dd>{formatBytes(model.bytes)}</dd>
          <dt>Visual tokens per tile</dt>
          <dd>{formatCount(model.visualTokensPerTile)}</dd>
        </dl>
      )}
      <p className={styles.gpu}>
        {gpuError !== null
          ? gpuError.message
          : gpu === null
            ? "GPU: not asked yet"
            : `GPU: ${[gpu.vendor, gpu.architecture].filter(Boolean).join(" ") || gpu.description}${
                gpu.software ? ", a software adapter: correct but slow" : ""
              }`}
      </p>
      <div className={styles.buttons}>
        <Button icon={<IconFolder />} onClick={() => pick("model")}>
          Open folder…
        </Button>
        <Button onClick={() => pick("model-files")}>Open files…</Button>
        <Button onClick={() => report(openModel({ kind: "built-in", baseUrl: builtIn("pocket/model/") }))}>
          Use pocket model
        </Button>
      </div>
      <AdapterLine />
    </Panel>
  );
}
