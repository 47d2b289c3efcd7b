import type { DataReaders } from "../../engine/data/readers/reader.ts";
import type { Plugin } from "../plugin.ts";

export const plugin = {
  name: "exchange",
  exports: { "trl-completions": "Completions as TRL logs them (Parquet)", trackio: "trackio", coco: "COCO results" },
} as const satisfies Plugin;

/** Files that this lab exports and that hold no rows: the page says where they open. */
export const OTHER_FILES: DataReaders = {
  readers: [],
  samples: [],
  leaves: [
    {
      path: /(^|\/)completions_\d{5,}\.parquet$/,
      reason: "completions of a run, which are no rows. Open their unpacked folder with Runs → Open completions…",
    },
    {
      path: /(^|\/)adapter_config\.json$/,
      reason: "the settings of an adapter, not rows. Unpack the archive and drop the adapter's folder",
    },
  ],
};
