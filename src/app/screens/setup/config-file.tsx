import { type ReactNode, useRef } from "react";
import { requireConfig } from "../../../engine/config/parse.ts";
import { presetConfig } from "../../../engine/config/presets.ts";
import { LabError } from "../../../engine/errors.ts";
import { report } from "../../clients/lab.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { Button } from "../../components/ui/button.tsx";
import { changeConfig, sessionStore } from "../../stores/session.ts";

/** Takes the settings of a JSON file; nothing is changed unless all of them can be taken. */
async function importConfig(file: File): Promise<void> {
  let value: unknown;
  try {
    value = JSON.parse(await file.text());
  } catch (cause) {
    throw new LabError("bad-input", `${file.name} is not JSON; the settings are kept`, { subject: file.name, cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new LabError("bad-input", `${file.name} holds no object of settings; the settings are kept`);
  }
  // A run.json carries its settings under "config".
  const record = "config" in value && typeof value.config === "object" && value.config !== null ? value.config : value;
  const base = presetConfig(sessionStore.getState().preset);
  changeConfig(requireConfig(record as Readonly<Record<string, unknown>>, base, file.name));
}

export function ConfigFile(): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <span style={{ display: "inline-flex", gap: "8px" }}>
      <input
        ref={input}
        type="file"
        hidden
        accept=".json,application/json"
        aria-label="Settings file"
        data-testid="pick-config"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file !== undefined) report(importConfig(file));
        }}
      />
      <Button onClick={() => input.current?.click()}>Import…</Button>
      <Button
        data-testid="export-config"
        onClick={() => {
          const text = `${JSON.stringify(sessionStore.getState().config, null, 2)}\n`;
          saveBlob(new Blob([text], { type: "application/json" }), "settings.json");
        }}
      >
        Export
      </Button>
    </span>
  );
}
