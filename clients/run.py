"""Try each client in an environment of its own and write docs/clients_table.md: `python -m clients.run [NAME ...]`.

A client is a script of this folder. Its first line says what is checked, its header which packages it needs (PEP 723).
They are installed in a new environment above the one that runs this. With names only their rows are renewed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
PAGE = ROOT / "docs" / "clients_table.md"
HEADER = re.compile(r"^# /// script\n(.*?)^# ///$", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| .*`clients/(\w+)\.py` \|$", re.MULTILINE)
HEAD = """<!-- written by clients/run.py; do not edit -->

| client | works | checked | test |
| --- | --- | --- | --- |
"""


def scripts() -> dict[str, Path]:
    """The clients, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.py")) if HEADER.search(path.read_text())}


def packages(script: Path) -> list[str]:
    """What a script needs beside Tanager."""
    (header,) = HEADER.findall(script.read_text())
    return tomllib.loads(re.sub(r"^# ?", "", header, flags=re.MULTILINE))["dependencies"]


def row(script: Path) -> str:
    """The script's line of the table, after it ran in a new environment."""
    needed = packages(script)
    with tempfile.TemporaryDirectory(prefix="tanager-client-") as folder:
        venv.create(folder, with_pip=True)
        python, paths = Path(folder, "bin", "python"), {"base": folder, "platbase": folder}
        Path(sysconfig.get_path("purelib", vars=paths), "above.pth").write_text(sysconfig.get_path("purelib"))

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "ignore"}
            command = [python, *arguments]
            return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

        done = run("-m", "pip", "install", "-q", "--no-compile", "--disable-pip-version-check", *needed)
        name = re.split(r"[\[=<>]", needed[0])[0]
        version = run("-c", f"import importlib.metadata as m; print(m.version({name!r}))").stdout.strip()
        if done.returncode == 0:
            done = run("-m", f"clients.{script.stem}")
    output = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    last = output[-1].replace("|", "/")[:160] if output else ""
    works = "yes" if done.returncode == 0 else "no"
    what = script.read_text().split('"""')[1]
    return f"| {name} {version} | {works} | {what}{f' ({last})' if last else ''} | `clients/{script.name}` |"


def main(names: list[str]) -> None:
    found = scripts()
    lines = {match[1]: match[0] for match in ROW.finditer(PAGE.read_text())} if PAGE.exists() else {}
    for name in names or found:
        lines[name] = row(found[name])
        print(lines[name], flush=True)
        PAGE.write_text(HEAD + "".join(f"{lines[each]}\n" for each in found if each in lines))
    raise SystemExit(any("| no |" in line for line in lines.values()))


if __name__ == "__main__":
    main(sys.argv[1:])
