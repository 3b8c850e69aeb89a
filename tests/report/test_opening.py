"""What a model is worth, where it fails and what it decides: every figure against another way to find it."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import confusion_matrix

from report.models import mixed_table, table
from tanager import (
    AdditiveClassifier,
    FixedDecisionClassifier,
    OptionError,
    TANClassifier,
    cross_validate_model,
    explain,
    report,
)
from tanager.classifiers.base import encode_table
from tanager.decide import CostDecision
from tanager.errors import DataWarning
from tanager.metrics import Measures, Predictions, Quality, log_true
from tanager.metrics.quality import measure_rows
from tanager.report.json_page import brief, percent
from tanager.report.model_card import About
from tanager.report.quality_section import (
    GRID,
    CountedRows,
    JudgedRows,
    decided_threshold,
    describe_decision,
    describe_event,
    describe_failures,
    describe_groups,
    describe_quality,
    describe_thresholds,
    is_training_table,
    match_rows,
    no_better,
)
from tanager.report.write_page import collect
from tanager.table.schema import ColumnSchema


@pytest.fixture(scope="module")
def model():
    X, y = mixed_table(3, n_rows=300, n_classes=2)
    return AdditiveClassifier(pairs=8).fit(X, y), X, y


@pytest.fixture(scope="module")
def quality(model):
    return cross_validate_model(*model, cv=2)


@pytest.fixture(scope="module")
def content(model, quality):
    return collect(*model, quality=quality, about=About("Towns", "To try it.", "Someone"))


def random_quality(n_rows: int = 200, n_classes: int = 3, seed: int = 0) -> Quality:
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n_rows).round(2)  # with ties, also at thresholds
    codes = rng.integers(0, n_classes, n_rows)
    return Quality.of(
        Predictions(proba, codes, np.zeros(n_rows, dtype=np.intp)),
        np.array([f"c{k}" for k in range(n_classes)]),
        np.full(n_classes, 1 / n_classes),
        "5 folds",
    )


def test_the_rows_learnt_from_are_judged_out_of_fold_and_matched_row_by_row(model, quality, content):
    _, _, y = model
    assert content["quality"]["split"] == "2 folds"
    assert content["quality"]["log_loss"] == quality.measures.log_loss
    said = quality.predictions.probabilities.argmax(axis=1)
    wrong = np.flatnonzero(said != quality.predictions.class_codes)
    assert sorted(row for row, *_ in content["mistakes"]) == wrong.tolist()
    for row, truth, _, p, *_ in content["mistakes"]:
        assert np.unique(y)[truth] == y[row]
        assert p == quality.predictions.probabilities[row, truth]


def test_a_network_of_effects_is_cross_validated_where_no_quality_is_known_and_only_for_its_own_rows(model):
    clf, X, y = model
    assert collect(clf, X, y)["quality"]["split"] == "5 folds"
    codes, labels = encode_table(clf, X)[1], (y == clf.classes_[1]).to_numpy().astype(np.intp)
    assert is_training_table(clf, codes[::-1], labels[::-1])
    assert not is_training_table(clf, codes[1:], labels[1:])
    assert not is_training_table(clf, codes, np.concatenate([labels[1:], [1 - labels[0]]]))
    codes[0, 3] = (codes[0, 3] + 1) % 3
    assert not is_training_table(clf, codes, labels)


def test_predictions_that_a_file_samples_are_matched_and_others_are_not():
    quality = random_quality(500)
    codes = quality.predictions.class_codes
    sampled = Quality.of(quality.predictions.sample(100), quality.classes, quality.base_rate, "5 folds")
    kept = Quality(**{**vars(sampled), "confusion": quality.confusion})
    rows = match_rows(kept, codes)
    assert len(rows) == 100
    assert (codes[rows] == kept.predictions.class_codes).all()
    assert match_rows(kept, codes[:-1]) is None
    assert match_rows(kept, np.roll(codes, 1)) is None


def test_counts_at_every_threshold_equal_those_of_scikit_learn():
    quality = random_quality()
    proba, codes = quality.predictions.probabilities, quality.predictions.class_codes
    for k in range(3):
        found = describe_thresholds(quality, CountedRows.of(quality), k, None)
        assert found["thresholds"] == list(GRID)
        for t, hit, alarm in zip(found["thresholds"], found["found"], found["alarms"], strict=True):
            (_, fp), (_, tp) = confusion_matrix(codes == k, proba[:, k] >= t, labels=[False, True])
            assert (hit, alarm) == (tp, fp)


@pytest.mark.parametrize("kept", [400, 20])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_that_a_file_keeps_count_as_all_at_the_model_s_rule_and_in_every_total(n_classes, kept):
    whole = random_quality(4_000, n_classes)
    part = replace(whole, predictions=whole.predictions.sample(kept))
    found = describe_quality(part)
    counted = CountedRows.of(part)
    weighted = confusion_matrix(
        counted.class_codes,
        counted.probabilities.argmax(axis=1),
        sample_weight=counted.weights,
        labels=range(n_classes),
    )
    assert weighted == pytest.approx(whole.confusion)
    for k, counts in enumerate(found["thresholds"]):
        cases = int(whole.confusion[k].sum())
        assert (counts["of_class"], counts["others"]) == (cases, 4_000 - cases)
        if n_classes == 2:
            at = counts["thresholds"].index(0.5)
            assert (counts["found"][at], counts["alarms"][at]) == (whole.confusion[k, k], whole.confusion[1 - k, k])
    rule = CostDecision(tuple(whole.classes.tolist()), tuple(map(tuple, 1.0 - np.eye(n_classes))))
    confusion = np.array(describe_decision(rule, part)["confusion"])[:, :n_classes]
    assert confusion.sum() == pytest.approx(4_000, abs=n_classes)
    assert describe_quality(whole)["curves"] == describe_quality(replace(whole, digest="x"))["curves"]


def test_few_rows_are_counted_as_they_are_and_classes_that_are_found_are_not_among_those_missed():
    def event_of(confusion: list[list[int]]) -> str:
        classes = np.array([f"c{k}" for k in range(len(confusion))])
        return describe_event(replace(random_quality(), classes=classes, confusion=np.array(confusion)), None)["words"]

    assert event_of([[90, 2], [1, 7]]).startswith(
        "Finds 7 of 8 cases of c1 (95 % interval 53 to 98 of 100); of 9 alarms 7 are right"
    )
    assert event_of([[5, 1, 0], [0, 995, 5], [0, 20, 480]]) == (
        "Missed most often: c0 (finds 5 of 6, 95 % interval 44 to 97 of 100), c2 (finds 96 of 100, 95 % interval 94 "
        "to 97)."
    )


def test_a_measure_that_is_not_perfect_does_not_read_as_if_it_were():
    quality = random_quality()
    nearly = replace(quality, measures=Measures(0.99996, 0.0002, 0.0001, 0.99997), low=Measures(0.9, 1, 1, 0.9))
    assert [line[1] for line in measure_rows(nearly)] == ["> 99.9 %", "< 0.001", "< 0.001", "> 0.999"]
    perfect = replace(quality, measures=Measures(1.0, 0.0, 0.0, 1.0))
    assert [line[1] for line in measure_rows(perfect)] == ["100.0 %", "0.000", "0.000", "1.000"]


def test_the_threshold_of_a_decision_is_where_its_choice_changes(model):
    clf, X, y = model
    labels = clf.classes_.tolist()
    for options in ({"costs": [[0, 1], [7, 0]]}, {"costs": [[0, 3], [1, 0.5]]}, {"threshold": 0.237}):
        rule = FixedDecisionClassifier(TANClassifier(), **options).fit(X, y).decision_
        positive = rule.positive_code
        t = decided_threshold(rule, positive)
        p = np.array([t - 1e-6, t + 1e-6])
        both = np.column_stack([p, 1 - p] if positive == 0 else [1 - p, p])
        assert rule.choose(both).tolist() == [1 - positive, positive]
        assert decided_threshold(rule, 1 - positive) is None
        drawn = random_quality(50, 2)
        assert t in describe_thresholds(drawn, CountedRows.of(drawn), positive, rule)["thresholds"]
    asking = FixedDecisionClassifier(TANClassifier(), costs={(labels[0], labels[1]): 3}, ask=0.1).fit(X, y).decision_
    assert decided_threshold(asking, asking.positive_code) is None


def test_drivers_are_ranked_as_explain_ranks_them(model, content):
    strengths = dict(zip(explain(model[0]).terms, explain(model[0]).strength, strict=True))
    changes = {term["name"]: term["change"] for term in content["drivers"]["terms"]}
    assert list(changes.values()) == sorted(changes.values(), reverse=True)
    assert changes == pytest.approx({name: nats for name, nats in strengths.items() if name in changes})


def losses_of(judged: JudgedRows) -> np.ndarray:
    return -log_true(judged.probabilities, judged.class_codes)


def noise(seed: int, n_rows: int = 400, n_columns: int = 12) -> tuple[tuple[ColumnSchema, ...], np.ndarray, Quality]:
    """Columns of four states that have nothing to do with heavy-tailed losses."""
    rng = np.random.default_rng(seed)
    columns = tuple(ColumnSchema(f"x{k}", "categorical", ("a", "b", "c", "d")) for k in range(n_columns))
    proba = rng.dirichlet([0.3, 0.3, 0.3], n_rows)
    codes = np.array([rng.choice(3, p=p) for p in proba])
    quality = Quality.of(
        Predictions(proba, codes, np.zeros(n_rows, dtype=np.intp)), np.arange(3), np.full(3, 1 / 3), "5 folds"
    )
    return columns, rng.integers(0, 5, (n_rows, n_columns)), quality


def test_on_pure_noise_some_group_is_listed_in_about_one_table_of_twenty():
    listed = 0
    for seed in range(40):
        columns, codes, quality = noise(seed, 250)
        listed += bool(describe_groups(columns, codes, JudgedRows(quality, np.arange(250)))["found"])
    assert listed <= 8  # 2 are expected; 9 or more have a probability below 0.001


def test_a_group_that_does_worse_is_found_with_its_own_loss_and_gaps_are_a_group():
    columns, codes, quality = noise(0)
    bad = codes[:, 3] == 4
    proba = quality.predictions.probabilities.copy()
    proba[bad] = [0.98, 0.01, 0.01]
    truth = np.where(bad, 1, quality.predictions.class_codes)
    worse = Quality.of(Predictions(proba, truth, np.zeros(400, dtype=np.intp)), np.arange(3), quality.base_rate, "")
    first = describe_groups(columns, codes, JudgedRows(worse, np.arange(400)))["found"][0]
    assert (first["attribute"], first["state"], first["rows"]) == ("x3", "missing", bad.sum())
    assert first["loss"] == pytest.approx(-np.log(0.01))
    assert first["accuracy"] == 0
    shares = np.bincount(truth[~bad]) / (~bad).sum()
    assert (first["base_accuracy"], first["base_loss"]) == (1.0, 0.0)
    assert first["rest_base_accuracy"] == shares.max()


def test_a_group_with_more_balanced_classes_and_the_same_skill_is_not_listed_and_never_more_than_ten():
    rng = np.random.default_rng(0)
    balanced = np.arange(800) < 400
    truth = np.where(balanced, rng.random(800) < 0.5, rng.random(800) < 0.02).astype(int)
    rate = np.where(balanced, truth[balanced].mean(), truth[~balanced].mean())
    right = np.where(truth == 1, rate, 1 - rate) ** np.where(balanced, 0.79, 0.8)  # shares of its base loss
    p = np.where(truth == 1, right, 1 - right)
    quality = Quality.of(
        Predictions(np.column_stack([1 - p, p]), truth, np.zeros(800, dtype=np.intp)), np.arange(2), np.full(2, 0.5), ""
    )
    columns = tuple(ColumnSchema(f"x{k}", "categorical", ("a", "b")) for k in range(12))
    codes = np.tile((~balanced)[:, np.newaxis].astype(np.uint8), (1, 12))
    judged = JudgedRows(quality, np.arange(800))
    assert (
        mannwhitneyu(losses_of(judged)[balanced], losses_of(judged)[~balanced], alternative="greater").pvalue
        < 0.05 / 24
    )
    assert describe_groups(columns, codes, judged)["found"] == []
    proba = np.where(balanced[:, np.newaxis], 0.5, np.column_stack([1 - p, p]))
    worse = replace(quality, predictions=replace(quality.predictions, probabilities=proba))
    found = describe_groups(columns, codes, JudgedRows(worse, np.arange(800)))
    assert (len(found["found"]), found["more"]) == (10, 2)


def test_the_p_value_of_a_group_is_that_of_the_rank_sum_test_times_the_number_of_groups():
    columns, codes, quality = noise(1, n_rows=3_000, n_columns=4)
    judged = JudgedRows(quality, np.arange(3_000))
    high = losses_of(judged) > np.quantile(losses_of(judged), 0.7)
    codes[:, 2] = np.where(high & (np.arange(3_000) % 9 == 0), 1, codes[:, 2])
    (found,) = [each for each in describe_groups(columns, codes, judged)["found"] if each["state"] == "b"]
    inside = codes[:, 2] == 1
    expected = mannwhitneyu(
        losses_of(judged)[inside], losses_of(judged)[~inside], alternative="greater", use_continuity=False
    )
    assert 1e-11 < found["p"] == pytest.approx(20 * expected.pvalue)


def test_examples_are_the_most_and_the_least_confident_rows_with_both_predictions(model):
    judged = JudgedRows(random_quality(), np.arange(200)[::-1])
    own = np.random.default_rng(3).dirichlet(np.ones(3), 200)
    codes = np.zeros((200, 5), dtype=np.uint8)
    rows = SimpleNamespace(on_page=np.arange(0, 200, 2), proba=own, numbers=np.arange(200) + 2, codes=codes)
    found = describe_failures(model[0], rows, judged)
    proba, truth = judged.probabilities, judged.class_codes
    here = {int(row) + 2: k for k, row in enumerate(judged.rows) if row % 2 == 0}
    right = {row: proba[k].max() for row, k in here.items() if proba[k].argmax() == truth[k]}
    mistakes = {row: proba[k].max() for row, k in here.items() if proba[k].argmax() != truth[k]}
    (_, row, _, _, p, p_said, _, _), (_, *uncertain), (_, *wrong) = found["examples"]
    assert p == p_said == max(right.values()) == right[row]
    assert uncertain[4] == min(proba[k].max() for k in here.values())
    assert wrong[4] == max(mistakes.values()) == mistakes[wrong[0]]
    assert {row for row, *_ in found["mistakes"]} == set(mistakes)
    assert found["mistakes"][0] == wrong
    for row, *_, said, p in [line[1:] for line in found["examples"]] + found["mistakes"]:
        assert [said, p] == [own[row - 2].argmax(), own[row - 2].max()]


def test_the_card_says_what_the_page_and_the_command_say_as_markdown_and_json(model, quality, tmp_path):
    clf, X, y = model
    nasty = "<b>Towns</b> | *star*\n# not a heading"
    paths = [tmp_path / "card.md", tmp_path / "card.json"]
    for path in paths:
        report(clf, X, y, tmp_path / "page.html", quality=quality, title=nasty, author="Someone", card=path)
    card = json.loads(paths[1].read_text("utf-8"))["model_card"]
    for line, expected in zip(card["measures"], measure_rows(quality), strict=True):
        assert [line[0], line[1], line[3]] == [expected[0], expected[1], expected[3]]
    sections = dict(card["sections"])
    assert sections["Responsible"] == ["Someone"]
    assert sections["Purpose"][0] == "Not given."
    text = paths[0].read_text("utf-8")
    assert text.startswith("# \\<b\\>Towns\\</b\\> \\| \\*star\\* \\# not a heading\n")
    for name, lines in card["sections"]:
        assert f"## {name}\n" in text
        assert len(lines) > 0
    assert all(f"| {' | '.join(line)} |" in text for line in card["measures"])
    with pytest.raises(OptionError, match=r"neither \.md nor \.json"):
        report(clf, X, y, tmp_path / "other.html", card=tmp_path / "card.txt")
    assert not (tmp_path / "other.html").exists()


def test_without_scripts_the_page_has_event_figures_terms_curves_and_card(model, quality, content):
    clf, X, y = model
    page = unescape(report(clf, X, y, quality=quality, title="Towns & <jobs>"))
    body = " ".join(page[: page.index('<script type="application/json"')].split())
    assert f"learnt from {len(X)} rows and {X.shape[1]} columns" in body
    assert all(f"{label} {percent(share)}" in body for label, share in y.value_counts(normalize=True).items())
    assert '<h1 id="title">Towns & <jobs></h1>' in body
    event = quality.of_event()
    for share in (event.found, event.right):
        assert share.words in body
        assert share.interval_words in body
    assert body.index("of 100 cases of") < body.index("it predicts the right class")
    assert all(cell in body for line in measure_rows(quality) for cell in (line[0], line[1], line[3]))
    for term in content["drivers"]["terms"]:
        assert f'<th scope="row" class="label">{term["name"]}</th>' in body
        assert f'<td class="figure">±{term["change"]:.2f}</td>' in body
    for _, row, _, said, _, p, own, p_own in content["examples"]:
        proba = quality.predictions.probabilities[row], clf.predict_proba(X.iloc[[row]])[0]
        assert ((said, p), (own, p_own)) == tuple((each.argmax(), pytest.approx(each.max())) for each in proba)
        assert f"({percent(p)})</span>" in body[body.index('id="examples"') :]
        assert f"({percent(p_own)})</span>" in body[body.index('id="examples"') :]
    assert body.count('class="line main"') + body.count('class="states"') == len(content["shapes"]) > 2
    assert all(line in body for _, lines in content["card"]["sections"][3:4] for line in lines)
    assert "style=" not in body  # the policy of the page refuses it


def test_chances_are_those_of_an_average_row_with_the_term_alone(model, content):
    clf, _, _ = model
    shown = content["base"]["shown"]
    assert shown == np.argmin(clf.class_count_)
    odds = clf.class_count_[shown] / (clf.class_count_.sum() - clf.class_count_[shown])
    curves = {curve["name"]: curve for curve in content["shapes"]}
    effects = clf.effects_
    for name, curve in curves.items():
        own = effects[(effects["term"] == name) & (effects["class"] == clf.classes_[shown])].set_index("state")["value"]
        other = effects[(effects["term"] == name) & (effects["class"] != clf.classes_[shown])].set_index("state")[
            "value"
        ]
        for state, value, chance, _ in curve["states"]:
            assert value == pytest.approx(own[state] - other[state], rel=1e-3, abs=1e-6)
            raised = odds * np.exp(own[state] - other[state])
            assert chance == pytest.approx(raised / (1 + raised), rel=1e-3)


def test_issues_of_the_model_and_of_the_rows_are_first_on_the_page_and_in_the_card(model):
    _, X, y = model
    kept = AdditiveClassifier(trees=False, pairs=0).fit(X.assign(leak=y), y)
    kept.issues_ = ("column 'x' is <odd>",)
    page = collect(kept, X.assign(leak=y), y)
    assert page["issues"][0] == "column 'x' is <odd>"
    assert "column 'leak' alone predicts" in page["issues"][1]
    assert page["card"]["sections"][0] == ["Warnings", page["issues"]]
    text = report(kept, X.assign(leak=y), y)
    assert text.index("column &#39;x&#39; is &lt;odd&gt;") < text.index('id="title"')


def test_a_notebook_shows_the_page_in_a_frame(model):
    page = report(model[0])
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert unescape(shown.split('"')[1]) == page


def test_a_decision_is_on_the_page_with_what_it_costs(model):
    clf, X, y = model
    deciding = FixedDecisionClassifier(TANClassifier(), costs=[[0, 1], [7, 0]]).fit(X, y)
    found = collect(deciding.to_model(), X, y)["decision_quality"]
    chosen = deciding.decision_.choose(deciding.predict_proba(X))
    truth = (y == clf.classes_[1]).to_numpy().astype(int)
    assert found["rules"][0]["cost"] == pytest.approx(np.array([[0, 1], [7, 0]])[truth, chosen].mean())
    assert np.array(found["confusion"])[:, :2].tolist() == confusion_matrix(truth, chosen).tolist()
    assert report(deciding, X, y)[:15] == "<!doctype html>"


def test_rows_without_classes_and_models_without_rows_have_nothing_that_needs_them(model):
    clf, X, _ = model
    alone, unlabelled = collect(clf), collect(clf, X)
    for found in (alone, unlabelled):
        assert found["quality"] is found["examples"] is found["mistakes"] is found["groups"] is None
        assert found["card"]["measures"] == []
    assert alone["findings"] is None
    json.dumps(unlabelled, allow_nan=False)


def test_judging_few_rows_of_one_class_leaves_no_group_and_no_curve():
    X, y = table(1, n_rows=60)
    clf = TANClassifier().fit(X, y)
    one = pd.Series(y[y == "class 1"])
    found = collect(clf, X.loc[one.index], one)
    assert found["groups"]["found"] == []
    assert [curve is None for curve in found["quality"]["curves"]] == [True, True, True]
    assert (found["quality"]["classes"][0]["support"], found["quality"]["classes"][0]["sensitivity"]) == (0, None)
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("n_rows", [2, 4, 5])
def test_rows_too_few_for_folds_have_a_page_that_judges_nothing(n_rows):
    X, y = pd.DataFrame({"x": np.arange(n_rows, dtype=float)}), np.arange(n_rows) % 2
    clf = AdditiveClassifier().fit(X, y)
    with pytest.warns(
        DataWarning, match=f"judges no predictions: every class has fewer rows .* has {(n_rows + 1) // 2}"
    ):
        content = collect(clf, X, y)
    assert (content["quality"], content["mistakes"]) == (None, None)
    assert content["rows"] is not None


def test_a_share_that_is_neither_none_nor_all_reads_as_neither():
    for words, none, all_ in ((brief, "0 %", "100 %"), (percent, "0.0 %", "100.0 %")):
        assert (words(0.0), words(1.0)) == (none, all_)
        assert not {words(share) for share in (1e-9, 4e-4, 0.004, 0.996, 0.9996, 1 - 1e-9)} & {none, all_}
        assert float(words(0.3149)[:-1]) == pytest.approx(31.49, abs=0.5)


def test_a_model_is_no_better_than_the_base_rate_where_its_log_loss_is_not_lower():
    quality = random_quality()
    better = replace(quality, measures=quality.base._replace(log_loss=quality.base.log_loss - 1e-9))
    assert no_better(better) == ""
    usual = replace(quality, measures=quality.base, base_rate=np.array([0.2, 0.5, 0.3]))
    assert no_better(usual).startswith("On new rows this model is no better than always predicting 'c1'.")
    assert no_better(replace(usual, split="")).startswith("On the rows given this model is no better")
