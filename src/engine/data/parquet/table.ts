import { Lru } from "../../bytes/lru.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { groupOf } from "../arrow/arrow-table.ts";
import { valueMeter } from "../tables/read-meter.ts";
import type { Table } from "../tables/table.ts";
import { readFooter } from "./footer.ts";
import type { Leaf } from "./nodes.ts";
import type { Page } from "./page.ts";
import { pageReader } from "./pages.ts";
import { assemble, type Entries, type RowFinder, rowFinder } from "./rows.ts";

/** Number of row groups whose page positions and dictionaries are cached. */
const OPEN_GROUPS = 3;
/** Maximum bytes of cached pages. */
const PAGE_BYTES = 2 ** 26;

/**
 * Opens a Parquet file without loading it: reads the footer now, and pages when one of their rows is needed.
 * @throws LabError("bad-input") when it is truncated or damaged, "unsupported" when it is encrypted
 */
export async function openParquet(source: ByteSource): Promise<Table> {
  const footer = await readFooter(source);
  const cache = pageCache();
  const open = new Lru<number, Map<number, RowFinder>>(OPEN_GROUPS);
  const finder = (group: number, leaf: number): RowFinder => {
    const finders = open.get(group, () => new Map());
    let found = finders.get(leaf);
    if (found === undefined) {
      const chunk = footer.groups[group]?.chunks[leaf];
      const node = footer.leaves[leaf] as Leaf;
      if (chunk === undefined) throw new LabError("internal", `${source.name} has no column ${leaf}`);
      const pages = pageReader(source, chunk, node);
      found = rowFinder(pages, (page) => cache(page.start, () => pages.read(page)), chunk.start, node);
      finders.set(leaf, found);
    }
    return found;
  };
  const { columns, nodes, groups, rows, metadata, problem } = footer;
  return {
    columns,
    rows,
    metadata,
    batches: groups.length,
    problem,
    cell: async (column, row, pass) => {
      const node = nodes[column];
      const number = groupOf(groups, rows, row);
      const group = groups[number];
      if (node === undefined) throw new LabError("internal", `${source.name} has no column ${column}`);
      if (group === undefined) throw badInput(`${source.name} has no row ${row}, only ${rows} rows`);
      const entries: Entries[] = [];
      try {
        for (let leaf = node.from; leaf < node.to; leaf++) {
          entries[leaf] = await finder(number, leaf).entries(row - group.firstRow);
        }
        const value = assemble(node, entries, valueMeter(pass));
        // An empty list that goes on: the levels of a damaged page contradict each other.
        if (entries.some((leaf) => leaf?.more() === true)) throw new RangeError("its levels contradict each other");
        return value;
      } catch (thrown) {
        if (thrown instanceof LabError) throw thrown;
        throw badInput(
          `${source.name}: column ${columns[column]?.name} cannot be read (${thrownText(thrown)}); the file is damaged`,
          source.name,
          thrown,
        );
      }
    },
  };
}

/** LRU cache of pages by their offset, up to PAGE_BYTES. */
function pageCache(): (start: number, read: () => Promise<Page>) => Promise<Page> {
  const kept = new Map<number, Promise<Page>>();
  const sizes = new Map<number, number>();
  let bytes = 0;
  const drop = (start: number): void => {
    bytes -= sizes.get(start) ?? 0;
    sizes.delete(start);
    kept.delete(start);
  };
  return (start, read) => {
    const known = kept.get(start);
    if (known !== undefined) {
      kept.delete(start);
      kept.set(start, known);
      return known;
    }
    const page = read();
    kept.set(start, page);
    page.then(
      (done) => {
        if (kept.get(start) !== page) return;
        sizes.set(start, done.bytes);
        bytes += done.bytes;
        for (const oldest of [...kept.keys()]) {
          if (bytes <= PAGE_BYTES) break;
          if (oldest !== start) drop(oldest);
        }
      },
      () => drop(start),
    );
    return page;
  };
}
