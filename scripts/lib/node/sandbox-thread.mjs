/** Entry of the sandbox's thread: a thread does not inherit the way in which its parent reads TypeScript. */
import { register } from "tsx/esm/api";

register();
await import("./sandbox-run.ts");
