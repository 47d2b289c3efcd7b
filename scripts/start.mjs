// `npm start`: installs what is missing, serves the lab and opens the browser. Plain Node, so it runs before any install.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { buildIsStale, ensurePackages, root } from "./lib/ensure.mjs";

ensurePackages();

const port = process.env.PORT ?? "4173";
const vite = join(root, "node_modules", "vite", "bin", "vite.js");
// A built page starts fastest and carries the strict content policy; anything newer than the build is built first.
if (buildIsStale()) {
  process.stdout.write("Building the lab…\n");
  const result = spawnSync(process.execPath, [vite, "build", "--logLevel", "warn"], { cwd: root, stdio: "inherit" });
  if (result.status !== 0) process.exit(result.status ?? 1);
}
const arguments_ = [vite, "preview", "--port", port, ...(process.env.CI || process.env.NO_OPEN ? [] : ["--open"])];
const server = spawn(process.execPath, arguments_, { cwd: root, stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
server.on("exit", (code) => process.exit(code ?? 0));
