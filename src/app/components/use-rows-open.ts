import { rowsHash } from "../../engine/data/open-rows.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import { useSession } from "../stores/session.ts";
import { useAsync } from "./use-async.ts";

/** Whether exactly the rows of a run are open; null while unknown. */
export function useRowsOpen(manifest: RunManifest | null): boolean | null {
  const info = useSession((session) => session.dataInfo);
  const rows = useSession((session) => session.rows);
  const { value: hash } = useAsync(info === null ? null : rows, () =>
    rowsHash(rows.map(({ id, imageId }) => [id, imageId] as const)),
  );
  if (info === null) return false;
  if (manifest === null || hash === undefined) return null;
  return hash === manifest.data.hash;
}
