"""Compiles WGSL files with naga, the compiler of Firefox and wgpu: python naga_check.py FOLDER

Prints one JSON object: the adapter, the number of files that compile, and the errors of those that do not, by name.
Files that need an extension that naga does not have are in "skipped".
"""
import json
import pathlib
import re
import sys

import wgpu

LACKING = re.compile(r"^enable (?!f16;)", re.MULTILINE)


def main(folder: str) -> None:
    adapter = wgpu.gpu.request_adapter_sync()
    features = [name for name in ("shader-f16",) if name in adapter.features]
    names = ("max-storage-buffers-per-shader-stage", "max-compute-workgroup-storage-size")
    limits = {name: adapter.limits[name] for name in names}
    device = adapter.request_device_sync(required_features=features, required_limits=limits)
    found = {"adapter": adapter.info["device"], "version": wgpu.__version__, "valid": 0, "skipped": [], "errors": {}}
    for path in sorted(pathlib.Path(folder).glob("*.wgsl")):
        code = path.read_text()
        if LACKING.search(code) or ("enable f16;" in code and not features):
            found["skipped"].append(path.stem)
            continue
        try:
            device.create_shader_module(code=code)
            found["valid"] += 1
        except Exception as error:  # naga's own class differs between releases
            found["errors"][path.stem] = str(error)[:400]
    print(json.dumps(found))


main(sys.argv[1])
