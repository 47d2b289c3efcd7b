/** The page's file inputs, mounted once, the button that may need them, and the drop zone, which covers the whole page. */
import { type ReactNode, useEffect, useState } from "react";
import { badInput, quote } from "../../../engine/errors.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { type KeptFolder, keptFolders } from "../../../engine/storage/kept-folders.ts";
import type { PickedFile } from "../../../protocol/common.ts";
import { about, report } from "../../clients/lab.ts";
import { openModel, requireIdle } from "../../clients/loading.ts";
import { busyBlocker, useBlocker } from "../../clients/run/blockers.ts";
import { modelOf, resumeAndShow, unsaved, useResumeNeeds } from "../../clients/run/resume.ts";
import { pickFolder } from "../../clients/save-blob.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { takeSettings, useSession } from "../../stores/session.ts";
import type { ViewedRun } from "../rollout/use-viewed-run.ts";
import { Button, type ButtonProps } from "../ui/button.tsx";
import { IconPlay } from "../ui/icons.tsx";
import { collectDropped, collectHandles, collectPicked } from "./collect.ts";
import styles from "./pickers.module.css";
import { classifyPicked, isOfFiles, takeFiles } from "./take-files.ts";

type PickKind = "shards" | "shard-files" | "model" | "model-files" | "adapter" | "captioner";

const INPUTS: readonly { readonly kind: PickKind; readonly folder: boolean; readonly label: string }[] = [
  { kind: "shards", folder: true, label: "Folder of shards" },
  { kind: "shard-files", folder: false, label: "Shard files" },
  { kind: "model", folder: true, label: "Checkpoint folder" },
  { kind: "model-files", folder: false, label: "Checkpoint files" },
  { kind: "adapter", folder: true, label: "Adapter folder" },
  { kind: "captioner", folder: true, label: "Adapter folder of another checkpoint" },
];

const inputs = new Map<PickKind, HTMLInputElement>();

/**
 * Opens the browser's file picker; must be called from a click or key event. Folders of data and models are picked by
 * handle where the browser can, so that they open again after a reload.
 */
export function pick(kind: PickKind): void {
  report(openPicked(kind));
}

/** Ends the request of the input that was opened last. */
let endPick: (rows: boolean | Promise<boolean>) => void = () => undefined;

/** Whether rows were picked and are open; false after Cancel, and after an error of an input, which is listed. */
async function openPicked(kind: PickKind): Promise<boolean> {
  const asked = kind === "shards" || kind === "model" ? pickFolder("read") : undefined;
  if (asked === undefined) {
    return new Promise((resolve) => {
      endPick(false);
      endPick = resolve;
      inputs.get(kind)?.click();
    });
  }
  const handle = await asked;
  if (handle === null) return false;
  return (await takeFiles(await collectHandles([handle]), kind === "model" ? "model" : "any", [handle])).rows;
}

/** Permissions of handles, which the type libraries lack. A folder of an earlier visit may need a new one. */
type Permitted = FileSystemHandle & {
  readonly queryPermission?: (options: { readonly mode: "read" }) => Promise<PermissionState>;
  readonly requestPermission?: (options: { readonly mode: "read" }) => Promise<PermissionState>;
};

async function requireRead(handle: Permitted, name: string): Promise<void> {
  if ((await handle.queryPermission?.({ mode: "read" })) === "granted") return;
  const answer = await handle.requestPermission?.({ mode: "read" });
  if (answer !== undefined && answer !== "granted")
    throw badInput(`The browser may not read ${quote(name)}; open the folder again and allow it`);
}

/**
 * Opens a kept folder again; call it within a click, because the browser may ask for permission.
 * @throws LabError("bad-input") if the browser may not read it
 */
export async function openKept(kept: KeptFolder): ReturnType<typeof takeFiles> {
  return takeFiles(await readKept(kept), "any", kept.handles);
}

async function readKept({ kind, name, handles }: KeptFolder): Promise<readonly PickedFile[]> {
  for (const handle of handles) await about(kind, () => requireRead(handle, name));
  return collectHandles(handles);
}

/**
 * Opens the rows of a data set: from its kept folder, else from the folder or the files that the user picks.
 * @returns whether rows are open, once all are read; false when the user picked none
 * @throws LabError("bad-input") if the browser may not read them
 */
export async function openRowsOf(name: string): Promise<boolean> {
  const kept = (await keptFolders()).find((one) => one.kind === "data" && one.name === name);
  if (kept === undefined) return openPicked(isOfFiles(name) ? "shard-files" : "shards");
  return (await openKept(kept)).rows;
}

/** Continues a stored run, after it opened what the run needs. @param props.lack what the run lacks itself (`unsaved`) */
export function Resume(
  props: ButtonProps & { readonly run: RunManifest; readonly lack?: string | null; readonly brief?: boolean },
): ReactNode {
  const { run, lack = null, brief = false, ...rest } = props;
  const needs = useResumeNeeds(run, lack);
  const busy = useBlocker(busyBlocker);
  const blocker = needs?.blocker ?? null;
  return (
    <>
      <Button
        icon={<IconPlay />}
        {...rest}
        {...(brief && { title: `${needs?.label} (P)` })}
        blocker={blocker}
        onClick={() => report(resumeAndShow(run, openRowsOf))}
      >
        {brief ? "Resume" : needs?.label}
      </Button>
      {/* What only the user can change. */}
      {!brief && blocker !== busy && <small className="warn">{blocker}</small>}
    </>
  );
}

/** Continues a stored run that ended before its last step, unless a notice or the strip offers that already. */
export function ResumeButton({ run }: { readonly run: ViewedRun }): ReactNode {
  const { manifest, metrics, checkpoints, source, writable } = run;
  const busy = useRun(({ state }) => isActive(state));
  const offered = useSession(({ interrupted }) => interrupted?.manifest.id === run.runId);
  const done = metrics.steps.at(-1) ?? 0;
  const hidden = busy || offered || !writable || source === "live" || done === 0;
  if (manifest === null || hidden || done >= manifest.config.steps) return null;
  return <Resume run={manifest} lack={unsaved(checkpoints)} />;
}

/**
 * Takes the settings of a run, and opens its model if that is not open: a stored conversion, a model of the page, or the
 * kept folder of its name. Call it within a click, because the browser may ask for permission.
 * @throws LabError("bad-input") while a run uses another model, and naming the model if the page cannot open it
 */
export function takeSettingsOf({ title, config, model }: Pick<RunManifest, "title" | "config" | "model">) {
  return about("model", async () => {
    const isOpen = () => useSession.getState().model?.hash === model.hash;
    if (!isOpen()) await requireIdle("the loaded model");
    takeSettings(config);
    if (isOpen()) return;
    const found = modelOf(model, useSession.getState().storedModels);
    const kept = (await keptFolders()).find((one) => one.kind === "model" && one.name === model.name);
    if (found !== null) await found.open();
    else if (kept !== undefined) {
      const { models } = classifyPicked(await readKept(kept));
      for (const folder of models) await openModel(folder);
    }
    if (isOpen()) return;
    throw badInput(
      `Setup has the settings of ${quote(title)}, but its model is not open: open the folder of ${model.name}, or the next run trains another model`,
    );
  });
}

export function Pickers(): ReactNode {
  return (
    <div hidden>
      {INPUTS.map(({ kind, folder, label }) => (
        <input
          key={kind}
          type="file"
          multiple
          aria-label={label}
          data-testid={`pick-${kind}`}
          ref={(element) => {
            if (element === null) return;
            element.webkitdirectory = folder;
            element.oncancel = () => endPick(false);
            inputs.set(kind, element);
          }}
          onChange={(event) => {
            const files = collectPicked(event.currentTarget.files ?? new DataTransfer().files);
            // Emptied, so that the same folder can be picked again.
            event.currentTarget.value = "";
            const expected =
              kind === "adapter" || kind === "captioner" ? kind : kind.startsWith("model") ? "model" : "any";
            const taken = takeFiles(files, expected);
            report(taken);
            endPick(taken.then(({ rows }) => rows).catch(() => false));
          }}
        />
      ))}
    </div>
  );
}

/** Accepts files dropped anywhere; shows a hint while they are dragged over the page. */
export function PageDrop(): ReactNode {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
    const drag = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      setOver(false);
      report(collectDropped(event.dataTransfer.items).then(({ files, handles }) => takeFiles(files, "any", handles)));
    };
    // Listen on the window: rows that appear under the pointer replace the element that would receive the drop.
    const end = new AbortController();
    const { signal } = end;
    window.addEventListener("dragenter", drag, { signal });
    window.addEventListener("dragover", drag, { signal });
    window.addEventListener("dragleave", leave, { signal });
    window.addEventListener("drop", drop, { signal });
    return () => end.abort();
  }, []);
  if (!over) return null;
  return (
    <div className={`grid bold ${styles.over}`} aria-hidden="true">
      <p>Drop shards, a folder of shards, a checkpoint folder, an adapter folder or an exported run</p>
    </div>
  );
}
