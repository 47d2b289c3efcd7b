import { useEffect, useState } from "react";
import { rowsHash } from "../../../engine/data/open-rows.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { useSession } from "../../stores/session.ts";

/** Whether exactly the rows of a run are open; null while unknown. */
export function useRowsOpen(manifest: RunManifest | null): boolean | null {
  const info = useSession((session) => session.dataInfo);
  const rows = useSession((session) => session.rows);
  const [hashed, setHashed] = useState<{ readonly rows: typeof rows; readonly hash: string } | null>(null);
  useEffect(() => {
    if (info === null) return;
    let current = true;
    // A digest of text cannot fail.
    void rowsHash(rows.map(({ id, imageId }) => [id, imageId] as const)).then((hash) => {
      if (current) setHashed({ rows, hash });
    });
    return () => {
      current = false;
    };
  }, [info, rows]);
  if (info === null) return false;
  if (manifest === null || hashed?.rows !== rows) return null;
  return hashed.hash === manifest.data.hash;
}
