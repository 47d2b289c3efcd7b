"""JPEGs of random colours in every subsampling, and the pixels that Pillow decodes: make_jpegs.py DIRECTORY [SEED]"""

import base64
import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image

SIZES = [(40, 30), (33, 27), (5, 24), (101, 17)]


def main() -> None:
    place = Path(sys.argv[1])
    random = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    sizes = SIZES if len(sys.argv) > 2 else SIZES[1:2]
    pixels = {}
    for width, height in sizes:
        for subsampling in (0, 1, 2):
            for progressive in (False, True):
                colours = random.integers(0, 256, (height // 6 + 2, width // 6 + 2, 3), dtype=np.uint8)
                picture = Image.fromarray(colours).resize((width, height), Image.BICUBIC)
                name = f"{width}x{height}-{subsampling}{'p' if progressive else ''}.jpg"
                picture.save(place / name, quality=90, subsampling=subsampling, progressive=progressive)
                decoded = Image.open(place / name).convert("RGB")
                pixels[name] = base64.b64encode(decoded.tobytes()).decode()
    (place / "pillow.json").write_text(json.dumps(pixels, indent=1) + "\n")


main()
