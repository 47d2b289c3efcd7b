import type { ReactNode } from "react";
import { report } from "../../clients/lab.ts";
import { DEMO_SETS, openDemoSet } from "../../clients/loading.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconFile, IconFolder } from "../../components/ui/icons.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import styles from "./data-bar.module.css";

function OpenFiles(): ReactNode {
  return (
    <>
      <Button icon={<IconFolder />} onClick={() => pick("shards")}>
        Open folder…
      </Button>
      <Button icon={<IconFile />} onClick={() => pick("shard-files")}>
        Open files…
      </Button>
    </>
  );
}

/** Ways to open shards; dropping works anywhere on the page. @param props.demo only those of the page */
export function OpenButtons({ demo = false }: { readonly demo?: boolean }): ReactNode {
  return (
    <>
      {!demo && <OpenFiles />}
      {DEMO_SETS.map(({ name, preset }) => (
        <Button key={preset} onClick={() => report(openDemoSet(preset))}>
          Use {name}
        </Button>
      ))}
    </>
  );
}

const FORMS =
  "Arrow or Parquet shards of the datasets library, COCO, RefCOCO and other forms, whose rows have a picture, a mask and a caption";

export function NothingOpen(): ReactNode {
  return (
    <Empty title="Drop shards or a folder here" actions={<OpenButtons />}>
      <p>{FORMS}. Nothing is uploaded; files are read from your disk.</p>
    </Empty>
  );
}

/** Where the user's files go while rows of the page are open; a drop anywhere on the page does the same. */
export function DropZone(): ReactNode {
  return (
    <section className={`row wrap gap-2-4 round-l ${styles.drop}`} aria-label="Your own data" data-testid="drop-zone">
      <p className="m-0">
        <b>Drop your own data here</b>
        <span className="block muted small">{FORMS}. Nothing is uploaded</span>
      </p>
      <span className="row gap-2">
        <OpenFiles />
      </span>
    </section>
  );
}
