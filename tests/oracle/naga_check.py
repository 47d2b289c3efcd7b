"""Compiles WGSL files with naga, the compiler of Firefox and wgpu: python naga_check.py FOLDER PROBE

Prints one JSON object: the adapter, the number of files that compile, and the errors of those that do not, by name.
Files that need an extension that naga does not have are in "skipped", as are those with a bit cast to halves where
naga refuses PROBE, the WGSL by which a device is asked for it.
"""
import json
import pathlib
import re
import sys

import wgpu

LACKING = re.compile(r"^enable (?!f16;)", re.MULTILINE)
CAST = "bitcast<vec2<f16>>"


def refusal(device: wgpu.GPUDevice, code: str) -> str | None:
    """What naga refuses in the code; None if it compiles."""
    try:
        device.create_shader_module(code=code)
        return None
    except Exception as error:  # naga's own class differs between releases
        return str(error)[:400]


def main(folder: str, probe: str) -> None:
    adapter = wgpu.gpu.request_adapter_sync()
    features = [name for name in ("shader-f16",) if name in adapter.features]
    names = ("max-storage-buffers-per-shader-stage", "max-compute-workgroup-storage-size")
    limits = {name: adapter.limits[name] for name in names}
    device = adapter.request_device_sync(required_features=features, required_limits=limits)
    found = {"adapter": adapter.info["device"], "version": wgpu.__version__, "valid": 0, "skipped": [], "errors": {}}
    casts = refusal(device, probe) is None
    for path in sorted(pathlib.Path(folder).glob("*.wgsl")):
        code = path.read_text()
        if LACKING.search(code) or ("enable f16;" in code and not features) or (CAST in code and not casts):
            found["skipped"].append(path.stem)
            continue
        error = refusal(device, code)
        if error is None:
            found["valid"] += 1
        else:
            found["errors"][path.stem] = error
    print(json.dumps(found))


main(sys.argv[1], sys.argv[2])
