import type { ReactNode } from "react";
import { builtIn, report } from "../../clients/lab.ts";
import { openData, openDemoClips } from "../../clients/loading.ts";
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
      <Button onClick={() => report(openData([{ kind: "built-in", baseUrl: builtIn("pocket/shards/") }]))}>
        Use demo shard
      </Button>
      <Button onClick={() => report(openDemoClips())}>Use demo clips</Button>
    </>
  );
}

export function NothingOpen(): ReactNode {
  return (
    <Empty title="Drop shards or a folder here" actions={<OpenButtons />}>
      <p>
        Arrow shards as the datasets library saves them: each row has a picture, a mask and a caption. Nothing is
        uploaded; files are read from your disk
      </p>
    </Empty>
  );
}
