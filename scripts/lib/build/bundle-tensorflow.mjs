// Bundles TensorFlow.js for Node: its core with gradients, and the WebGPU backend, as the page has them. Node cannot load the
// gradients alone, and the package that holds them with layers, converters and other backends takes 220 MB. Tests and
// `npm run parity` also compute on the CPU backend.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

await build({
  configFile: false,
  root,
  logLevel: "error",
  ssr: { noExternal: true },
  plugins: [
    {
      name: "cpu-backend",
      transform: (code, id) =>
        id.endsWith("/gpu/tfjs/core.ts") ? `${code}\nimport "@tensorflow/tfjs-backend-cpu";\n` : null,
    },
  ],
  build: {
    ssr: true,
    outDir: join(root, ".cache", "tensorflow"),
    emptyOutDir: true,
    copyPublicDir: false,
    target: "node20",
    minify: false,
    rolldownOptions: {
      input: { core: join(root, "src", "engine", "gpu", "tfjs", "core.ts"), webgpu: "@tensorflow/tfjs-backend-webgpu" },
      output: { entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" },
    },
  },
});
