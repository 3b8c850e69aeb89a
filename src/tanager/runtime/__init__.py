"""Threads, memory, kernels, progress and pickles: what every room runs on."""

from __future__ import annotations

from functools import cached_property


class PicklesFields:
    """A value whose pickle holds its fields alone: a `cached_property` takes more room, and is worked out on use."""

    def __getstate__(self) -> dict[str, object]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }
