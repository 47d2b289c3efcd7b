/** Runs with every GPU test file. */
import { afterAll } from "vitest";
import { endOfFile } from "./gpu.ts";

afterAll(endOfFile);
