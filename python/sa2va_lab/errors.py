"""
The error type whose messages users read: one sentence that names the file or setting, the cause and what was kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class LabError(Exception):
    """An invalid file, setting or environment; only the message is shown."""


@contextmanager
def reading(name: object, form: bool = True) -> Iterator[None]:
    """
    Turns the errors of a missing, damaged or unexpected file into a LabError that names it.

    With `form` those of another structure too; a block that computes as well leaves them out, because its own mistakes
    raise the same errors.
    """
    unexpected = (LookupError, TypeError, AttributeError, StopIteration) if form else ()
    try:
        yield
    except (OSError, ValueError, MemoryError, *unexpected) as cause:
        why = getattr(cause, "strerror", None) or f"{type(cause).__name__}: {cause}"
        raise LabError(f"{name} cannot be read ({why}); nothing was changed") from cause
