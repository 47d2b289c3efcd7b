/** Runs with every GPU test file: files of one worker share their modules, the device and its compiled programs. */
import { afterAll } from "vitest";
import { endOfFile } from "./gpu.ts";

afterAll(endOfFile);
