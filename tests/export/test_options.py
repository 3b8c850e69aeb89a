"""What an export is asked for and cannot do is said in one message; what it says of itself is true."""

from __future__ import annotations

import ast
import csv
import datetime
import io
import json
import math
import shutil
import sqlite3
import subprocess
import sys
import warnings
from copy import copy

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from export.engines import NULL, by_duckdb, by_postgresql, by_python, by_sqlite
from export.made_models import made_rows, tables_model
from report.models import with_hidden_node
from tanager import (
    AdditiveClassifier,
    BayesianNetworkClassifier,
    DataWarning,
    FixedDecisionClassifier,
    NaiveBayesClassifier,
    OptionError,
    TanagerError,
    TANClassifier,
    export,
    load_model,
)
from tanager.check.preprocessing import Date, Drop, Merge, Missing, Number, Recipe
from tanager.cli.main import run
from tanager.decide import ThresholdDecision
from tanager.export.targets import TARGETS
from tanager.files.read_table import read_table

X = pa.table({"size": [1.0, 2.0, 5.0, 6.0] * 5, "hue": ["a", "b", "a", "b"] * 5})
Y = ["no", "no", "yes", "yes"] * 5
SQL = {"table": "t", "key": "k"}


@pytest.fixture(scope="module")
def naive():
    return NaiveBayesClassifier().fit(X, Y)


def test_options_of_another_language_and_absent_ones_are_refused(naive):
    with pytest.raises(OptionError, match="'sql'"):
        export(naive, "cobol")
    with pytest.raises(OptionError, match="'sqlite'"):
        export(naive, "sql", table="t", key="k", dialect="oracle")
    with pytest.raises(OptionError, match="has no option 'table'"):
        export(naive, "python", table="t")
    with pytest.raises(OptionError, match="needs the option 'table'"):
        export(naive, "sql", key="id")
    with pytest.raises(OptionError, match="cannot begin the names"):
        export(naive, "c", name="1st; system()")


def test_columns_are_renamed_and_unknown_or_repeated_names_refused(naive):
    assert '"its size"' in export(naive, "c", rename={"size": "its size"})
    with pytest.raises(OptionError, match="no column of the model; the nearest are 'size'"):
        export(naive, "c", rename={"sise": "x"})
    with pytest.raises(OptionError, match="two columns the same name"):
        export(naive, "c", rename={"size": "hue"})


@pytest.mark.parametrize("to", ["sql", "c"])
def test_a_category_with_a_nul_is_refused_by_name(to):
    clf = NaiveBayesClassifier().fit(pa.table({"hue": ["a\0", "b"] * 10}), Y)
    options = {"table": "t", "key": "k"} if to == "sql" else {}
    with pytest.raises(OptionError, match=r"a category of 'hue' holds a NUL"):
        export(clf, to, **options)


def test_an_export_holds_no_training_row():
    marks = [f"secret {k}" for k in range(40)]
    numbers = np.random.default_rng(0).normal(size=40)
    table = pa.table({"size": numbers, "hue": ["a", "b"] * 20})
    clf = AdditiveClassifier(trees=False).fit(table, marks[:1] * 20 + ["other"] * 20)
    options = {"sql": {"table": "t", "key": "k"}}
    for to in TARGETS:
        text = export(clf, to, **options.get(to, {}))
        kept = sum(repr(float(number)) in str(text) for number in numbers)
        assert kept == 0, to


def test_the_python_export_imports_the_standard_library_alone(naive, tmp_path):
    text = export(naive, "python")
    modules = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert modules <= set(sys.stdlib_module_names)
    export(naive, "python", tmp_path / "model.py")
    program = "import model; print(model.predict({'size': 5.5, 'hue': None}))"
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.append('.'); {program}"],
                          cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
    assert done.stdout == "yes\n"


def test_sqlite_refuses_a_row_with_a_cell_of_the_wrong_type(naive):
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE t (id, size, hue)")
        base.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, "5", "a"), (2, 5, "a"), (3, 5.0, 7)])
        found = base.execute(export(naive, "sql", table="t", key="id")).fetchall()
    assert [row[1] for row in sorted(found)] == [None, "yes", None]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgresql"])
def test_columns_that_differ_in_case_alone_are_refused_where_they_are_one(dialect, request, tmp_path):
    table = pa.table({"A": X["size"], "a": X["hue"]})
    clf = NaiveBayesClassifier().fit(table, Y)
    if dialect == "postgresql":
        found = by_postgresql(clf, table, tmp_path, request.getfixturevalue("server"))
        np.testing.assert_allclose(found, clf.predict_proba(table), rtol=0, atol=1e-12)
        return
    with pytest.raises(OptionError, match=rf"'A' and 'a' are one column to {dialect}[\s\S]*--rename"):
        export(clf, "sql", table="t", key="id", dialect=dialect)
    assert "its hue" in export(clf, "sql", table="t", key="id", dialect=dialect, rename={"a": "its hue"})


@pytest.mark.parametrize("name", ["", "label", "probabilities"])
def test_onnx_refuses_names_that_it_has_no_place_for(name):
    clf = NaiveBayesClassifier().fit(pa.table({name: X["hue"], "size": X["size"]}), Y)
    with pytest.raises(OptionError, match=rf"no input of the name {name!r}[\s\S]*--rename"):
        export(clf, "onnx")
    renamed = export(clf, "onnx", rename={name: "hue"})
    session = onnxruntime.InferenceSession(renamed, providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == ["hue", "size"]


BIG = [2**53 + 1, 2**53 + 2, 2**60 + 1, 2**60 + 2]


def test_whole_numbers_that_no_double_tells_apart_are_exact_or_refused():
    """As categories Python alone has them; as labels all but JavaScript and workbooks, whose numbers are doubles."""
    table, labels = pa.table({"code": pa.array(BIG * 5), "kind": ["a", "b", "c", "d"] * 5}), np.array(BIG * 5)
    categories = NaiveBayesClassifier(categorical_features=["code"]).fit(
        table.select(["code"]), ["a", "b", "c", "d"] * 5
    )
    scope: dict = {}
    exec(export(categories, "python"), scope)
    assert [scope["predict"]({"code": code}) for code in BIG] == ["a", "b", "c", "d"]
    for to, options in (("sql", SQL), ("js", {}), ("c", {}), ("onnx", {}), ("excel", {})):
        with pytest.raises(OptionError, match=r"column 'code' holds the whole number 9007199254740993, which"):
            export(categories, to, **options)
    labelled = NaiveBayesClassifier().fit(table.select(["kind"]), labels)
    exec(export(labelled, "python"), scope)
    assert [scope["predict"]({"kind": kind}) for kind in "abcd"] == BIG
    assert all(f'"{label}"' in export(labelled, "c") for label in BIG)
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE t (k, kind)")
        base.executemany("INSERT INTO t VALUES (?, ?)", enumerate("abcd"))
        assert [row[1] for row in sorted(base.execute(export(labelled, "sql", **SQL)))] == BIG
    kinds = np.array(list("abcd"), dtype=object).reshape(-1, 1)
    session = onnxruntime.InferenceSession(export(labelled, "onnx"), providers=["CPUExecutionProvider"])
    assert session.run(["label"], {"kind": kinds})[0].tolist() == BIG
    for to in "js", "excel":
        with pytest.raises(OptionError, match="holds the whole number"):
            export(labelled, to)
    beyond = NaiveBayesClassifier().fit(table.select(["kind"]), np.array([2**63 + k for k in range(4)] * 5, np.uint64))
    for to, options in (("sql", SQL), ("onnx", {})):
        with pytest.raises(OptionError, match="holds the whole number 9223372036854775808"):
            export(beyond, to, **options)


def test_a_view_has_the_columns_of_the_select(naive):
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE t (id, part, size, hue)")
        base.execute("INSERT INTO t VALUES (1, 2, 5.0, 'a')")
        base.execute(export(naive, "sql", table="t", key=["id", "part"], view="v w"))
        found = base.execute('SELECT * FROM "v w"')
        assert [each[0] for each in found.description] == ["id", "part", "class", "P(class=no)", "P(class=yes)"]
        assert found.fetchone()[:3] == (1, 2, "yes")


@pytest.mark.parametrize("engine", [by_sqlite, by_duckdb])
def test_a_table_may_have_the_name_of_a_step(engine, tmp_path):
    clf = tables_model(3, max_parents=0)
    rows = made_rows(clf, 3)
    for name in ("step0_states", 'a "b" --', "step0"):
        found = engine(clf, rows, tmp_path, name=name)
        np.testing.assert_allclose(found, clf.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", [by_sqlite, by_duckdb])
def test_a_thousand_columns_and_two_thousand_categories_work(engine, tmp_path):
    rng = np.random.default_rng(0)
    wide = pa.table({f"x{k}": rng.integers(0, 2, 60).astype(float) for k in range(1000)})
    long = pa.table({"id": [f"{k:05d}" for k in range(2_000)]})
    for table in wide, long:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # 2,000 categories in as many rows
            clf = NaiveBayesClassifier().fit(table, rng.integers(0, 2, table.num_rows))
        rows = table.slice(0, 20)
        np.testing.assert_allclose(engine(clf, rows, tmp_path), clf.predict_proba(rows), rtol=0, atol=1e-12)


def test_what_a_language_cannot_say_is_refused_by_name():
    for structure in "tree-average", "aode":
        with pytest.raises(OptionError, match=r"a mean of networks[\s\S]*structure='tan'"):
            export(BayesianNetworkClassifier(structure, parameters="frequency").fit(X, Y), "python")
    for to in TARGETS:
        with pytest.raises(OptionError, match=r"hidden nodes[\s\S]*save_model"):
            export(with_hidden_node(), to, **(SQL if to == "sql" else {}))
    decider = NaiveBayesClassifier().fit(X, Y)
    decider.decision_ = ThresholdDecision(("no", "yes"), "yes", 0.2)
    for to in "scorecard", "excel", "c", "onnx":
        with pytest.raises(OptionError, match=r"decides by[\s\S]*--no-decision"):
            export(decider, to)


def test_a_model_with_preprocessing_reads_cells_as_that_leaves_them(engine, tmp_path):
    """Texts and numbers that it takes as missing are missing; a text written otherwise is refused, never answered."""
    raw = pa.table(
        {
            "price": [1000.0, -999.0, 5000.0, 6000.0] * 5,
            "rooms": [1, 2, 3, -1] * 5,
            "hue": ["red", "blue", "Red ", "unknown"] * 5,
            "patient": [str(k) for k in range(20)],
        }
    )
    steps = (
        Number("price", missing=("-999",)),
        Number("rooms", missing=("-1", "no room")),
        Missing("hue", ("unknown",)),
        Merge("hue", ("red", "blue")),
        Drop("patient"),
    )
    recipe = Recipe(steps, missing=("?",))
    for missing in "skip", "category":
        clf = TANClassifier(missing=missing, parameters="frequency", categorical_features=["rooms"])
        clf.fit(recipe.apply(raw), Y)
        clf.recipe_ = recipe
        cells = pa.table(
            {
                "price": [1000.0, -999.0, -998.5, 1e6, 1000.0],
                "rooms": [3, 1, -1, -1, 1],
                "hue": ["red", "unknown", "?", "red", " RED"],
            }
        )
        found = engine(clf, cells, tmp_path)
        expected = clf.predict_proba(recipe.apply(cells.append_column("patient", cells["hue"])))
        np.testing.assert_allclose(found[:4], expected[:4], rtol=0, atol=1e-12)
        assert np.isnan(found[4]).all()
        assert 'Cells of "price", "rooms", "hue" are read as its preprocessing' in export(clf, "python")
        assert "missing in price: -999" in export(clf, "scorecard")


@pytest.mark.parametrize(
    "step",
    [Number("size", thousands=","), Number("size", unit="%"), Date("size", "year-month-day"), Missing("hue", ("a",))],
)
@pytest.mark.parametrize("to", TARGETS)
def test_a_recipe_that_reads_cells_otherwise_is_refused_with_the_way_to_the_fixed_table(step, to, naive):
    clf = copy(naive)
    clf.recipe_ = Recipe((step,))
    with pytest.raises(OptionError, match=r"the recipe [\s\S]*tanager check DATA --recipe RECIPE --fixed"):
        export(clf, to, **(SQL if to == "sql" else {}))


def test_what_the_command_takes_as_missing_is_missing_in_an_export_and_in_the_fixed_table(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k if k % 4 else -999},{'a' if k % 3 else 'none'},{'yes' if k % 8 > 3 else 'no'}" for k in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["n,kind,y", *lines]) + "\n")
    missing = ["--missing", "-999", "--missing", "none"]
    assert run(["fit", "t.csv", "--class", "y", "-o", "m.json", *missing, "--no-trees", "--no-validate"]) == 0
    assert run(["predict", "m.json", "t.csv", "--proba", "-o", "p.csv"]) == 0
    expected = [float(line.split(",")[-1]) for line in (tmp_path / "p.csv").read_text().splitlines()[1:]]
    clf = load_model("m.json")
    raw = pa.table({"n": [float(line.split(",")[0]) for line in lines], "kind": [line.split(",")[1] for line in lines]})
    for engine in by_python, by_sqlite:
        np.testing.assert_allclose(engine(clf, raw, tmp_path)[:, 1], expected, rtol=0, atol=1e-12)
    assert run(["check", "t.csv", "--class", "y", *missing, "--fixed", "fixed.parquet"]) == 0
    fixed = read_table("fixed.parquet")
    assert [fixed["n"].null_count, fixed["kind"].null_count] == [20, 27]
    np.testing.assert_allclose(clf.predict_proba(fixed.drop_columns("y"))[:, 1], expected, rtol=0, atol=1e-12)


def test_what_decides_is_exported_with_its_decision_and_other_objects_are_refused(naive, tmp_path):
    decider = FixedDecisionClassifier(NaiveBayesClassifier(), costs={("yes", "no"): 10}).fit(X, Y)
    np.testing.assert_allclose(by_python(decider.to_model(), X, tmp_path), decider.predict_proba(X), atol=1e-12)
    assert export(decider, "python") == export(decider.to_model(), "python")
    for other in naive.model_, "model.json", LogisticRegression():
        with pytest.raises(OptionError, match=rf"this is a {type(other).__name__}\.[\s\S]*load_model"):
            export(other, "python")


@pytest.mark.parametrize(
    ("to", "options"),
    [
        ("excel", {"rows": 0}),
        ("scorecard", {"double": math.nan}),
        ("sql", {"table": "", "key": "id"}),
        ("sql", {"table": "t", "key": []}),
        ("sql", {"table": "t", "key": "id\0"}),
        ("sql", {"table": "t", "key": ["id", "id"]}),
        ("c", {"name": 3}),
        ("c", {"rename": {"size": 3}}),
    ],
)
def test_options_out_of_range_are_refused_by_name(naive, to, options):
    with pytest.raises(TanagerError, match="|".join(options)):
        export(naive, to, **options)


@pytest.fixture(scope="module")
def dated():
    days = [datetime.datetime(2024, 1, 1, 12) + datetime.timedelta(days=k, microseconds=k) for k in range(40)]
    return NaiveBayesClassifier().fit(pa.table({"when": days}), ["no"] * 20 + ["yes"] * 20), days


MOMENTS = [  # on either side of the cut
    ("2024-01-20 12:00:00.000019", "no"),
    ("2024-01-21 12:00:00.000020", "yes"),
    ("2024-01-25", "yes"),
    ("2024-01-05T23:59:59", "no"),
]


def test_javascript_reads_dates_as_text_and_refuses_what_is_none(dated, tmp_path):
    if shutil.which("node") is None:
        pytest.skip("no node here")
    clf, _ = dated
    (tmp_path / "model.mjs").write_text(export(clf, "js"))
    calls = [f"predict({{ when: {json.dumps(text)} }})" for text, _ in MOMENTS]
    wrong = [*map(json.dumps, IMPOSSIBLE), 'new Date("2024-01-25T00:00:00Z")']
    calls += [
        f"(() => {{ try {{ return predict({{ when: {w} }}); }} catch (error) {{ return error.name; }} }})()"
        for w in wrong
    ]
    script = f'import {{ predict }} from "./model.mjs"; console.log(JSON.stringify([{", ".join(calls)}]));'
    (tmp_path / "run.mjs").write_text(script)
    done = subprocess.run(["node", "run.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert json.loads(done.stdout) == [*(answer for _, answer in MOMENTS), *["TypeError"] * len(wrong)]


IMPOSSIBLE = [
    "2024-02-30",
    "2024-02-31 12:00:00",
    "2024-02-29 24:00:00",
    "2024-02-29 12:00Z",
    "2024-01-25T01:00:00+02:00",
]
IMPOSSIBLE += ["2023-02-29", "2024-13-01", "soon", "12"]


def test_sqlite_reads_dates_as_text_and_refuses_what_is_none(dated):
    clf, _ = dated
    texts = [*(text for text, _ in MOMENTS), *IMPOSSIBLE]
    with sqlite3.connect(":memory:") as base:
        base.execute('CREATE TABLE t (id, "when")')
        base.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(texts)))
        found = sorted(base.execute(export(clf, "sql", table="t", key="id")).fetchall())
    assert [row[1] for row in found] == [*(answer for _, answer in MOMENTS), *[None] * len(IMPOSSIBLE)]


@pytest.mark.parametrize("database", ["duckdb", "postgresql"])
@pytest.mark.parametrize("zoned", [False, True])
def test_moments_are_the_same_in_any_session_and_those_of_another_kind_or_infinite_are_refused(
    database, zoned, dated, request
):
    clf, days = dated
    if zoned:
        table = pa.table({"when": pa.array(days, pa.timestamp("us", "UTC"))})
        clf = NaiveBayesClassifier().fit(table, ["no"] * 20 + ["yes"] * 20)
        with pytest.raises(OptionError, match="times with a zone, and sqlite has no type for them"):
            export(clf, "sql", **SQL)
    answers = {True: ["no"] * 20 + ["yes"] * 20 + ["", ""], False: [""] * 42}
    for given_zone in (False, True):
        kind, zone = ("timestamptz", "+00") if given_zone else ("timestamp", "")
        cells = [*(f"{day}{zone}" for day in days), "infinity", "-infinity"]
        rows = ", ".join(f"({k}, '{cell}'::{kind})" for k, cell in enumerate(cells))
        table = f'CREATE TEMP TABLE t{kind} (id int, "when" {kind}); INSERT INTO t{kind} VALUES {rows}'
        query = export(clf, "sql", dialect=database, table=f"t{kind}", key="id")
        statements = ["SET TimeZone='UTC'", table, "SET TimeZone='Asia/Tokyo'", query]
        assert answers_of(database, statements, request) == answers[zoned == given_zone]


def answers_of(database: str, statements: list[str], request: pytest.FixtureRequest) -> list[str]:
    """The class of each row of the last statement, empty where there is none, in the order of the key."""
    if database == "duckdb":
        with duckdb.connect() as base:
            for each in statements[:-1]:
                base.execute(each)
            return [row[1] or "" for row in sorted(base.execute(statements[-1]).fetchall())]
    out = request.getfixturevalue("server").run(";\n".join(statements))
    rows = sorted(csv.reader(io.StringIO(out)), key=lambda row: int(row[0]))
    return [row[1].replace(NULL, "") for row in rows]


@pytest.mark.parametrize("name", ["rowid", "OID", "_rowid_"])
def test_sqlite_refuses_the_names_of_its_row_numbers(name):
    clf = NaiveBayesClassifier().fit(pa.table({name: X["size"]}), Y)
    with pytest.raises(OptionError, match=rf"number of a row under the name {name!r}[\s\S]*--rename"):
        export(clf, "sql", **SQL)
    assert '"its number"' in export(clf, "sql", **SQL, rename={name: "its number"})


@pytest.mark.parametrize(
    ("database", "kind"),
    [
        *(
            ("duckdb", kind)
            for kind in ("'a'::BLOB", "'101'::BIT", "'\"a\"'::JSON", "['a']", "uuid()", "DATE '2024-01-01'")
        ),
        *(("postgresql", kind) for kind in ("'a'::bytea", "'\"a\"'::json", "gen_random_uuid()", "'{a}'::text[]", "1")),
    ],
)
def test_a_column_of_text_holds_text_alone(database, kind, naive, request):
    query = export(naive, "sql", dialect=database, table="t", key="id")
    rows = f"CREATE TEMP TABLE t AS SELECT 1 AS id, 5.0::float8 AS size, {kind} AS hue"
    assert answers_of(database, [rows, query], request) == [""]
