/** Tests of the core that need plug-ins, too: without their lines they are skipped. A plug-in's README names its own tests. */
import { test } from "vitest";
import { listsWithout, pluginNames } from "../../scripts/lib/build/no-plugins.ts";

/** Whether every one of these plug-ins has lines in the lists of src/plugins. */
export function arePluggedIn(...plugins: readonly string[]): boolean {
  const unknown = plugins.find((name) => !pluginNames().includes(name));
  if (unknown !== undefined) throw new Error(`There is no plug-in "${unknown}"`);
  return plugins.every((name) => Object.keys(listsWithout([name])).length > 0);
}

/** A test that needs these plug-ins. */
export function testWith(...plugins: readonly string[]) {
  return test.skipIf(!arePluggedIn(...plugins));
}
