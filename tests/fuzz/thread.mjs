/** Entry of the thread that reads: a thread does not inherit its parent's TypeScript loader. */
import { register } from "tsx/esm/api";

register();
await import("./thread-run.ts");
