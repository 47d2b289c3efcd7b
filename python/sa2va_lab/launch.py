"""python -m sa2va_lab.launch …: torchrun with its own arguments, ended by a signal with a sentence, not a traceback."""

import logging
import sys

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.run import main as torchrun


def main() -> int:
    """Command line; exit code 1 after a signal."""
    # Each process of a refused run sends a signal, so another one may arrive while torchrun logs the first.
    logging.raiseExceptions = False
    try:
        torchrun()
    except SignalException as ended:
        print(f"{ended.sigval.name} ended all processes; the run continues from its newest checkpoint", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
