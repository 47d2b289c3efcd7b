import type { ReactNode } from "react";
import { report } from "../../clients/lab.ts";
import { DEMO_SETS, openDemoSet } from "../../clients/loading.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconFile, IconFolder } from "../../components/ui/icons.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { pick } from "../../components/upload/pickers.tsx";

/** Ways to open shards; dropping works anywhere on the page. */
export function OpenButtons(): ReactNode {
  return (
    <>
      <Button icon={<IconFolder />} onClick={() => pick("shards")}>
        Open folder…
      </Button>
      <Button icon={<IconFile />} onClick={() => pick("shard-files")}>
        Open files…
      </Button>
      {DEMO_SETS.map(({ name, preset }) => (
        <Button key={preset} onClick={() => report(openDemoSet(preset))}>
          Use {name}
        </Button>
      ))}
    </>
  );
}

export function NothingOpen(): ReactNode {
  return (
    <Empty title="Drop shards or a folder here" actions={<OpenButtons />}>
      <p>
        Arrow or Parquet shards of the datasets library, COCO, RefCOCO and other forms, whose rows have a picture, a
        mask and a caption. Nothing is uploaded; files are read from your disk.
      </p>
    </Empty>
  );
}
