/** Started by the bench: runs one first step in this process and prints its milliseconds. */
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { type FirstTask, firstStep } from "../suites/first.ts";
import { nodeClock, nodePocket } from "./node-place.ts";

const task = JSON.parse(process.argv[2] as string) as FirstTask;
const clock = nodeClock(task.processorTime);
const milliseconds = await firstStep(task, { open: openNodeDevice, openPocket: nodePocket, clock });
process.stdout.write(`${milliseconds}\n`);
