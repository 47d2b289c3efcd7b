/** The built page as a visitor without a GPU sees it: its recorded run, read as a stored one. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type OpenPage, openPage, problems } from "./page.ts";

const HOME = join(root, "public/pocket/recorded");

/** Folder of the run that is served with the page. */
export const RECORDED = join(HOME, readdirSync(HOME).find((name) => name !== "files.json") ?? "");

/** Opens the first screen with the recorded run in a window of 1440 × 900. */
export function openViewer(): Promise<OpenPage> {
  return openPage({}, { webgpu: false, width: 1440, height: 900, bypassCSP: true });
}

/** Nothing but the absent GPU is a problem, and the console has no error. */
export async function expectNoProblems({ page, consoleErrors }: OpenPage): Promise<void> {
  expect((await problems(page)).filter((text) => !/WebGPU/.test(text))).toEqual([]);
  expect(consoleErrors).toEqual([]);
}
