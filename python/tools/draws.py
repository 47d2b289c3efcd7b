"""
python tools/draws.py [--rows 64 --vocabulary 151674]: processor time of drawing a token on one core, in ms a row.

Several distributions of random logits are drawn without filters and with them; of five runs the fastest counts.
"""

import argparse
import sys
import time

import torch

from sa2va_lab.sampler import Sampler, draw

_SAMPLERS = {
    "all tokens": Sampler(), "temperature 0.7": Sampler(temperature=0.7), "top-p 0.9": Sampler(top_p=0.9),
    "top-k 50": Sampler(top_k=50), "top-k 200, top-p 0.95": Sampler(top_k=200, top_p=0.95),
    "min-p 0.05": Sampler(min_p=0.05),
}  # fmt: skip


def main() -> int:
    """Command line; prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in (("rows", 64), ("vocabulary", 151_674)):
        parser.add_argument(f"--{name}", type=int, default=size, help=f"default: {size}")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    flat = torch.randn(given.rows, given.vocabulary)
    peaked = 3 * flat
    peaked[:, :50] += 8
    u = torch.rand(given.rows, dtype=torch.float64)
    for name, sampler in _SAMPLERS.items():
        best = []
        for logits in (0.3 * flat, 2 * flat, peaked):
            times = []
            for _ in range(5):
                began = time.process_time()
                draw(logits, sampler, u, None)
                times.append(time.process_time() - began)
            best.append(f"{1000 * min(times) / given.rows:.2f}")
        print(f"{name:24}", *best)
    return 0


if __name__ == "__main__":
    sys.exit(main())
