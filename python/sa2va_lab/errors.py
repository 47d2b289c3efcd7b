"""
The error type whose messages users read: one sentence that names the file or setting, the cause and what was kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager


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
