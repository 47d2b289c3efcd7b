"""python -m sa2va_lab.launch …: torchrun with its own arguments, ended by a sentence, not a traceback."""

import logging
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main as torchrun

from .errors import REFUSAL


def main() -> int:
    """Command line; exit code 1 after a signal, 2 after a refusal."""
    # Each process of a refused run sends a signal, so another one may arrive while torchrun logs the first.
    logging.raiseExceptions = False
    # torchrun sets the same number, with a warning.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        refusal = Path(folder) / "refusal"
        os.environ[REFUSAL] = str(refusal)
        for name in list(logging.root.manager.loggerDict):
            if name.startswith("torch.distributed"):
                # torchrun warns of the signal that the refused processes sent.
                logging.getLogger(name).addFilter(lambda _: not refusal.exists())
        try:
            torchrun()
        except (SignalException, ChildFailedError) as ended:
            # torchrun does not know those that it was just starting, and they would run on without it.
            for left in psutil.Process().children(recursive=True):
                left.kill()
            if refusal.exists():
                print(refusal.read_text(encoding="utf-8"), file=sys.stderr)
                return 2
            if isinstance(ended, ChildFailedError):
                raise
            said = "ended all processes; started again, the run continues from its newest checkpoint"
            print(f"{ended.sigval.name} {said}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
