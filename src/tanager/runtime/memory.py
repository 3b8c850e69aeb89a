"""How much memory the machine has, and how much of it this process may still take."""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = 1 << 62


def physical_memory() -> int:
    """Bytes of memory of this machine; 4 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30


def available_memory() -> int:
    """Bytes that the machine, or the limits of this process, have left; very many where nobody says."""
    return min(_of_machine(), _of_process(), *(_of_group(*files) for files in _group_files()))


def _of_machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return UNKNOWN


def _of_process() -> int:
    """What a limit on addresses (`ulimit -v`) leaves."""
    try:
        import resource
    except ImportError:  # on Windows
        return UNKNOWN
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = [int(line.split()[0]) * resource.getpagesize() for line in _lines("/proc/self/statm")]
    return UNKNOWN if limit == resource.RLIM_INFINITY or not used else max(limit - used[0], 0)


def _group_files() -> list[tuple[str, str]]:
    """Limit and use of the groups, of version 2 and of version 1, that this process is in."""
    found = [("", "")]
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.strip().split(":", 2)
        if controllers == "":
            found.append((f"/sys/fs/cgroup{path}/memory.max", f"/sys/fs/cgroup{path}/memory.current"))
        elif "memory" in controllers.split(","):
            folder = f"/sys/fs/cgroup/memory{path}/memory."
            found.append((f"{folder}limit_in_bytes", f"{folder}usage_in_bytes"))
    return found


def _of_group(limit: str, use: str) -> int:
    """What is cached of files counts as used, so this may say too little, never too much."""
    numbers = [line.strip() for file in (limit, use) for line in _lines(file)[:1]]
    if len(numbers) < 2 or not all(number.isdigit() for number in numbers):
        return UNKNOWN
    return int(numbers[0]) - int(numbers[1])


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text().splitlines() if file else []
    except OSError:
        return []
