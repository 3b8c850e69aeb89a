"""Measure what `pip install tanager` brings, and write it to docs/install_size.md: `python docs/install_size.py`.

Builds the wheel, installs it into a fresh virtual environment in a temporary folder, and adds up the bytes of the files
that each package lists. pip and the interpreter are not counted.
"""

from __future__ import annotations

import datetime
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from experiments.commit import commit  # noqa: E402

PAGE = ROOT / "docs" / "install_size.md"
NAMED = 12
# Runs in the new environment: bytes of the files of each distribution.
COUNT = """
import json
from importlib.metadata import distributions
sizes = {}
for each in distributions():
    name = each.metadata["Name"].lower()
    files = [file.locate() for file in each.files or []]
    if name not in ("pip", "setuptools"):
        sizes[name + " " + each.version] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(sizes))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/env"], check=True)
        python = f"{folder}/env/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], check=True)
        sizes = json.loads(subprocess.run([python, "-c", COUNT], capture_output=True, text=True, check=True).stdout)
        PAGE.write_text("\n".join(page(sizes, wheel.stat().st_size)) + "\n", encoding="utf-8")


def page(sizes: dict[str, int], wheel: int) -> list[str]:
    largest = sorted(sizes.items(), key=lambda item: -item[1])
    rest = sum(size for _, size in largest[NAMED:])
    return [
        f"Written by `python docs/install_size.py` on {datetime.date.today()}, {commit()}, Python "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}. {len(sizes)} packages, "
        f"**{sum(sizes.values()) / 1e6:,.0f} MB**; the wheel of Tanager itself has {wheel / 1e6:.1f} MB.",
        "",
        "| package | MB |",
        "| --- | ---: |",
        *(f"| {name} | {size / 1e6:,.1f} |" for name, size in largest[:NAMED]),
        f"| {len(sizes) - NAMED} others | {rest / 1e6:,.1f} |",
    ]


if __name__ == "__main__":
    main()
