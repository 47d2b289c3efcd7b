"""python -m sa2va_lab.launch …: torchrun with its own arguments, ended by a sentence, not a traceback."""

import logging
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.run import main as torchrun

_REFUSAL = "SA2VA_LAB_REFUSAL"
"""Variable with the file in which a process tells its launcher why the run cannot start."""


def refuse(sentence: str) -> None:
    """Says once why this process cannot go on; a launcher ends too, since it would start all processes again."""
    place = os.environ.get(_REFUSAL)
    if place is None:
        print(sentence, file=sys.stderr, flush=True)
    else:
        own = Path(f"{place}.{os.getpid()}")
        own.write_text(sentence, encoding="utf-8")
        own.replace(place)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        os.kill(os.getppid(), signal.SIGTERM)


def main() -> int:
    """Command line; exit code 1 after a signal, 2 after a refusal."""
    # Each process of a refused run sends a signal, so another one may arrive while torchrun logs the first.
    logging.raiseExceptions = False
    # torchrun sets the same number, with a warning.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        refusal = Path(folder) / "refusal"
        os.environ[_REFUSAL] = str(refusal)
        for name in list(logging.root.manager.loggerDict):
            if name.startswith("torch.distributed"):
                # torchrun warns of the signal that the refused processes sent.
                logging.getLogger(name).addFilter(lambda _: not refusal.exists())
        try:
            torchrun()
        except (SignalException, ChildFailedError) as ended:
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
