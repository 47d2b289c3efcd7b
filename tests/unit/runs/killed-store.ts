import type { RunStore } from "../../../src/engine/storage/store.ts";

/** Lets a store take so many more writes and removals, then fail as if its process had been killed. */
export function killAfter(store: RunStore, changes: number): void {
  let left = changes;
  const [write, remove] = [store.write.bind(store), store.remove.bind(store)];
  const alive = (): void => {
    if (--left < 0) throw new Error("killed");
  };
  store.write = async (...given) => {
    alive();
    return write(...given);
  };
  store.remove = async (...given) => {
    alive();
    return remove(...given);
  };
}
