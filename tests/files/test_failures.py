"""The system fails at the n-th write, fsync, chmod or rename, for every n: an error of ours, and never half a file."""

from __future__ import annotations

import builtins
import errno
import io
import os

import pytest

from files.mixed_table import LABELS, MIXED
from tanager import NaiveBayesClassifier, export, load_model, report, save_model
from tanager.errors import FileError

TABLE = MIXED.select(["number", "text"])


class Failing:
    """Counts what is asked of the system, and fails at one of these calls; a write that fails writes half."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails_at: int, buffer_size: int) -> None:
        self.calls, self.fails_at = 0, fails_at
        real_open, system = io.open, self

        class File(io.FileIO):
            def write(self, data) -> int:
                if system.is_the_one():
                    super().write(bytes(data[: len(data) // 2]))
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return super().write(data)

        def fake_open(path, mode="r", *args, opener=None, **options):
            if "x" not in mode:
                return real_open(path, mode, *args, opener=opener, **options)
            return io.BufferedWriter(File(path, "x", opener=opener), buffer_size)

        monkeypatch.setattr(io, "open", fake_open)
        monkeypatch.setattr(builtins, "open", fake_open)
        for name in ("fsync", "replace", "chmod"):
            monkeypatch.setattr(os, name, self.failing(getattr(os, name)))

    def is_the_one(self) -> bool:
        self.calls += 1
        return self.calls == self.fails_at

    def failing(self, function):
        def call(*args, **options):
            if self.is_the_one():
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return function(*args, **options)

        return call


ACTIONS = {
    "save": (lambda clf, path: save_model(clf, path), 1 << 10),
    "export": (lambda clf, path: export(clf, "python", path), 1 << 12),
    "report": (lambda clf, path: report(clf, TABLE, LABELS, path), 1 << 18),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("old", [b"old", None], ids=["over an old file", "a new file"])
def test_a_file_is_the_old_one_or_the_new_one_whatever_call_fails(action, old, tmp_path):
    write, buffer_size = ACTIONS[action]
    clf = NaiveBayesClassifier().fit(TABLE, LABELS)
    path, done, n_failed = tmp_path / "folder" / "file", False, 0
    path.parent.mkdir()
    while not done:
        path.unlink(missing_ok=True)
        if old is not None:
            path.write_bytes(old)
        with pytest.MonkeyPatch.context() as patch:
            system = Failing(patch, n_failed + 1, buffer_size)
            try:
                write(clf, path)
                done = True
            except FileError:
                n_failed += 1
        assert system.calls >= n_failed
        left = [file.read_bytes() for file in path.parent.iterdir()]
        assert done or left == ([] if old is None else [old])
    assert n_failed >= (4 if old else 3)  # a write, fsync and rename at least, and the permissions of an old file
    assert len(left) == 1
    if action == "save":
        assert load_model(path).predict(TABLE).tolist() == clf.predict(TABLE).tolist()
