// Installs what a fresh clone needs first: packages, a Chromium, a Vulkan loader for Dawn.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const run = (command, args, cwd = root) => spawnSync(command, args, { cwd, stdio: ["ignore", 2, 2] }).status === 0;

/** `npm ci` in a folder whose node_modules is absent or older than the lock file. */
export function ensurePackages(folder = root) {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    process.stderr.write(`sa2va-lab needs Node 20.19 or newer, this is ${process.versions.node}\n`);
    process.exit(2);
  }
  const stamp = join(folder, "node_modules", ".package-lock.json");
  const wanted = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")).packages;
  const have = existsSync(stamp) ? JSON.parse(readFileSync(stamp, "utf8")).packages : {};
  const missing = Object.entries(wanted).some(
    ([path, entry]) => path !== "" && !entry.optional && !entry.peer && have[path]?.version !== entry.version,
  );
  if (missing) {
    process.stderr.write("Installing packages…\n");
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    if (!run(npm, ["ci", "--no-audit", "--no-fund"], folder)) process.exit(1);
  }
  // The installation has made it, unless npm ran no scripts.
  const bundled = join(root, ".cache", "tensorflow", "core.mjs");
  const bundle = join(root, "scripts", "lib", "build", "bundle-tensorflow.mjs");
  if (folder === root && !existsSync(bundled) && !run(process.execPath, [bundle])) process.exit(1);
}

const CANDIDATES = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

/** Path of a Chromium: CHROMIUM, a known place, or freshly installed through apt when that is allowed; else null. */
export function ensureChromium() {
  const named = process.env.CHROMIUM;
  if (named) return existsSync(named) ? named : null;
  const find = () => CANDIDATES.find((path) => existsSync(path)) ?? null;
  const found = find();
  if (found || process.platform !== "linux") return found;
  aptInstall(["chromium"]);
  return find();
}

/** First major version of Mesa whose software driver Dawn accepts; bookworm's 22.3 is refused. */
const OLDEST_MESA = 23;

/**
 * Whether apt would install a Mesa that Dawn accepts.
 * @param policy what `apt-cache policy mesa-vulkan-drivers` prints
 */
export function offersMesa(policy) {
  const candidate = /^\s*Candidate:\s*(?:\d+:)?(\d+)\./m.exec(policy)?.[1];
  return candidate !== undefined && Number(candidate) >= OLDEST_MESA;
}

/**
 * The loader library Dawn opens under Node and, on a machine without any Vulkan driver, Mesa's software driver, which
 * is a few times as fast as the SwiftShader of Chromium. If they are missing and apt may be used, they are installed
 * through apt; apt's sources stay as they are.
 */
export function ensureVulkan() {
  if (process.platform !== "linux") return;
  const places = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
  if (!places.some((place) => existsSync(join(place, "libvulkan.so.1")))) aptInstall(["libvulkan1"]);
  const drivers = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
  if (drivers.some((folder) => existsSync(folder) && readdirSync(folder).length > 0) || !mayUseApt()) return;
  const policy = () => spawnSync("apt-cache", ["policy", "mesa-vulkan-drivers"], { encoding: "utf8" }).stdout ?? "";
  // A fresh container has no package lists before the first update.
  if (/Candidate: \(none\)|^$/.test(policy())) run("apt-get", ["update", "-qq"]);
  if (offersMesa(policy())) aptInstall(["mesa-vulkan-drivers"]);
}

const mayUseApt = () => process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");

function aptInstall(packages) {
  if (!mayUseApt()) return;
  process.stderr.write(`Installing ${packages.join(", ")} through apt…\n`);
  run("apt-get", ["update", "-qq"]);
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages]);
}

const SOURCES = ["src", "workers", "public", "index.html", "vite.config.ts", "package-lock.json"];

function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs);
}

/** Whether the built page is missing or older than one of its source files. */
export function buildIsStale() {
  const built = join(root, "dist", "index.html");
  return !existsSync(built) || SOURCES.some((path) => newest(join(root, path)) > statSync(built).mtimeMs);
}

/**
 * Builds the page in a separate process. With a NODE_ENV that a shell or a test runner has set, React would be built for
 * development, which is slower and twice as large.
 * @returns the exit status, 0 for success
 */
export function buildPage() {
  const env = { ...process.env, NODE_ENV: "production" };
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const built = spawnSync(process.execPath, [vite, "build", "--logLevel", "error"], {
    cwd: root,
    env,
    stdio: ["ignore", 2, 2],
  });
  return built.status ?? 1;
}
