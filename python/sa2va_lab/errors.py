"""
The error type whose messages users read: one sentence that names the file or setting, the cause and what was kept.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REFUSAL = "SA2VA_LAB_REFUSAL"
"""Variable with the file in which a process tells its launcher why the run cannot start."""


class LabError(Exception):
    """An invalid file, setting or environment; only the message is shown."""


FORM = (LookupError, TypeError, AttributeError, StopIteration)
"""Errors of a file with another structure; mistakes of the program raise them too."""


@contextmanager
def reading(name: object, *more: type[Exception]) -> Iterator[None]:
    """
    Turns the errors of a missing or damaged file into a LabError that names it.

    `more` are further errors that a damaged file causes in this block: FORM only where the block does nothing but take
    values out of a file.
    """
    kinds: tuple[type[Exception], ...] = (OSError, ValueError, MemoryError, *more)
    try:
        yield
    except kinds as cause:
        why = getattr(cause, "strerror", None) or f"{type(cause).__name__}: {cause}"
        raise LabError(f"{name} cannot be read ({why}); nothing was changed") from cause


def refuse(sentence: str) -> None:
    """Says once why this process cannot go on; a launcher ends too, since it would start all processes again."""
    place = os.environ.get(REFUSAL)
    if place is None:
        print(sentence, file=sys.stderr, flush=True)
    else:
        own = Path(f"{place}.{os.getpid()}")
        own.write_text(sentence, encoding="utf-8")
        own.replace(place)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        os.kill(os.getppid(), signal.SIGTERM)
