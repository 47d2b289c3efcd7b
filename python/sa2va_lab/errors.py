"""
The error type whose messages users read: one sentence that names the file or setting, the cause and what was kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class LabError(Exception):
    """A wrong file, setting or environment; the message is all that is shown."""


@contextmanager
def reading(name: object) -> Iterator[None]:
    """Names what is read where it is missing, damaged or of another form. Raises LabError."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration, MemoryError) as cause:
        why = getattr(cause, "strerror", None) or f"{type(cause).__name__}: {cause}"
        raise LabError(f"{name} cannot be read ({why}); nothing was changed") from cause
