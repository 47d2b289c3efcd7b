"""The one error that reaches people: a plain sentence that names the file or setting, the cause and what was kept."""


class LabError(Exception):
    """A wrong file, setting or environment; the message is all that is shown."""
