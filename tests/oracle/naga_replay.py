"""Repeats a record of a WebGPU device's calls (tests/support/recorder.ts) through naga: python naga_replay.py RECORD

RECORD.jsonl has the calls, RECORD.bin their bytes. Repeats them twice and prints one JSON object: the adapter, the
numbers of programs, dispatches and reads, by the name of the reads their largest distance from what was recorded, the
names of reads whose bits differ between the two ("unsteady"), and by the name of a program what naga refuses.
"""
import collections
import json
import pathlib
import re
import sys

import numpy as np
import wgpu

OUTPUT = re.compile(r"@binding\((\d+)\)\s*var<storage,\s*read_write>\s*\w+\s*:\s*array<([^;]*)>\s*;")
LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage",
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-compute-workgroup-size-z",
)
USAGE = wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST | wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.UNIFORM


# Of a drawn token: its id, two f32, and a number of logits.
DRAWN = "vec4<u32>"


def distance(found: bytes, expected: bytes, type: str) -> float:
    """Largest difference of f32 relative to the largest expected one; infinity where other words differ.

    type: that of the elements in the program that filled the buffer.
    """
    if found == expected:
        return 0.0
    mine, own = (np.frombuffer(data, np.float32).astype(np.float64) for data in (found, expected))
    if type == DRAWN:
        words, others = (np.frombuffer(data, np.uint32).reshape(-1, 4) for data in (found, expected))
        if (words[:, ::3] != others[:, ::3]).any():
            return np.inf
        mine, own = mine.reshape(-1, 4)[:, 1:3], own.reshape(-1, 4)[:, 1:3]
    elif "f32" not in type:
        return np.inf
    with np.errstate(invalid="ignore"):
        errors = np.where((mine == own) | (np.isnan(mine) & np.isnan(own)), 0.0, np.abs(mine - own))
    worst = float(np.max(np.nan_to_num(errors, nan=np.inf)))
    return worst / max(1e-30, float(np.max(np.abs(own[np.isfinite(own)]), initial=0.0)))


class Replay:
    """One device, which keeps its pipelines from one repetition to the next."""

    def __init__(self, record: str) -> None:
        self.lines = [json.loads(line) for line in pathlib.Path(f"{record}.jsonl").read_text().splitlines()]
        self.bytes = pathlib.Path(f"{record}.bin").read_bytes()
        self.adapter = wgpu.gpu.request_adapter_sync()
        wanted = ("shader-f16", "subgroup", "subgroup-barrier")
        self.device = self.adapter.request_device_sync(
            required_features=[name for name in wanted if name in self.adapter.features],
            required_limits={name: self.adapter.limits[name] for name in LIMITS},
        )
        submits = [commands for call, commands, *_ in self.lines if call == "submit"]
        self.used = {given[0] for commands in submits for command, *given in commands if command == "run"}
        self.layouts: dict[int, wgpu.GPUBindGroupLayout] = {}
        self.pipelines: dict[int, wgpu.GPUComputePipeline] = {}
        self.outputs: dict[int, dict[int, str]] = {}
        self.refused: dict[str, str] = {}
        self.dispatches = 0

    def layout(self, id: int, types: list) -> None:
        if id in self.layouts:
            return
        visibility = wgpu.ShaderStage.COMPUTE
        entries = [{"binding": at, "visibility": visibility, "buffer": {"type": type}} for at, type in types]
        self.layouts[id] = self.device.create_bind_group_layout(entries=entries)

    def pipeline(self, id: int, name: str, code: str, entry: str, constants: dict, layout: int | None) -> None:
        if id not in self.used or id in self.pipelines or name in self.refused:
            return
        self.outputs[id] = {int(at): type.strip() for at, type in OUTPUT.findall(code)}
        try:
            # naga has subgroups without their directive, which it refuses.
            module = self.device.create_shader_module(code=code.replace("enable subgroups;", ""))
            own = [self.layouts[layout]] if layout else []
            made = self.device.create_compute_pipeline(
                layout=self.device.create_pipeline_layout(bind_group_layouts=own) if layout else "auto",
                compute={"module": module, "entry_point": entry, "constants": constants},
            )
        except Exception as error:  # naga's own class differs between releases
            self.refused[name] = str(error)[:400]
            return
        self.pipelines[id] = made
        if layout is None:
            self.layouts[id] = made.get_bind_group_layout(0)

    def run(self) -> list[tuple[str, float, bytes]]:
        """Repeats the record. Returns name, distance and bytes of every read."""
        buffers: dict[int, wgpu.GPUBuffer] = {}
        groups: dict[int, tuple[wgpu.GPUBindGroup, dict[int, int]]] = {}
        types: dict[int, str] = {}
        reads = []
        for call, *given in self.lines:
            if call == "buffer":
                id, size = given
                buffers[id] = self.device.create_buffer(size=-(-size // 4) * 4, usage=USAGE)
            elif call == "destroy":
                if given[0] in buffers:
                    buffers.pop(given[0]).destroy()
            elif call == "write":
                id, offset, at, size = given
                self.device.queue.write_buffer(buffers[id], offset, self.bytes[at : at + size])
            elif call == "layout":
                self.layout(*given)
            elif call == "pipeline":
                self.pipeline(*given)
            elif call == "group":
                id, layout, entries = given
                if layout in self.layouts:
                    bound = [
                        {"binding": at, "resource": {"buffer": buffers[of], "offset": offset, "size": size}}
                        for at, of, offset, size in entries
                    ]
                    made = self.device.create_bind_group(layout=self.layouts[layout], entries=bound)
                    groups[id] = (made, {at: of for at, of, *_ in entries})
            elif call == "submit":
                self.submit(given[0], buffers, groups, types)
            elif call == "read":
                id, offset, at, size, what = given
                found = bytes(self.device.queue.read_buffer(buffers[id], offset, size))
                reads.append((what, distance(found, self.bytes[at : at + size], types.get(id, "")), found))
        return reads

    def submit(self, commands: list, buffers: dict, groups: dict, types: dict) -> None:
        encoder = self.device.create_command_encoder()
        for command, *given in commands:
            if command == "run":
                pipeline, group, grid = given
                if pipeline not in self.pipelines:
                    continue
                bind_group, bound = groups[group]
                compute = encoder.begin_compute_pass()
                compute.set_pipeline(self.pipelines[pipeline])
                compute.set_bind_group(0, bind_group)
                compute.dispatch_workgroups(*grid)
                compute.end()
                types.update({bound[at]: type for at, type in self.outputs[pipeline].items()})
                self.dispatches += 1
            elif command == "copy":
                source, source_at, target, target_at, size = given
                encoder.copy_buffer_to_buffer(buffers[source], source_at, buffers[target], target_at, size)
                types[target] = types.get(source, "")
            else:
                id, offset, size = given
                encoder.clear_buffer(buffers[id], offset, size)
        self.device.queue.submit([encoder.finish()])


def main(record: str) -> None:
    replay = Replay(record)
    first, second = replay.run(), replay.run()
    worst: dict[str, float] = collections.defaultdict(float)
    for what, far, _ in first:
        worst[what] = max(worst[what], far)
    unsteady = sorted({what for (what, _, one), (_, _, two) in zip(first, second, strict=True) if one != two})
    found = {
        "adapter": replay.adapter.info["device"],
        "programs": len(replay.pipelines),
        "dispatches": replay.dispatches // 2,
        "reads": len(first),
        "distances": {what: far if far < np.inf else "infinity" for what, far in worst.items()},
        "unsteady": unsteady,
        "refused": replay.refused,
    }
    print(json.dumps(found))


main(sys.argv[1])
