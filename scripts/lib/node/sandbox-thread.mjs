/** Entry of the sandbox's thread, because a thread does not inherit its parent's TypeScript loader. */
import { register } from "tsx/esm/api";

register();
await import("./sandbox-run.ts");
