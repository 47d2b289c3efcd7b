/**
 * Packs the card battery: one folder that runs on a Linux machine with only a Vulkan driver installed. Node and Dawn
 * are compressed with gzip, which every such machine has.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { chmod, copyFile, cp, mkdir, readdir, realpath, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { GOLDEN, TOKENIZER_FILES } from "../../../bench/made-up/checkpoint.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { root } from "../ensure.mjs";
import { POCKET_MODEL, POCKET_SHARDS, presetModel } from "../node/node-rows.ts";

/** Maximum bytes of the packed folder. */
export const MOST_BYTES = 60e6;

const DAWN = "node_modules/webgpu/dist/linux-x64/dawn.node";
const LOADER = "libvulkan.so.1";
const LIBRARY_FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"];

/** Names NVIDIA's driver for containers that have its library but no file that names it. */
const NVIDIA = { file_format_version: "1.0.0", ICD: { library_path: "libGLX_nvidia.so.0", api_version: "1.3.0" } };

const LAUNCHER = `#!/bin/sh
# sh run.sh [--out FILE] [--seconds N] [--stages adapter,self-test,long,rates,decoding,tuning,kernels,decode,step,step-1b,demo]
#   [--sizes small] to try the folder on a slow adapter
# Writes JSON lines; another call goes on where this one ended. Exit code 3: there is more to measure.
set -e
PATH="\${PATH:-/usr/local/bin:/usr/bin:/bin}"
export PATH
dir=$(cd "$(dirname "$0")" && pwd)
for file in bin/node ${DAWN}; do
  if [ ! -e "$dir/$file" ]; then
    gzip -dc "$dir/$file.gz" > "$dir/$file.part"
    chmod +x "$dir/$file.part"
    mv "$dir/$file.part" "$dir/$file"
  fi
done
LD_LIBRARY_PATH="$dir/lib\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
drivers="\${VK_ICD_FILENAMES:-}\${VK_DRIVER_FILES:-}"
for file in /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json /usr/local/share/vulkan/icd.d/*.json; do
  if [ -e "$file" ]; then drivers="$file"; fi
done
if [ -z "$drivers" ]; then
  VK_ICD_FILENAMES="$dir/lib/nvidia_icd.json"
  export VK_ICD_FILENAMES
fi
exec "$dir/bin/node" "$dir/scripts/lib/battery.mjs" --run "$@"
`;

/**
 * @param directory new or empty
 * @returns bytes of the packed folder
 * @throws LabError("bad-input") for a folder that is not empty, LabError("unsupported") elsewhere than on Linux x64
 */
export async function packBattery(directory: string): Promise<number> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new LabError("unsupported", "The battery is packed on Linux x64, whose Node and Dawn go into it");
  }
  await mkdir(directory, { recursive: true });
  if ((await readdir(directory)).length > 0) throw badInput(`${directory} is not empty; name a new folder`, directory);
  await bundle(directory);
  await zipped(await realpath(process.execPath), join(directory, "bin", "node.gz"));
  await zipped(join(root, DAWN), join(directory, `${DAWN}.gz`));
  const webgpu = join("node_modules", "webgpu");
  for (const file of ["package.json", "index.js", "LICENSE.md"]) {
    await copyFile(join(root, webgpu, file), join(directory, webgpu, file));
  }
  for (const folder of [POCKET_MODEL, presetModel("demo"), POCKET_SHARDS, join(root, "public", "wordnet")]) {
    await cp(folder, join(directory, relative(root, folder)), { recursive: true });
  }
  for (const file of ["config.json", ...TOKENIZER_FILES]) {
    await mkdir(join(directory, GOLDEN), { recursive: true });
    await copyFile(join(root, GOLDEN, file), join(directory, GOLDEN, file));
  }
  await mkdir(join(directory, "lib"));
  await copyFile(await loaderFile(), join(directory, "lib", LOADER));
  await writeFile(join(directory, "lib", "nvidia_icd.json"), JSON.stringify(NVIDIA));
  await writeFile(join(directory, "run.sh"), LAUNCHER);
  await chmod(join(directory, "run.sh"), 0o755);
  return folderBytes(directory);
}

/** One module with everything except Dawn's package, placed so that the files under public/ are found. */
async function bundle(directory: string): Promise<void> {
  const { build } = await import("vite");
  await build({
    configFile: false,
    root,
    logLevel: "error",
    ssr: { noExternal: true, external: ["webgpu"] },
    build: {
      ssr: join(root, "bench", "battery", "main.ts"),
      outDir: join(directory, "scripts", "lib"),
      copyPublicDir: false,
      target: "node20",
      minify: true,
      rolldownOptions: { output: { entryFileNames: "battery.mjs", chunkFileNames: "[name]-[hash].mjs" } },
    },
  });
}

async function zipped(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await pipeline(createReadStream(from), createGzip({ level: 4 }), createWriteStream(to));
}

async function loaderFile(): Promise<string> {
  for (const folder of LIBRARY_FOLDERS) {
    try {
      return await realpath(join(folder, LOADER));
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
    }
  }
  throw badInput(`${LOADER} was not found; install the Vulkan loader (libvulkan1)`, LOADER);
}

async function folderBytes(directory: string): Promise<number> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files.filter((file) => file.isFile()).map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > MOST_BYTES) {
    const message = `${basename(directory)} takes ${bytes} bytes, more than ${MOST_BYTES}; pack it with Node 20, which is smaller`;
    throw new LabError("unsupported", message, { subject: directory });
  }
  return bytes;
}
