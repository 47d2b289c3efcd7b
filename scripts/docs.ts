/** `npm run docs`: regenerates every generated document and prints the paths of those that changed. */
import { runTool } from "./lib/arguments.ts";
import { writeGeneratedDocs } from "./lib/build/generated-docs.ts";

await runTool(async () => {
  for (const path of await writeGeneratedDocs()) process.stdout.write(`${path}\n`);
  return 0;
});
