"""Faults of the system cost no file and are told in one line."""

from __future__ import annotations

import os
import stat

import pytest

from attack.faults import FAULTS
from tanager.files.paths import atomic_write


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_of_the_system_leaves_whole_files_and_says_what_happened(tmp_path, fault):
    fault(tmp_path)


def test_a_file_that_is_replaced_is_at_no_moment_readable_by_more_people(tmp_path):
    path = tmp_path / "secret.json"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_write(path) as stream:
        stream.write(b"new")
        assert {stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)} == {0o600}
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)
