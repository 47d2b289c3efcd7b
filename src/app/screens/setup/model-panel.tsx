import { type ReactNode, useState } from "react";
import { sameStorage, storageChoice, storageText } from "../../../engine/loading/storage-settings.ts";
import { closeAdapter, openCaptioner } from "../../clients/adapters.ts";
import { report } from "../../clients/lab.ts";
import { openModel, pocketModel, stopLoading } from "../../clients/loading.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { Button } from "../../components/ui/button.tsx";
import { IconFolder, IconGlobe } from "../../components/ui/icons.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { FactList } from "../../components/ui/table.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import { useSession } from "../../stores/session.ts";
import { useTry } from "../../stores/try-out.ts";
import { formatAge, formatBytes, formatCount } from "../../styles/format.ts";
import styles from "./setup.module.css";

/** An adapter beside the model, in words, and the button that opens or closes it. */
function AdapterLine(props: {
  readonly kind: "adapter" | "captioner";
  readonly words: string;
  /** What its button says while none is open. */
  readonly open: string;
  readonly onClose: () => Promise<void>;
}): ReactNode {
  const { kind, words, open, onClose } = props;
  const missing = useTry((state) => state[kind] === null);
  const model = useSession((session) => session.model);
  return (
    <div className={`row wrap gap-2 between mt-3 ${styles.adapter}`} data-testid={kind}>
      <p className="muted anywhere">{words}</p>
      {missing ? (
        <Button blocker={model === null ? "Load the model first" : null} onClick={() => pick(kind)}>
          {open}
        </Button>
      ) : (
        <Button onClick={() => report(onClose())}>Close adapter</Button>
      )}
    </div>
  );
}

/** The adapter that runs start from, and the other checkpoint that scores likelihoods while the settings use one. */
function Adapters(): ReactNode {
  const { adapter, captioner } = useTry();
  const asked = useSession((session) => session.config.likelihoodJudge === "adapter");
  return (
    <>
      <AdapterLine
        kind="adapter"
        words={
          adapter === null
            ? "Runs start from a new adapter"
            : `Runs start from ${adapter.name}: rank ${adapter.rank}, scale ${adapter.scale}, ${adapter.factors} factors, ${adapter.modules} further tensors`
        }
        open="Open adapter…"
        onClose={closeAdapter}
      />
      {(asked || captioner !== null) && (
        <AdapterLine
          kind="captioner"
          words={
            captioner === null
              ? "Likelihoods need the adapter of another checkpoint"
              : `Likelihoods come from ${captioner.name}: rank ${captioner.rank}, scale ${captioner.scale}`
          }
          open="Open its adapter…"
          onClose={() => openCaptioner(null)}
        />
      )}
    </>
  );
}

const WEIGHTS_FROM = {
  read: "the stored conversion",
  written: "the files; the conversion is stored",
  none: "their files",
} as const;

/** The loaded checkpoint, and the buttons to load another one. */
export function ModelPanel(): ReactNode {
  const { model, modelProgress: progress, modelFolder: folder, config } = useSession();
  const wanted = storageChoice(config);
  const [byAddress, setByAddress] = useState(false);
  return (
    <Panel title="Model">
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
            {progress.rate > 0 &&
              `, ${formatBytes(progress.rate)}/s, ${formatAge((progress.totalBytes - progress.loadedBytes) / progress.rate)} left`}
          </p>
          <Button onClick={stopLoading}>Stop loading</Button>
        </div>
      ) : model === null ? (
        <p className="muted">No model is loaded. Drop a checkpoint folder anywhere on the page.</p>
      ) : (
        <details className="fold">
          <summary>
            {model.name} · {formatCount(model.parameters)} parameters · {formatBytes(model.heldBytes)} in{" "}
            {storageText(model.storage)}
          </summary>
          <FactList
            testId="model-facts"
            facts={[
              ["Name", model.name],
              ["Family", model.family],
              ["On the GPU", `${formatBytes(model.heldBytes)} in ${storageText(model.storage)}`],
              ["Parameters", formatCount(model.parameters)],
              ["Size of the files", formatBytes(model.bytes)],
              [
                "Weights read from",
                <span key="from" data-testid="weights-from">
                  {WEIGHTS_FROM[model.cached]}
                </span>,
              ],
              ["Visual tokens per tile", formatCount(model.visualTokensPerTile)],
            ]}
          />
          {model.note !== null && <p className="mt-2 muted small">{model.note}</p>}
        </details>
      )}
      <div className="flex wrap gap-2 mt-3">
        <Button icon={<IconFolder />} onClick={() => pick("model")}>
          Open folder…
        </Button>
        <Button onClick={() => pick("model-files")}>Open files…</Button>
        {hasPanels("model") && (
          <Button
            data-testid="open-address"
            aria-expanded={byAddress}
            icon={<IconGlobe />}
            onClick={() => setByAddress(!byAddress)}
          >
            Open address…
          </Button>
        )}
        <Button onClick={() => report(openModel(pocketModel(useSession.getState().preset)))}>Use pocket model</Button>
        {model !== null && progress === null && folder !== null && !sameStorage(model.storage, wanted) && (
          <Button onClick={() => report(openModel(folder, true))}>Load again in {storageText(wanted)}</Button>
        )}
      </div>
      {byAddress && <PluginPanels at="model" given={{}} />}
      <Adapters />
      <PluginPanels at="stored-models" given={{}} quiet />
    </Panel>
  );
}
