"""The documentation tells the truth: its code runs, its output is what is printed, and nothing public is left out."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import shlex
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import matplotlib
import pytest
from typer.main import get_command

import tanager
import tanager.parameters
import tanager.plots
import tanager.scores
import tanager.structure
from benchmarks.run import about, read_sections, renewed
from experiments.second_half import put_comparison
from tanager.cli.main import app, run
from tanager.cli.options import registered_names
from tanager.counts.engine import ENGINES, choose_engine
from tanager.parameters import PARAMETERS
from tanager.scores import SCORES
from tanager.structure import STRUCTURES

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GENERATED = {"_build", "generated"}
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if not GENERATED.intersection(page.relative_to(ROOT / "docs").parts)
]
# Without the folder of benchmark sets it says so, and has nothing to draw.
NEEDS_DATA = {"09_binding_sites"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def figures(monkeypatch):
    """pyplot without windows; its figures are closed afterwards."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    monkeypatch.setattr(plt, "show", lambda: None)
    yield plt.get_fignums
    plt.close("all")


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_every_example_runs_prints_and_draws(script: Path, tmp_path: Path, monkeypatch, capsys, figures):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TANAGER_DATA", raising=False)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
    assert bool(figures()) != (script.stem in NEEDS_DATA)
    assert not list(tmp_path.iterdir())


def test_examples_are_numbered_and_begin_with_a_title():
    assert len(EXAMPLES) >= 8
    assert [int(script.name[:2]) for script in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    for script in EXAMPLES:
        first, title, rule = script.read_text().splitlines()[:3]
        assert (first, rule) == ('"""', "=" * len(title)), script.name


def test_the_readme_leads_from_a_table_to_an_explained_prediction(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    assert run(["demo", "-o", "demo"]) == 0
    (code,) = (block for language, block in BLOCK.findall(text) if language == "python")
    exec(compile(code, "README.md", "exec", dont_inherit=True), {})
    assert "log odds" in capsys.readouterr().out

    # A mixed table with missing values, as a reader may have one.
    sick = ["yes", "no"] * 30
    rows = [f"{40 + k % 25},{'north' if k % 3 else ''},{k % 7 + 3 * (c == 'yes')},{c}" for k, c in enumerate(sick)]
    table = "\n".join(["age,region,marker,outcome", *rows, ",,,no"])
    for name in ("patients.csv", "new.csv"):
        Path(name).write_text(table)
    commands = [line.split("#")[0].split("|")[0] for line in text.splitlines() if line.startswith("tanager ")]
    assert [shlex.split(command)[1] for command in commands] == ["start", "predict", "explain", "export", "fit"]
    for command in commands:
        assert run(shlex.split(command)[1:]) == 0, command
    assert "log odds" in capsys.readouterr().out
    assert {"report.html", "patients-report.html", "model.py", "tan.json"} <= {path.name for path in Path().iterdir()}
    assert len(Path("answers.csv").read_text().splitlines()) == len(sick) + 2


def test_the_comparison_in_the_readme_is_that_of_the_records():
    text = (ROOT / "README.md").read_text()
    assert put_comparison(text) == text, "the comparison in README.md is old: run `make summary`"
    assert len(text.splitlines()) <= 150


def test_every_section_of_the_benchmarks_is_of_its_benchmark_and_names_a_commit_or_is_marked():
    sections = read_sections()
    assert len(sections) > 10
    for name, section in sections.items():
        assert renewed(section, about(name)) == section, f"benchmarks/RESULTS.md: run `python -m benchmarks.run {name}`"


GUIDE = ROOT / "docs" / "adding_parts.md"
WITH_CODE = [page for page in PAGES if "```python" in page.read_text() and page != GUIDE]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "from mapie" in page.read_text():
        pytest.importorskip("mapie")
    for printed, shown in run_page(page, {}):
        # A text block below code that prints nothing is no output: a formula, a line of a registry.
        assert not printed or printed.split() == shown.split()


def test_the_commands_of_the_command_line_page_run(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = BLOCK.findall((ROOT / "docs" / "command_line.md").read_text())
    lines = [line for language, block in found if language == "sh" for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("tanager ")]
    assert {command.split()[1] for command in commands} >= {"fit", "predict", "evaluate", "demo"}
    for command in commands:
        assert run(shlex.split(command)[1:]) == 0, command
    assert {"nb.json", "classes.csv", "probabilities.parquet"} <= {path.name for path in tmp_path.iterdir()}


def test_the_command_line_page_has_every_command_and_option_and_no_other():
    page = (ROOT / "docs" / "command_line.md").read_text()
    commands = get_command(app).commands
    options = {name for each in commands.values() for option in each.params for name in option.opts}
    options |= {name for each in commands.values() for option in each.params for name in option.secondary_opts}
    assert set(re.findall(r"^\| `tanager (\w+)` \|", page, re.MULTILINE)) == set(commands)
    assert set(re.findall(r"--[a-z][a-z-]*", page)) - {"--help"} == {name for name in options if name.startswith("--")}


REGISTRIES = {"SCORES": SCORES, "STRUCTURES": STRUCTURES, "PARAMETERS": PARAMETERS, "ENGINES": ENGINES}
LINE = re.compile(r"The line in `(\w+)`.*?\n\n```text\n    \"([\w-]+)\": (\w+),\n```", re.DOTALL)


@pytest.fixture(scope="module")
def guide_page() -> dict[str, object]:
    """What the code of the guide on parts defines; it prints nothing."""
    page: dict[str, object] = {}
    assert not any(printed for printed, _ in run_page(GUIDE, page))
    return page


@pytest.fixture
def guide(guide_page, monkeypatch) -> dict[str, object]:
    """The same, with the lines of the guide put into the registries as it says."""
    lines = LINE.findall(GUIDE.read_text())
    assert [registry for registry, _, _ in lines] == ["SCORES", "STRUCTURES", "PARAMETERS", "ENGINES"]
    for registry, name, part in lines:
        monkeypatch.setitem(REGISTRIES[registry], name, guide_page[part])
    return guide_page


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("tan", "hannan-quinn", "frequency"), ("tan", "HannanQuinn", "frequency")),
        (("chain", None, "frequency"), ("Chain", None, "frequency")),
        (("tan", "bic", "softened"), ("tan", "bic", "Softened")),
    ],
    ids=["score", "structure", "parameters"],
)
def test_a_part_of_the_guide_has_a_name_goes_into_a_file_and_learns_from_a_stream(guide, options, parts, tmp_path):
    X, y = guide["X"], guide["y"]
    by_object = [guide[part]() if part in guide else part for part in parts]
    named = tanager.BayesianNetworkClassifier(*options).fit(X, y)
    given = tanager.BayesianNetworkClassifier(*by_object).fit(X, y)
    assert named.structure_score_ == given.structure_score_
    expected = named.predict_proba(X)
    assert (given.predict_proba(X) == expected).all()
    for number, clf in enumerate((named, given)):
        tanager.save_model(clf, tmp_path / f"{number}.json")
        read = tanager.load_model(tmp_path / f"{number}.json")
        assert (read.predict_proba(X) == expected).all()
        assert read.trace_ == clf.trace_
    batches = (X.assign(kind=y).iloc[first : first + 50] for first in range(0, len(X), 50))
    streamed = tanager.BayesianNetworkClassifier(*options).fit(batches, "kind")
    assert (streamed.predict_proba(X) == expected).all()


def test_an_engine_of_the_guide_counts_for_a_classifier(guide):
    X, y = guide["X"], guide["y"]
    assert isinstance(choose_engine("add-at"), guide["AddAtEngine"])
    ours, theirs = (tanager.TANClassifier(engine=engine).fit(X, y) for engine in ("add-at", "numpy"))
    assert ours.network_.edges == theirs.network_.edges
    assert (ours.predict_proba(X) == theirs.predict_proba(X)).all()


def test_a_registered_part_is_offered_by_the_command_and_missed_by_the_docs(guide):
    names = registered_names()
    assert {"chain", "hannan-quinn", "softened", "add-at"} <= {name for kind in names.values() for name in kind}
    for page, registry in (("structures.md", STRUCTURES), ("scores.md", SCORES), ("parameters.md", PARAMETERS)):
        assert sections_of(page) == list(registry)[:-1]


@pytest.mark.parametrize(
    ("page", "names"),
    [("structures.md", STRUCTURES), ("scores.md", SCORES), ("parameters.md", PARAMETERS)],
    ids=["structures", "scores", "parameters"],
)
def test_every_registered_name_has_a_section_and_no_section_promises_another(page: str, names: Iterable[str]):
    assert sections_of(page) == list(names)


def sections_of(page: str) -> list[str]:
    """The names that a page of `docs/` has a section for."""
    return re.findall(r"^## `(.+)`$", (ROOT / "docs" / page).read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    "module",
    [tanager, tanager.structure, tanager.scores, tanager.parameters, tanager.plots],
    ids=lambda module: module.__name__,
)
def test_every_public_name_is_in_the_reference(module):
    assert set(module.__all__) <= set(names_in_reference()[module.__name__])


def test_every_name_of_the_reference_is_there():
    for module, names in names_in_reference().items():
        for name in names:
            folder, _, last = f"{module}.{name}".rpartition(".")
            assert hasattr(import_module(folder), last), f"{module}.{name}"


@pytest.mark.parametrize("estimator", [tanager.AdditiveClassifier, tanager.BayesianNetworkClassifier])
def test_the_docstring_of_an_estimator_states_the_default_of_every_option(estimator):
    stated = dict(re.findall(r"^    (\w+) : .*, default=(.+)$", estimator.__doc__, re.MULTILINE))
    assert {name: ast.literal_eval(value) for name, value in stated.items()} == estimator().get_params(deep=False)


def test_every_file_that_a_page_names_is_there():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for page in PAGES if page.stem != "mutants")]
    named = {path for page in pages for path in re.findall(r"`((?:\w+/)+\w+\.\w+)`", page.read_text())}
    folders = (ROOT, ROOT / "docs", ROOT / "src" / "tanager")
    absent = {path for path in named if not any((folder / path).exists() for folder in folders)}
    to_write = {"scores/hannan_quinn.py", "structure/chain.py", "parameters/softened.py", "counts/add_at_engine.py"}
    assert len(named) > 20
    assert absent == to_write


def names_in_reference() -> dict[str, list[str]]:
    """Module -> names listed below its `currentmodule`."""
    found: dict[str, list[str]] = {}
    module = ""
    for line in (ROOT / "docs" / "api.md").read_text().splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.match(r"(?:   |\.\. py:data:: )([\w.]+)$", line):
            found.setdefault(module, []).append(match[1])
    return found


def run_page(page: Path, namespace: dict[str, object]) -> Iterable[tuple[str, str]]:
    """Run the Python blocks of a page, on the page "Start" commands too: what each prints, and what the page shows."""
    text = page.read_text()
    for block in BLOCK.finditer(text):
        commands = page.stem == "start" and block[1] == "sh" and re.findall(r"^tanager (.*)$", block[2], re.MULTILINE)
        if block[1] == "python" or commands:
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                for command in commands or ():
                    assert run(shlex.split(command)) == 0, command
                if block[1] == "python":
                    exec(compile(block[2], page.name, "exec", dont_inherit=True), namespace)
            shown = OUTPUT.match(text, block.end())
            yield stream.getvalue(), shown[1] if shown else ""
