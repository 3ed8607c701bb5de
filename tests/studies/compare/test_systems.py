"""Comparisons from end to end: rankings, clusters, notes, and input that has no comparison in it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies.compare.made_scores import FIGURE_1, made, scores_of, table, uneven

import nlgauge
from nlgauge.errors import InputError, RecipeError
from nlgauge.studies.compare.comparison import CompareSettings, SystemComparison
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.compare.systems import compare_systems

FAST = {"resamples": 200, "permutations": 1000}


def compare(*tables: SystemScores, **options: object) -> SystemComparison:
    return compare_systems(list(tables), **{**FAST, **options})  # type: ignore[arg-type]


def test_a_better_system_comes_first_and_is_separated() -> None:
    values = made(200, 3, spread=0.0)
    values[:, 1] += 1
    result = compare(table(values)).metric()
    assert result.winner == "b"
    assert result.separated
    assert [row.cluster for row in result.systems] == [1, 2, 2]
    assert [row.rank for row in result.systems] == [1, 2, 3]
    for name in "ac":
        pair = result.pair("b", name)
        assert (pair.better, pair.significant) == ("b", True)
        assert pair.p_adjusted is not None
        assert pair.p_value is not None
        assert pair.p_adjusted >= pair.p_value
    assert result.condorcet == result.bt_winner == "b"
    assert not result.pair("a", "c").significant


def test_clusters_are_separated_by_every_pair_across_the_line() -> None:
    """As in WMT: best beats close, but neither of them beats unsure, so that no line can be drawn among the three."""
    result = compare(uneven()).metric()
    assert [row.system for row in result.systems] == ["best", "close", "unsure", "far"]
    assert result.pair("best", "close").better == "best"
    assert result.pair("best", "unsure").better is None
    assert result.pair("close", "unsure").better is None
    assert [row.cluster for row in result.systems] == [1, 1, 1, 2]
    assert [row.worse_than_best for row in result.systems] == [False, True, False, True]


@pytest.mark.parametrize("seed", range(8))
def test_clusters_follow_the_definition_of_wmt(seed: int) -> None:
    """A line after rank k if and only if all k x (n - k) pairs across it are significant, counted out here."""
    result = compare(table(made(60, 7, spread=2.5, seed=seed))).metric()
    names = [row.system for row in result.systems]
    for k in range(1, len(names)):
        across = [result.pair(upper, lower).better == upper for upper in names[:k] for lower in names[k:]]
        assert (result.systems[k].cluster != result.systems[k - 1].cluster) == all(across)
    assert {row.cluster for row in result.systems} == set(range(1, result.systems[-1].cluster + 1))


def test_pairs_and_win_matrix_follow_the_ranking() -> None:
    values = made(100, 4, spread=2.0)
    result = compare(table(values)).metric("m")
    assert [row.system for row in result.systems] == list("dcba")
    assert [(row.first, row.second) for row in result.pairs] == [
        ("d", "c"), ("d", "b"), ("d", "a"), ("c", "b"), ("c", "a"), ("b", "a"),
    ]  # fmt: skip
    pair = result.pair("a", "d")
    assert pair.difference == pytest.approx(values[:, 3].mean() - values[:, 0].mean())
    assert pair.low is not None
    assert pair.high is not None
    assert 0 < pair.low < pair.difference < pair.high
    assert (pair.wins, pair.losses) == ((values[:, 3] > values[:, 0]).sum(), (values[:, 3] < values[:, 0]).sum())
    assert result.win_matrix[0, 3] == pytest.approx(pair.wins / 100)
    assert result.win_matrix[3, 0] == pytest.approx(pair.losses / 100)
    assert result.systems[0].wins == sum(row.wins for row in result.pairs if row.first == "d")


def test_a_distance_is_ranked_from_below() -> None:
    values = made(100, 3, spread=2.0) + 10
    result = compare(table(values, higher_is_better=False)).metric()
    assert [row.system for row in result.systems] == list("abc")
    assert result.systems[0].score == pytest.approx(values[:, 0].mean())
    assert result.pair("a", "c").difference > 0
    assert result.bt_winner == "a"


def test_the_order_of_systems_changes_no_number() -> None:
    values = np.round(made(40, 4), 1)
    there, back = compare(table(values)), compare(table(values[:, ::-1], "dcba"))
    assert there.signature == back.signature
    by_name = {row.system: row for row in back.metric().systems}
    for row in there.metric().systems:
        other = by_name[row.system]
        assert row.score == pytest.approx(other.score)
        assert row.bradley_terry == pytest.approx(other.bradley_terry, abs=1e-6)
        assert row.bt_interval is not None
        assert other.bt_interval is not None
        assert row.bt_interval == pytest.approx(other.bt_interval, abs=1e-6)
        assert (row.rank, row.cluster) == (other.rank, other.cluster)
    for pair in there.metric().pairs:
        assert back.metric().pair(pair.first, pair.second).p == pytest.approx(pair.p)


def test_figure_1_where_means_are_equal_and_strengths_are_not() -> None:
    result = compare(table(FIGURE_1)).metric()
    assert [row.rank for row in result.systems] == [1, 1, 1]
    assert result.bt_winner == "c"
    by_strength = compare(table(FIGURE_1), ranking="bt").metric()
    assert [row.system for row in by_strength.systems] == ["c", "b", "a"]
    assert "ranked by Bradley-Terry, but test bootstrap compares scores; use test sign" in by_strength.notes
    assert [row.system for row in compare(table(FIGURE_1), ranking="median").metric().systems] == ["a", "c", "b"]


def test_metrics_side_by_side() -> None:
    values = made(60, 4, spread=1.0)
    worse = scores_of("ter", ("a", "b", "c", "d"), values, higher_is_better=False)
    result = compare(table(values), worse)
    assert result.winners == {"m": "d", "ter": "a"}
    named = {(disagreement.first, disagreement.second): disagreement for disagreement in result.disagreements}
    assert list(named) == [("m mean", "m BT"), ("ter mean", "ter BT"), ("m mean", "ter mean")]
    across = named["m mean", "ter mean"]
    assert (across.share_of_pairs, across.different_winner, across.different_top3) == (1.0, True, True)


def test_condorcet_winner_without_the_highest_strength_is_noted() -> None:
    """a beats both others 51 to 49; b beats c 100 to 0, and so has the highest strength."""
    a = np.full(100, 0.0)
    b = np.where(np.arange(100) < 51, -1.0, 1.0)
    c = np.where(np.arange(100) < 51, -2.0, 0.5)
    result = compare(table(np.column_stack([a, b, c]))).metric()
    assert result.condorcet == "a"
    assert result.bt_winner == "b"
    assert any("a beats every other system on more instances than it loses, but b" in note for note in result.notes)


def test_ratings_are_there_on_request() -> None:
    plain, rated = compare(table(FIGURE_1)).metric(), compare(table(FIGURE_1), ratings=True).metric()
    assert {row.elo for row in plain.systems} == {None}
    assert {row.system: row.elo for row in rated.systems} == pytest.approx(
        {"a": 1451.937, "b": 1501.493, "c": 1546.570}, abs=1e-3
    )
    assert any("depend on the order" in note for note in rated.notes)
    assert not any(
        "depend on the order" in note for note in compare(table(FIGURE_1), ratings=True, shuffles=2).metric().notes
    )


def test_a_corpus_score_ranks_systems() -> None:
    counts = np.array([[[1.0, 2.0], [9.0, 10.0]], [[9.0, 10.0], [1.0, 10.0]]])
    result = compare(table(np.array([[0.5, 0.9], [0.9, 0.1]]), counts=counts)).metric()
    assert [(row.system, row.score) for row in result.systems] == [("a", 10 / 12), ("b", 10 / 20)]
    assert result.systems[0].mean == pytest.approx(0.7)


def test_the_result_is_json_and_the_same_twice() -> None:
    values = made(20, 3)
    first, again = (json.dumps(compare(table(values)).to_dict()) for _ in range(2))
    assert first == again
    record = json.loads(first)
    assert record["metrics"][0]["systems"][0]["interval"]["level"] == 0.95
    assert record["settings"]["ties"] == "half"


def test_a_notebook_shows_tables_with_names_escaped() -> None:
    result = compare(table(made(20, 2), ["<b>", "new"]))
    shown = result._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 3, "two systems below a header"
    assert result.metric()._repr_html_().count("<tr>") == 3
    assert repr(result).startswith("<SystemComparison by m | compare|test:bootstrap|")
    assert repr(result.metric()) == "<MetricComparison m: 2 systems on 20 instances, new alone ahead>"


def test_the_signature_names_every_choice() -> None:
    result = compare(table(made(20, 2)), ties="drop", seed=7, test="sign", tie_tolerance=0.0)
    for part in (
        "test:sign",
        "correction:holm",
        "alpha:0.05",
        "ties:drop",
        "tie_tolerance:0",
        "seed:7",
        "unit:instance",
    ):
        assert part in result.signature.split("|")
    assert "unit:document" in compare(table(made(20, 2), documents=tuple("ab" * 10))).signature


# Input that is odd, but no mistake: a defined result.


def test_one_system() -> None:
    result = compare(table(made(20, 1)))
    (row,) = result.metric().systems
    assert (row.rank, row.cluster, row.bradley_terry) == (1, 1, 1.0)
    assert row.interval is not None
    assert (result.metric().pairs, result.disagreements, result.metric().condorcet) == ((), (), None)
    assert result.metric().notes == ("one system: nothing to compare",)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_few_instances_have_no_star(n: int) -> None:
    values = np.column_stack([np.arange(n) + 10.0, np.arange(n) / 3])
    result = compare(table(values)).metric()
    (pair,) = result.pairs
    assert not pair.significant
    assert pair.better is None
    assert result.n == n
    assert (result.systems[0].interval is None) == (n < 4)
    assert (pair.p_value is None) == (n == 1)
    assert f"{n} segment" in result.notes[0]


def test_all_ties() -> None:
    result = compare(table(np.ones((20, 3)))).metric()
    assert [row.bradley_terry for row in result.systems] == pytest.approx([1 / 3] * 3)
    assert [(row.rank, row.cluster) for row in result.systems] == [(1, 1)] * 3
    assert {pair.p_value for pair in result.pairs} == {1.0}
    assert "all systems tie on every instance" in result.notes
    assert result.diagnostics.ties == 1


def test_a_copy_of_another_system_is_named() -> None:
    values = made(30, 3)
    values[:, 2] = values[:, 0]
    result = compare(table(values)).metric()
    assert "a, c have the same score on every instance" in result.notes
    pair = result.pair("a", "c")
    assert (pair.p_value, pair.effect, pair.significant) == (1.0, None, False)


def test_systems_that_never_win_are_named() -> None:
    values = np.column_stack([np.arange(20.0), np.arange(20.0) + 1, np.arange(20.0) - np.tile([0.5, -0.5], 10)])
    result = compare(table(values)).metric()
    assert not result.connected
    assert "b never lost an instance" in result.notes
    assert result.systems[0].never_lost


def test_too_few_draws_for_so_many_pairs_are_told() -> None:
    values = made(40, 5, spread=9.0)
    result = compare(table(values), resamples=100, permutations=100).metric()
    assert not any(pair.significant for pair in result.pairs)
    assert "100 draws cannot show a difference after Holm's correction for 10 pairs" in result.notes[0]
    enough = compare(table(values), permutations=500).metric()
    assert any(pair.significant for pair in enough.pairs)
    assert not any("draws" in note for note in enough.notes)


@pytest.mark.heavy
def test_more_than_two_hundred_systems() -> None:
    values = made(12, 210)
    names = [f"s{index}" for index in range(210)]
    result = compare(table(values, names), resamples=100, permutations=100, tests_shown=()).metric()
    assert len(result.pairs) == 210 * 209 // 2
    assert result.win_matrix.shape == (210, 210)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 100))
def test_whatever_the_size_numbers_are_numbers(n: int, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 3, size=(n, k)).astype(float)
    record = compare(table(values), resamples=100, permutations=100).to_dict()
    json.dumps(record, allow_nan=False)


# Input that is a mistake: a message.


def test_unknown_metric_or_system_is_named() -> None:
    result = compare(table(made(20, 2)))
    with pytest.raises(InputError, match="no comparison by 'bleu'; metrics: m"):
        result.metric("bleu")
    with pytest.raises(InputError, match="no system 'x'"):
        result.metric().pair("a", "x")
    with pytest.raises(InputError, match="itself"):
        result.metric().pair("a", "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "anova"}, "test must be one of bootstrap"),
        ({"tests_shown": ["anova"]}, "tests_shown does not accept 'anova'; choose from bootstrap"),
        ({"ties": "first"}, "ties must be one of half, second, drop"),
        ({"ranking": "elo"}, "ranking must be one of mean, median, bt"),
        ({"correction": "fdr"}, "correction must be holm or none"),
        ({"alpha": 1.5}, "alpha must be a number above 0, below 1"),
        ({"level": 95}, "level must be a number above 0, below 1"),
        ({"resamples": 10}, "resamples must be a whole number from 100"),
        ({"permutations": 10}, "permutations must be a whole number from 100"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"tie_tolerance": float("nan")}, "tie_tolerance must be a number from 0"),
        ({"smallest_difference": -1}, "smallest_difference must be a number from 0"),
        ({"colour": "red"}, "unknown option 'colour'; settings of a comparison are: test, .*ties"),
    ],
)
def test_settings_that_make_no_sense(options: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        compare_systems({"m": {"a": [1.0], "b": [2.0]}}, **options)


def test_the_public_names_are_found_on_demand() -> None:
    assert nlgauge.compare_systems is compare_systems
    assert "compare_systems" in dir(nlgauge)
    assert "compare_systems" in nlgauge.__all__


def test_the_order_of_games_is_signed_where_ratings_depend_on_it() -> None:
    assert "shuffles" not in CompareSettings(shuffles=7).signature()
    assert "|shuffles:7|" in CompareSettings(ratings=True, shuffles=7).signature()


def test_a_signature_tells_settings_apart_that_differ_in_the_last_digits() -> None:
    near = CompareSettings(alpha=0.05), CompareSettings(alpha=0.050000001)
    assert near[0].signature() != near[1].signature()


# Test and score on different sides.


def wild(n: int = 40) -> np.ndarray:
    """`a` wins 36 of 40 instances, `b` has the higher mean because of the other four."""
    a = np.full(n, 0.5) + np.arange(n) / 1e4
    return np.column_stack([a, np.where(np.arange(n) < 4, a + 9, a - 0.1)])


@pytest.mark.parametrize("ranking", ["mean", "bt"])
def test_opposed_test_and_score_give_no_star_no_cluster_and_a_note(ranking: str) -> None:
    result = compare(table(wild()), test="sign", ranking=ranking).metric()
    (pair,) = result.pairs
    assert (pair.significant, pair.better, pair.favoured, pair.opposed) == (False, None, "a", True)
    assert pair.p_value == pytest.approx(1.857e-7, rel=1e-3)  # 2 sum_{k<=4} C(40, k) / 2^40
    assert [row.cluster for row in result.systems] == [1, 1]
    expected = "test sign favours a over b (p = 1.9e-07), but the score of b is better: neither is called better"
    assert expected in result.notes


@pytest.mark.parametrize(
    ("differences", "says"),
    [
        # Sign test: 9 of 12 wins, p = 2 (1 + 12 + 66 + 220) / 4096 = 0.146; t interval 0.725 +- 2.201 * 0.1436.
        ([1.0] * 9 + [-0.1] * 3, "excludes 0, but test sign finds no significant difference"),
        # 11 of 12 wins, p = 2 (1 + 12) / 4096 = 0.006; t interval 0.0167 +- 2.201 * 0.0833.
        ([0.1] * 11 + [-0.9], "includes 0, but test sign finds a significant difference"),
        ([1.0] * 11 + [0.9], ""),
    ],
    ids=["interval excludes 0", "interval includes 0", "both agree"],
)
def test_an_interval_that_contradicts_the_test_has_a_note(differences: list[float], says: str) -> None:
    scores = table(np.column_stack([differences, np.zeros(12)]))
    notes = [note for note in compare(scores, test="sign").metric().warnings if "the test decides" in note]
    reason = "the test decides (it counts wins, the interval is of the mean)"
    assert notes == ([f"a and b: the 95 % interval {says}; {reason}"] if says else [])
    assert not any("the test decides" in note for note in compare(scores, test="sign", level=0.9).metric().warnings)


def test_a_favoured_system_is_named_from_whichever_side_a_pair_is_seen() -> None:
    values = made(100, 2, spread=1.0)
    for columns in (values, values[:, ::-1]):
        (pair,) = compare(table(columns), test="wilcoxon").metric().pairs
        assert pair.favoured == pair.better == pair.first
        assert not pair.opposed


def test_a_strength_lies_in_its_interval_where_one_system_wins_nearly_always() -> None:
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.normal(8, 1, 600), rng.normal(0, 3, 600), rng.normal(-1, 3, 600)])
    for row in compare(table(values)).metric().systems:
        assert row.bt_interval is not None
        assert row.bt_interval.low <= row.bradley_terry <= row.bt_interval.high


def test_ties_in_a_ranking_are_not_called_another_order() -> None:
    """Means 2, 1.5, 1 and .5; two systems tie in strength, and no pair is turned round."""
    values = np.array([[4.0, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1]]) / 2
    values[2:, [1, 2]] = [[0.9, 1.4], [0.9, 1.4]]
    (result,) = compare(table(values)).disagreements
    assert result.share_of_pairs == 0
    assert not result.different_winner


@pytest.mark.parametrize("columns", [[0, 1], [1, 0]])
def test_equal_strengths_name_no_other_winner_whatever_the_order_of_columns(columns: list[int]) -> None:
    values = np.array([[3.0, 1.0], [1.0, 2.0]] * 10)[:, columns]
    result = compare(table(values, [list("ab")[column] for column in columns]))
    assert result.metric().winner == result.metric().bt_winner == "a"
    assert not result.disagreements[0].different_winner
    assert not any("highest Bradley-Terry strength" in note for note in result.metric().notes)


def test_a_ranking_by_medians_says_that_the_rest_is_of_means() -> None:
    notes = [compare(table(made(20, 3)), ranking=name).metric().notes for name in ("median", "mean")]
    assert [any(note.startswith("ranked by the median;") for note in metric_notes) for metric_notes in notes] == [
        True,
        False,
    ]


def test_other_documents_are_another_signature_and_other_names_are_not() -> None:
    values = made(20, 2)
    halves, pairs = tuple("a" * 10 + "b" * 10), tuple("ab" * 10)
    first, other, renamed = (
        compare(table(values, documents=names)).signature for names in (halves, pairs, tuple("x" * 10 + "y" * 10))
    )
    assert first != other
    assert first == renamed
    assert "|unit:document|documents:" in first
    assert "documents" not in compare(table(values)).signature


def test_copies_have_no_difference_that_would_be_found() -> None:
    values = made(30, 2)
    pair = compare(table(np.column_stack([values, values[:, 0]]))).metric().pair("a", "c")
    assert (pair.difference, pair.detectable) == (0, None)
    assert compare(table(values)).metric().pair("a", "b").detectable is not None


def test_an_effect_against_the_corpus_score_is_explained() -> None:
    """`b` is right on four long segments and wrong on 36 short ones."""
    long = np.arange(40) < 4
    length = np.where(long, 1000.0, 10.0)
    right = np.column_stack([np.where(long, 100.0, 9.0 - np.arange(40) % 2), np.where(long, 900.0, 1.0)])
    counts = np.stack([right, np.column_stack([length, length])], axis=-1)
    result = compare(table(right / length[:, None], counts=counts), tests_shown=()).metric()
    (pair,) = result.pairs
    assert pair.effect is not None
    assert pair.effect < 0 < pair.difference
    assert "effect: of segment scores, not of the corpus score" in result.notes
    assert any(note.endswith("favour different systems (see effect): b and a") for note in result.notes)


def test_two_lists_of_outputs_are_refused_with_the_call() -> None:
    with pytest.raises(InputError, match=r"compare\(\) takes the systems as \{name: texts\}"):
        nlgauge.compare(["a cat"], ["a dog"], ["a cat"])  # type: ignore[arg-type]
