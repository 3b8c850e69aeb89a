"""Whatever a file holds that is not a model is one clear error, never another exception."""

from __future__ import annotations

import copy
import json

import pytest

from attack.documents import FELL, at, by_kind, check_change, check_document, leaves, others
from attack.models import MODELS
from attack.models import document as model_of
from files.mixed_table import mixed_model
from tanager import load_model, save_model
from tanager.errors import FileError
from tanager.files import json_file
from tanager.files.model_file import from_document, to_document
from tanager.network.document import DocumentError


@pytest.fixture(scope="module")
def document() -> dict:
    return json.loads(json.dumps(to_document(mixed_model())))


def load_text(tmp_path, content: bytes | str):
    path = tmp_path / "model.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_model(path)


def refusal(tmp_path, content: bytes | str) -> str:
    with pytest.raises(FileError) as caught:
        load_text(tmp_path, content)
    return str(caught.value)


def test_a_file_cut_short_anywhere_is_refused(tmp_path, document):
    content = json.dumps(document)
    for length in [0, 1, *range(10, len(content) - 1, len(content) // 40)]:
        assert "not JSON, or was cut short" in refusal(tmp_path, content[:length])


def test_another_format_number_is_refused_by_number(tmp_path, document):
    for number in (0, 1, 4, 3.0, "3", None, True, [3]):
        message = refusal(tmp_path, json.dumps({**document, "format": number}))
        assert "this version reads format 3: fit it again: tanager fit TABLE -o MODEL" in message
    assert "no 'format' number" in refusal(tmp_path, "{}")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x80\x04\x95pickle", "not UTF-8"),
        (b"hello", "not JSON"),
        (b"[1, 2]", "must be an object"),
        (b"[" * 100_000, "nested too deeply"),
        (rb'{"format": "\ud800"}', "not valid Unicode"),
        (b'{"format": 3, "' + b"k" * 5000 + b'": 1}', "is not there"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_model_document_is_refused_in_a_few_words(tmp_path, content, words):
    message = refusal(tmp_path, content)
    assert words in message
    assert len(message) < 700


def test_a_stream_without_an_end_is_refused(monkeypatch):
    monkeypatch.setattr(json_file, "LARGEST_FILE", 1 << 20)
    with pytest.raises(FileError, match="longer than the 1 MiB"):
        load_model("/dev/zero")


def test_a_model_too_long_to_be_read_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(json_file, "LARGEST_FILE", 1000)
    with pytest.raises(FileError, match="more than the"):
        save_model(mixed_model(), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def change(document: dict, place: tuple, value: object) -> str:
    changed = copy.deepcopy(document)
    node = changed
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    return json.dumps(changed)


def _fixed(edges: object) -> dict:
    return {"part": "Fixed", "options": {"edges": edges}}


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("tables", 0, 0, 0), float("nan"), "the number NaN"),
        (("options", "x" * 9000), 1, "options has xxx"),
        (("tables", 0, 0, 0), "0.5", "finite numbers"),
        (("tables", 0, 0), [-0.5, 1.5], "negative"),
        (("tables", 0, 0), [0.5, 0.5001], "does not sum to one"),
        (("tables", 0, 0), [1.0], "different lengths"),
        (("tables", -1), [[0.2, 0.3, 0.5]], "shape"),
        (("tables",), [], "expected 9"),
        (("parents", 8), [0], "cycle"),
        (("parents", 0), [8, 8], "ascending"),
        (("columns", 0, "cuts"), [2, 1], "must increase"),
        (("columns", 1, "cuts"), [1e300], "out of range"),
        (("columns", 0, "kind"), "ordinal", "one of categorical, numeric"),
        (("columns", 0, "name"), "text", "same name"),
        (("columns", 2, "categories"), ["a", "a", "b"], "twice"),
        (("columns", 2, "categories"), ["a", 1, "b"], "must all be"),
        (("columns", 7, "categories"), [{"date": "2024-02-30"}, {"date": "2024-02-28"}], "no known value"),
        (("columns", 8, "categories"), ["only"], "at least two"),
        (("columns", 8, "categories"), ["yes", "no"], "must ascend"),
        (("columns", 4, "categories"), [1, 2**64, 2], "more than 64 bits"),
        (("class_dtype",), "<i8", "does not fit the classes"),
        (("classifier",), "os.system", "classifier must be one of"),
        (("options", "surprise"), 1, "does not have"),
        (("options", "criterion"), "nonsense", "is not known"),
        (("options", "criterion"), {"part": "Popen", "options": {}}, "names the part 'Popen'"),
        (("options", "criterion"), {"part": "BDeu", "options": {"x": 1}}, "options it does not have"),
        (("options", "criterion"), _fixed({"dag": [[1], [0]]}), "cycle"),
        (("options", "criterion"), _fixed({"set": [[1]]}), "no known value"),
        (("options", "n_jobs"), "2", "options.n_jobs"),
        (("trace", "options", "structure"), {"tuple": [1]}, "trace must hold"),
        (("structure_score",), "high", "must be a number"),
        (("versions",), {"numpy": 2}, "versions.numpy"),
        (("named",), 1, "true or false"),
        (("hidden",), -1, "hidden must be"),
        (("options", "criterion"), {"part": "Network", "document": {}}, "no network"),
    ],
)
def test_a_fault_is_refused_and_named(tmp_path, document, place, value, words):
    message = refusal(tmp_path, change(document, place, value))
    assert words in message
    assert len(message) < 700


@pytest.mark.parametrize("key", sorted(model_of("tables").keys() - {"imputation", "issues"}))
def test_a_document_without_a_key_is_refused_by_its_name(key):
    with pytest.raises(DocumentError, match=key):
        from_document({name: value for name, value in model_of("tables").items() if name != key})


QUICK = [name for name in MODELS if name != "reference"]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_what_the_oracle_computes_from_its_document(name):
    assert check_document(copy.deepcopy(model_of(name)), name)


def test_tables_changed_in_any_single_value_are_refused_or_predicted_by():
    found = model_of("tables")
    changes = [(place, value) for place in leaves(found) for value in others(at(found, place))]
    kept = [check_change("tables", place, value) for place, value in changes]
    assert 50 < sum(kept) < len(kept)


@pytest.mark.parametrize("name", QUICK[1:])
def test_every_kind_of_value_of_a_model_is_refused_or_kept_when_it_is_changed(name):
    """One place of each kind that tables do not have; `make attack` tries all of them."""
    kinds = {kind: places for kind, places in by_kind(name).items() if kind not in by_kind("tables")}
    places = [
        entries[len(entries) // 2] for kind, entries in kinds.items() if not kind.startswith(("options", "trace"))
    ]
    changes = [(place, value) for place in places for value in others(at(model_of(name), place))]
    kept = [check_change(name, place, value) for place, value in changes]
    assert not all(kept)
    assert any(kept) or name == "mixture"  # of which every value is one of a sum to one


@pytest.mark.parametrize(("name", "place", "value"), FELL.values(), ids=FELL)
def test_a_document_that_once_fell_stands(name, place, value):
    check_change(name, place, value)


@pytest.mark.parametrize("name", QUICK)
def test_categories_in_another_order_are_refused_or_predicted_by(name):
    for node, column in enumerate(model_of(name)["columns"]):
        if "categories" in column:
            is_class = node == len(model_of(name)["columns"]) - 1
            assert check_change(name, ("columns", node, "categories"), column["categories"][::-1]) is not is_class


ALIKE = {
    "whole numbers that one float stands for": [0.5, 2**53, 2**53 + 1],
    "one moment in two zones": [f"2020-01-01T{zone[1:3]}:00:00{zone}" for zone in ("+00:00", "+01:00", "+02:00")],
}


@pytest.mark.parametrize("categories", ALIKE.values(), ids=ALIKE)
def test_categories_that_cells_cannot_tell_apart_are_refused(categories):
    """Cells are compared with them as numbers, by a search that finds one of several equal ones."""
    given = [{"datetime": each} if isinstance(each, str) else each for each in categories]
    with pytest.raises(DocumentError, match=r"a category twice|must all be texts"):
        from_document({**model_of("tables"), "columns": with_column(0, categories=given)})


def with_column(node: int, **changed) -> list:
    columns = copy.deepcopy(model_of("tables")["columns"])
    columns[node].update(changed)
    return columns
