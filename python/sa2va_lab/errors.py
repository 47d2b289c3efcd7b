"""
The error type whose messages users read: one sentence that names the file or setting, the cause and what was kept.
"""


class LabError(Exception):
    """An invalid file, setting or environment; only the message is shown."""
