"""Every error and warning Tanager raises: what is wrong, where, what was expected, what was found, and a hint."""

from __future__ import annotations


class TanagerError(Exception):
    """Base of all errors. The message says what and where; `hint` says what to do about it.

    Parameters
    ----------
    message : str
        What is wrong, where, what was expected and what was found.
    hint : str or None
        What to do about it.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nHint: {hint}")
        self.hint = hint


class DataError(TanagerError, ValueError):
    """The table or the class column cannot be used as given."""


class DataTypeError(DataError, TypeError):
    """A cell or a whole table is of a type that cannot be read."""


class OptionError(TanagerError, ValueError):
    """An option of an estimator or a function is not one of the valid ones."""


class MissingMethodError(TanagerError, AttributeError):
    """A classifier does not have this method; the message says what does the same."""


class MemoryLimitError(TanagerError, ValueError):
    """A table would not fit in the memory allowed; raised before it is allocated."""


class FileError(TanagerError, ValueError):
    """A file cannot be read, written or understood."""


class DataWarning(UserWarning):
    """The table can be used, but part of it holds no information, such as an empty column."""


class SeparationWarning(UserWarning):
    """The classes can be told apart without error, so without a prior the best tables are at infinity."""
