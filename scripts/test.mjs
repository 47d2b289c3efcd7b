// `npm test`: types, lint, unit tests and those on a device or in a browser that guard the main job; `npm test -- --all`: all
// tests. The last line is `N passed, N failed`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ensureChromium, ensurePackages, ensureVulkan, root } from "./lib/ensure.mjs";

/**
 * Open, train two steps, inspect, reload, resume; bad data; keys; the numbers of loss, products and decoding. After "!":
 * files or folders that are left out of one above, because the main job does without what they test.
 */
const MAIN_JOB = JSON.parse(readFileSync(join(root, "tests", "main-job.json"), "utf8"));

const all = process.argv.includes("--all");
const unknown = process.argv.slice(2).filter((argument) => argument !== "--all");
const listed = MAIN_JOB.filter((path) => !path.startsWith("!"));
const left = MAIN_JOB.filter((path) => path.startsWith("!")).map((path) => path.slice(1));
const missing = [...listed, ...left].filter((path) => !existsSync(join(root, path)));
if (unknown.length > 0 || missing.length > 0) {
  const problem = unknown.length > 0 ? `npm test takes --all only, not ${unknown[0]}` : `${missing[0]} does not exist`;
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}

ensurePackages();
const chromium = ensureChromium();
ensureVulkan();
if (chromium === null) {
  process.stderr.write(
    "No Chromium found: install one (Debian: apt-get install chromium) or set CHROMIUM to its path\n",
  );
}

let passed = 0;
let failed = 0;
const failures = [];
const bin = (name) => join(root, "node_modules", ".bin", name);

/** A tool whose exit code is its result counts as one test. Its output comes in one piece, because tests run beside it. */
async function check(title, command, args) {
  const started = Date.now();
  const tool = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [tool.stdout, tool.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const [status] = await once(tool, "close");
  const ok = status === 0;
  ok ? passed++ : failed++;
  const took = ((Date.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${output}${ok ? "ok  " : "FAIL"} ${title} (${took} s)\n`);
}

/** One line per failed test of a file, or for a file that could not be loaded: the last lines of a long log name them all. */
function named({ name, status, message, assertionResults }) {
  const tests = assertionResults.filter((test) => test.status === "failed");
  const first = (text) => (text ?? "").split("\n")[0];
  const lines = tests.map((test) => `${test.fullName}: ${first(test.failureMessages[0])}`);
  if (lines.length === 0 && status === "failed") lines.push(first(message));
  return lines.map((line) => `${relative(root, name)} > ${line}`);
}

/** All projects run together, so that files of one project use processors that another leaves idle. */
async function vitest(projects) {
  const folder = mkdtempSync(join(tmpdir(), "lab-test-"));
  const report = join(folder, "report.json");
  const args = [
    "run",
    ...(all ? [] : [...listed, ...left.flatMap((path) => ["--exclude", path.endsWith("/") ? `${path}**` : path])]),
    ...projects.flatMap((project) => ["--project", project]),
    "--reporter",
    "default",
    "--reporter",
    "json",
    "--outputFile.json",
    report,
  ];
  const started = Date.now();
  const run = spawn(bin("vitest"), args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...(chromium === null ? {} : { CHROMIUM: chromium }) },
  });
  const [status] = await once(run, "close");
  let counted = 0;
  try {
    const json = JSON.parse(readFileSync(report, "utf8"));
    passed += json.numPassedTests;
    failed += json.numFailedTests;
    counted = json.numPassedTests + json.numFailedTests;
    for (const file of json.testResults) failures.push(...named(file));
    // A file that could not be loaded fails without a failing test.
    if (status !== 0 && json.numFailedTests === 0) failed++;
  } catch {
    process.stderr.write("The tests wrote no report\n");
    failed++;
  }
  if (status === 0 && counted === 0) failed++;
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(
    `${status === 0 ? "ok  " : "FAIL"} tests: ${projects.join(", ")} (${((Date.now() - started) / 1000).toFixed(1)} s)\n`,
  );
}

/** Types and lint, one after the other. */
async function checks() {
  await check("types: engine and workers", bin("tsc"), ["-p", "tsconfig.engine.json"]);
  await check("types: page", bin("tsc"), ["-p", "tsconfig.app.json"]);
  await check("types: scripts and tests", bin("tsc"), ["-p", "tsconfig.node.json"]);
  await check("lint", bin("biome"), ["check", "."]);
}

await Promise.all([checks(), vitest(["unit", "gpu", ...(chromium === null ? [] : ["browser"])])]);
if (chromium === null) failed++;

if (!all) process.stdout.write("The tests of the main job ran; npm test -- --all runs every test\n");
for (const line of failures) process.stdout.write(`failed: ${line}\n`);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
