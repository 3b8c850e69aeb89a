"""Threads, memory, kernels, progress and pickles, which every folder uses."""

from __future__ import annotations

from functools import cached_property


class PicklesFields:
    """A value whose pickle holds its fields only: a `cached_property` is computed again on use."""

    def __getstate__(self) -> dict[str, object]:
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }
