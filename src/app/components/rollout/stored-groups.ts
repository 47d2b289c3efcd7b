import { lab } from "../../clients/lab.ts";
import { GroupSource } from "./group-source.ts";

/** Groups of steps in run folders, read once for all screens. */
export const storedGroups = new GroupSource((runId, step) => lab().data.runGroups(runId, step));
