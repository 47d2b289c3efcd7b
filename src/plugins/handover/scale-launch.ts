/** Launch files of a run for many GPUs, with the memory that it needs computed from its sizes. */
import { groupsPerStep } from "../../engine/config/derived.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";

const GIB = 2 ** 30;
/** A frozen parameter in bf16. */
const FROZEN_BYTES = 2;
/** A trained parameter: weights, average, start, two moments and gradient in f32. */
const TRAINED_BYTES = 24;

/** Names and texts, relative to `scale/`. */
export function launchFiles(manifest: RunManifest): Readonly<Record<string, string>> {
  const { id } = manifest;
  const folders = `--model "\${MODEL:?names no folder}" --shards "\${SHARDS:?names no folder}"`;
  const program = `-m sa2va_lab.train "$RUN" ${folders}`;
  const script = (about: string, command: string, before = ""): string =>
    `#!/bin/sh\n# ${about}\n# MODEL=<folder> SHARDS=<folder> sh ${about.split(":")[0]}\nset -e\nRUN=$(cd "$(dirname "$0")/../.." && pwd)\n${before}exec ${command} "$@"\n`;
  const nodes = `python -m sa2va_lab.launch --nnodes 2 --nproc_per_node "\${GPUS:-8}" --max-restarts 3 --rdzv_backend c10d --rdzv_id ${id} --rdzv_endpoint "\${HEAD:?names no machine}:29500"`;
  return {
    "launch/1gpu.sh": script(
      "1gpu.sh: one process; OMP_NUM_THREADS sets its threads",
      `python ${program}`,
      // As torchrun does: threads without a free core wait for each other.
      `export OMP_NUM_THREADS="\${OMP_NUM_THREADS:-1}"\n`,
    ),
    "launch/8gpu.sh": script(
      "8gpu.sh: eight processes on this machine, or GPUS processes; if one dies, the run restarts from its last checkpoint",
      `python -m sa2va_lab.launch --standalone --nproc_per_node "\${GPUS:-8}" --max-restarts 3 ${program} --widen`,
    ),
    "launch/2x8gpu.sh": script(
      "2x8gpu.sh: on each of two machines, HEAD names the first; eight processes on each, or GPUS processes",
      `${nodes} ${program} --widen`,
    ),
    "launch/2x8.slurm": [
      "#!/bin/sh",
      "#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8 --signal=TERM@120",
      "# MODEL=<folder> SHARDS=<folder> sbatch 2x8.slurm",
      // Slurm runs a copy of this file elsewhere.
      'LAUNCH=$(scontrol show job "$SLURM_JOB_ID" | sed -n "s/^ *Command=//p")',
      'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
      "export HEAD",
      'srun sh "$(dirname "$LAUNCH")/2x8gpu.sh"',
      "",
    ].join("\n"),
    "README.md": readme(manifest),
  };
}

function readme({ id, model, data, config }: RunManifest): string {
  const gib = (bytes: number): string => (bytes / GIB).toFixed(bytes < GIB ? 3 : 1);
  const frozen = FROZEN_BYTES * Math.max(0, model.parameters - model.trainableParameters);
  const trained = TRAINED_BYTES * model.trainableParameters;
  const groups = groupsPerStep(config);
  return `# ${id} on many GPUs

The folder above is the run as the lab stores it. \`pip install ./python\` in the lab's folder, then here:

| GPUs | command |
| --- | --- |
| 1 | \`MODEL=… SHARDS=… sh launch/1gpu.sh\` |
| 8 | \`MODEL=… SHARDS=… sh launch/8gpu.sh\` |
| 2 × 8 | \`HEAD=<first machine> MODEL=… SHARDS=… sh launch/2x8gpu.sh\` on each machine, or \`sbatch launch/2x8.slurm\` |

- MODEL: folder of the checkpoint "${model.name}" (hash ${model.hash.slice(0, 16)}…). SHARDS: folder of "${data.name}",
  ${data.rows} rows (hash ${data.hash.slice(0, 16)}…). Both are checked before the first step.
- A step samples ${groups} groups of ${config.numGenerations} rollouts per loop. \`GPUS=2\` before a command starts two processes on each
  machine. With more processes than groups, 8gpu.sh and 2x8gpu.sh raise promptsPerStep (now ${config.promptsPerStep}) until each has
  one (\`--widen\`); \`--prompts-per-step N\` sets it. A larger batch draws other rows and is another experiment: run.json records it under
  \`segments\`. Back in the lab, the run has its own batch again; fork it there to keep the larger one.
- The run has ${config.steps} steps. \`--steps N\` after a command changes their number; other options of
  \`python -m sa2va_lab.train --help\` go there as well.
- Memory per card, computed, not measured: ${gib(frozen)} GiB for the frozen model in bf16, ${gib(trained)} GiB for trained tensors,
  the keys and values of all groups that a process decodes together (\`--groups-at-once N\` bounds them), and the
  activations of one group (gradientCheckpointing and microRollouts bound them, as in the lab).
- Time per step: no GPU has run this, so no number is given. \`python tools/forecast.py\` of the package counts the operations of
  a step from config.json; \`phases.jsonl\` has the measured time after the first step.
- The same seed draws the same captions and masks on any number of GPUs; sums differ in their last bits.
- To continue in the lab, copy the folder back, or drop it on the page that exported it. \`python -m sa2va_lab.serve\` shows a running run.
`;
}
