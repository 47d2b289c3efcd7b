// Loaded before a tool: ends the process in the middle of the n-th change to a folder, as SIGKILL does, and counts changes.
// KILL_BELOW: the folder; KILL_AT: number of the change, from 0, or -1; KILL_SHARE: of its bytes that are still written;
// KILL_COUNT: file that gets the number of changes when the process ends by itself.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const below = process.env.KILL_BELOW ?? "";
const at = Number(process.env.KILL_AT ?? -1);
const share = Number(process.env.KILL_SHARE ?? 0);
let changes = 0;

const counts = (path) => String(path).startsWith(below);
const die = () => process.kill(process.pid, "SIGKILL");
const part = (content) => {
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  return bytes.subarray(0, Math.floor(share * bytes.length));
};

/** A change that is made whole: the process ends before it or after it. */
function whole(change) {
  return async (path, ...rest) => {
    if (!counts(path) || changes++ !== at) return change(path, ...rest);
    if (share >= 0.5) await change(path, ...rest);
    die();
  };
}

/** A change that may be made in part. */
function inPart(change) {
  return async (path, content, ...rest) => {
    if (!counts(path) || changes++ !== at) return change(path, content, ...rest);
    await change(path, part(content), ...rest);
    die();
  };
}

const { appendFile, rename, rm, unlink, writeFile, open } = fs.promises;
fs.promises.rename = whole(rename);
fs.promises.rm = whole(rm);
fs.promises.unlink = whole(unlink);
fs.promises.appendFile = inPart(appendFile);
fs.promises.writeFile = inPart(writeFile);
fs.promises.open = async (path, ...rest) => {
  const handle = await open(path, ...rest);
  if (counts(path)) {
    const write = handle.writeFile.bind(handle);
    const inPlace = inPart((_, content, ...more) => write(content, ...more));
    handle.writeFile = (content, ...more) => inPlace(path, content, ...more);
  }
  return handle;
};
syncBuiltinESMExports();
if (process.env.KILL_COUNT !== undefined) {
  process.on("exit", () => fs.writeFileSync(process.env.KILL_COUNT, String(changes)));
}
