/** Runs with every GPU test file: files of one worker share their modules, the device and its compiled programs. */
import { afterAll, beforeAll } from "vitest";
import { endOfFile, startOfFile } from "./gpu.ts";

beforeAll(startOfFile);
afterAll(endOfFile);
