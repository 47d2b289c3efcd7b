/** Runs around every GPU test file: what it left is in order for the next one of its process. */
import { afterAll } from "vitest";
import { leftInOrder } from "./gpu.ts";

afterAll(leftInOrder);
