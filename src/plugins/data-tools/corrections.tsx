/** Corrects the detected picture, mask and text columns and the split by hand. */
import { type ReactNode, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { reopenData } from "../../app/clients/loading.ts";
import { saveBlob } from "../../app/clients/save-blob.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Select, TextInput } from "../../app/components/ui/controls.tsx";
import { useSession } from "../../app/stores/session.ts";
import type { SetInfo } from "../../engine/data/set-info.ts";
import { type FileMapping, MAPPING_FILE, mappingText } from "../../engine/data/tables/mapping.ts";

const PARTS = [
  { part: "image", label: "Picture" },
  { part: "mask", label: "Mask" },
  { part: "text", label: "Text" },
] as const;

type Shown = Pick<SetInfo["files"][number], "path" | "split" | "adapter" | "parts"> &
  Partial<Pick<SetInfo["files"][number], "roles">>;

/** A form for one file at a time; corrections are applied to the open files and can be saved beside them. */
export default function Corrections(props: { readonly info: SetInfo; readonly onReopen: () => void }): ReactNode {
  const { files, ignored } = props.info;
  // Files left out for their split too, or the split could not be changed back.
  const shown: readonly Shown[] = [
    ...files,
    ...ignored.flatMap(({ name, split }) =>
      split === undefined ? [] : [{ path: name, split, adapter: "", parts: [] }],
    ),
  ];
  const [path, setPath] = useState(shown[0]?.path ?? "");
  const [mapping, setMapping] = useState(useSession((session) => session.mapping));
  const file = shown.find((one) => one.path === path);
  if (file === undefined) return null;
  const own: FileMapping = mapping[path] ?? {};
  const change = (part: keyof FileMapping, value: string): void => {
    const { [part]: _, ...rest } = own;
    setMapping({ ...mapping, [path]: value === "" ? rest : { ...rest, [part]: value } });
  };
  return (
    <details className="mb-3" data-testid="corrections" open={files.every(({ kept }) => kept === 0)}>
      <summary className="pointer">Correct the detected columns</summary>
      <div className="row wrap gap-2-3 mt-2">
        <Select
          label="File"
          value={path}
          onChange={setPath}
          options={shown.map((one) => ({ value: one.path, label: one.path }))}
        />
        {(file.parts.length === 0 ? [] : PARTS).map(({ part, label }) => (
          <Select
            key={part}
            label={label}
            value={own[part] ?? ""}
            onChange={(value) => change(part, value)}
            options={[
              { value: "", label: `${label}: ${file.roles?.[part] ?? "none found"}` },
              ...file.parts.map((name) => ({ value: name, label: `${label}: ${name}` })),
            ]}
          />
        ))}
        {file.split !== undefined && (
          <TextInput
            aria-label="Split"
            placeholder={`Split: ${file.split}`}
            value={own.split ?? ""}
            onChange={(event) => change("split", event.currentTarget.value.trim())}
          />
        )}
        {/video/.test(file.adapter) && (
          <TextInput
            aria-label="Every Nth video frame"
            placeholder="Every Nth video frame: 1"
            value={own.every ?? ""}
            onChange={(event) => change("every", event.currentTarget.value.trim())}
          />
        )}
        <Button
          kind="primary"
          onClick={() => {
            props.onReopen();
            report(reopenData(mapping));
          }}
        >
          Reopen
        </Button>
        <Button onClick={() => saveBlob(new Blob([mappingText(mapping)]), MAPPING_FILE)}>Save {MAPPING_FILE}</Button>
      </div>
      <p className="small muted mt-2">The page and the tools read a {MAPPING_FILE} that lies beside the files</p>
    </details>
  );
}
