/** Entry of the thread that reads: a thread does not inherit the way in which its parent reads TypeScript. */
import { register } from "tsx/esm/api";

register();
await import("./thread-run.ts");
