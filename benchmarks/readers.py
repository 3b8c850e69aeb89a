"""Readers: the time of a file, honest or hostile, at one, two and four times its length; linear is 1 : 2 : 4."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from attack.files import check_file
from benchmarks.timing import best_time, format_time


def chain(n_nodes: int, suffix: str) -> bytes:
    """A chain of coins as .bif or .net."""
    if suffix == ".net":
        states = "".join(f'node v{k} {{ states = ("s" "t"); }}\n' for k in range(n_nodes))
        tables = "".join(f"potential (v{k} | v{k - 1}) {{ data = ((1 0) (0 1)); }}\n" for k in range(1, n_nodes))
        return f"net {{}}\n{states}potential (v0) {{ data = (1 0); }}\n{tables}".encode()
    states = "".join(f"variable v{k} {{ type discrete [2] {{ s, t }}; }}\n" for k in range(n_nodes))
    tables = "".join(f"probability ( v{k} | v{k - 1} ) {{ (s) 1, 0; (t) 0, 1; }}\n" for k in range(1, n_nodes))
    return f"network n {{}}\n{states}probability ( v0 ) {{ table 1, 0; }}\n{tables}".encode()


FILES: dict[str, tuple[str, Callable[[int], bytes]]] = {
    ".bif, a chain": ("network.bif", lambda times: chain(2_000 * times, ".bif")),
    ".net, a chain": ("network.net", lambda times: chain(2_000 * times, ".net")),
    ".bif, comments never closed": ("network.bif", lambda times: b"network x " + b"/* " * 100_000 * times),
    ".bif, digits of a bound": (
        "network.bif",
        lambda times: b'network n {} variable a { type discrete [2] { "(' + b"1" * 200_000 * times + b'", ">= 1" }; }',
    ),
    ".arff, blanks in a value": (
        "table.arff",
        lambda times: b"@relation r\n@attribute a {x" + b" " * 200_000 * times + b"y}\n@data\n",
    ),
    ".arff, rows in quotes": (
        "table.arff",
        lambda times: (
            b"@relation r\n@attribute a string\n@attribute b numeric\n@data\n" + b"'x y' ,\t1 \n" * 20_000 * times
        ),
    ),
    ".csv": ("table.csv", lambda times: b"a,b\n" + b'"x, y",1.5\n' * 100_000 * times),
}


def main() -> None:
    print("| file | 1x | 2x | 4x | 4x / 1x |\n| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for title, (name, content) in FILES.items():
            check_file(name, content(1), Path(folder))
            times = []
            for factor in (1, 2, 4):
                hostile = content(factor)
                times.append(best_time(lambda hostile=hostile, name=name: check_file(name, hostile, Path(folder)))[0])
            cells = " | ".join(map(format_time, times))
            print(f"| {title} | {cells} | {times[2] / times[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
