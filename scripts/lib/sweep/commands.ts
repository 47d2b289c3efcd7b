/** The file of `--commands`: one command line per worker that computes jobs of a sweep. */
import { readFileSync } from "node:fs";
import { badInput, type LabError } from "../../../src/engine/errors.ts";

/**
 * Lines that are neither empty nor comments. `{words}` stands for the arguments of `npm run train`, `{folder}` for the
 * job's folder, `{runs}` for the folder that must contain its run afterwards.
 * @throws LabError("bad-input") naming the file and the line
 */
export function readCommands(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw badInput(`${file} cannot be read; nothing was started`, file, cause);
  }
  const lines = text.split("\n").flatMap((line, at) => {
    const trimmed = line.trim();
    return trimmed === "" || trimmed.startsWith("#") ? [] : [{ text: trimmed, at: at + 1 }];
  });
  const lost = lines.find((line) => !line.text.includes("{words}") && !line.text.includes("{folder}"));
  if (lost !== undefined) {
    throw refused(file, `line ${lost.at} has neither {words} nor {folder}, so its job is unknown`);
  }
  if (lines.length === 0) throw refused(file, "has no command line");
  return lines.map((line) => line.text);
}

function refused(file: string, why: string): LabError {
  return badInput(`${file} ${why}; nothing was started`, file);
}
