// `npm start`: installs what is missing, serves the lab and opens the browser. Plain Node, so it runs before any install.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { buildIsStale, buildPage, ensurePackages, root } from "./lib/ensure.mjs";

ensurePackages();

const port = process.env.PORT ?? "4173";
if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
  process.stderr.write(`PORT is "${port}"; it must be a number up to 65535\n`);
  process.exit(2);
}
const vite = join(root, "node_modules", "vite", "bin", "vite.js");
// A built page starts fastest and has the strict content policy; if any source is newer, the page is built first.
if (buildIsStale()) {
  process.stdout.write("Building the lab…\n");
  const status = buildPage();
  if (status !== 0) process.exit(status);
}
const arguments_ = [vite, "preview", "--port", port, ...(process.env.CI || process.env.NO_OPEN ? [] : ["--open"])];
const server = spawn(process.execPath, arguments_, { cwd: root, stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
server.on("exit", (code) => process.exit(code ?? 0));
