"""Published tables recomputed: on small files written here, and on the public data sets without a model."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from scipy.stats import pearsonr

from nlgauge.core.run_options import RunOptions
from nlgauge.data.cards import load
from nlgauge.data.judgements import JudgementTable
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import FileFormatError, MissingExtraError, RecipeError
from nlgauge.metrics.chrf import ChrF
from nlgauge.studies.meta.evaluation import evaluate
from nlgauge.studies.meta.questions import Question
from nlgauge.studies.meta.row_scores import ScoredJudgements
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published.load import PAPER_TABLES
from nlgauge.studies.published.reproduce import KnownScores, reproduce
from nlgauge.studies.published.runs import Reproduction
from nlgauge.studies.published.tables import Column, PaperTable, PublishedModel, TableRow
from nlgauge.text import words as words_module

HUMAN = [0.1, 0.4, 0.2, 0.9]
SENTBLEU = [0.2, 0.3, 0.25, 0.8]
EXACT = float(pearsonr(HUMAN, SENTBLEU)[0])


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def testset(tmp_path: Path) -> Path:
    """Two language pairs of four rows each; lv-en has the signs of people turned round."""
    outputs = ["a cat sat", "the dog ran", "no one knew", "rain fell today"]
    for pair, sign in (("cs-en", 1), ("lv-en", -1)):
        rows = zip(outputs, HUMAN, SENTBLEU, strict=True)
        write(
            tmp_path / f"testset_{pair}.tsv",
            "LP\tsource\ttranslation\treference\tHUMAN_score\tsentBLEU",
            *(f"{pair}\ts\t{text}\tthe cat sat today\t{sign * human}\t{bleu}" for text, human, bleu in rows),
        )
    return tmp_path


def small(*rows: TableRow, pairs: tuple[str, ...] = ("cs-en", "lv-en")) -> PaperTable:
    columns = tuple(Column(pair, Question("wmt17-testset"), pair) for pair in pairs)
    return PaperTable("small", "a small table", "nowhere", (*columns, Column("avg", over=pairs)), rows)


def row(result: Reproduction, name: str) -> dict[str, float | str | None]:
    """Our values of a row by column."""
    (actual,) = (item for item in result.rows if item.name == name)
    return {label: cell.ours for label, cell in actual.cells.items()}


def reason(result: Reproduction, name: str) -> str:
    (actual,) = (item for item in result.rows if item.name == name)
    return actual.reason


def test_values_differences_and_the_unweighted_average(testset: Path) -> None:
    published = {"cs-en": round(EXACT, 3), "lv-en": -0.5, "avg": 0.2}
    table = small(TableRow("bleu", published, released="sentBLEU", note="other files"), TableRow("x", recipe="chrf"))
    result = reproduce(table, at=testset, model="none")
    assert row(result, "bleu") == pytest.approx({"cs-en": EXACT, "lv-en": -EXACT, "avg": 0.0}, abs=1e-12)
    assert result.rows[0].cells["lv-en"].difference == pytest.approx(0.5 - EXACT)
    assert result.rows[0].cells["avg"].difference == pytest.approx(-0.2)
    assert reason(result, "bleu") == "other files"
    mine = load("wmt17-testset", testset, langpairs="cs-en")
    expected = evaluate(score_judgements(mine, [ChrF()])).cells["chrf"]["cs-en"].value
    assert row(result, "x")["cs-en"] == pytest.approx(expected, abs=1e-12)
    assert result.rows[1].cells["cs-en"].difference is None
    assert result.missing == ()


def test_a_scale_is_that_of_the_print(testset: Path) -> None:
    table = small(TableRow("bleu", {"cs-en": round(100 * EXACT, 2)}, released="sentBLEU"))
    result = reproduce(PaperTable(**{**vars(table), "scale": 100, "decimals": 2}), at=testset)
    assert row(result, "bleu")["cs-en"] == pytest.approx(100 * EXACT)
    assert reason(result, "bleu") == "as published"


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (round(EXACT, 3), "as published"),
        (math.floor(EXACT * 1000) / 1000, "as published, truncated"),
        (round(EXACT, 3) + 0.002, ""),
    ],
)
def test_print_rounds_or_cuts(testset: Path, printed: float, why: str) -> None:
    assert EXACT * 1000 % 1 > 0.5, "rounding and cutting must differ for this test to tell"
    result = reproduce(small(TableRow("bleu", {"cs-en": printed}, released="sentBLEU")), at=testset)
    assert reason(result, "bleu") == why


def test_a_part_of_the_pairs_has_no_average_and_a_part_of_the_rows_no_others(testset: Path) -> None:
    table = small(TableRow("bleu", released="sentBLEU"), TableRow("x", recipe="chrf"))
    result = reproduce(table, at=testset, langpairs="cs-en", rows=["bleu"])
    assert result.columns == ("cs-en",)
    assert [item.name for item in result.rows] == ["bleu"]
    with pytest.raises(
        RecipeError, match=r"small: language pair 'de-en' does not exist; choose from: 'cs-en', 'lv-en'"
    ):
        reproduce(table, at=testset, langpairs="de-en")
    with pytest.raises(RecipeError, match=r"small: row 'y' does not exist"):
        reproduce(table, at=testset, rows="y")


def test_missing_inputs_are_listed_and_published_values_stay(testset: Path) -> None:
    table = small(TableRow("bleu", {"cs-en": 0.4, "avg": 0.5}, released="sentBLEU"))
    nowhere = reproduce(table)
    assert nowhere.rows[0].cells["cs-en"].published == 0.4
    assert row(nowhere, "bleu") == {"cs-en": None, "lv-en": None, "avg": None}
    assert reason(nowhere, "bleu") == "not computed: see missing inputs"
    assert len(nowhere.missing) == 1
    assert nowhere.missing[0].startswith("data set wmt17-testset: no data folder set (--at PATH); available")
    (testset / "testset_lv-en.tsv").unlink()
    part = reproduce(table, at=testset)
    assert row(part, "bleu") == {"cs-en": pytest.approx(EXACT), "lv-en": None, "avg": None}
    assert len(part.missing) == 1
    assert "'lv-en' does not exist" in part.missing[0]


def test_a_value_that_does_not_exist_says_why(testset: Path) -> None:
    write(
        testset / "testset_cs-en.tsv",
        "LP\tsource\ttranslation\treference\tHUMAN_score\tsentBLEU",
        *(f"cs-en\ts\tt\tr\t{human}\t0.5" for human in HUMAN),
    )
    result = reproduce(small(TableRow("bleu", released="sentBLEU")), at=testset, langpairs="cs-en")
    assert row(result, "bleu") == {"cs-en": None}
    assert len(result.missing) == 1
    assert result.missing[0].startswith("value of bleu, cs-en: ")
    assert "constant" in result.missing[0]


def test_a_file_that_is_broken_is_an_error_not_something_missing(testset: Path) -> None:
    write(testset / "testset_cs-en.tsv", "LP\tsource", "cs-en\ts")
    with pytest.raises(FileFormatError):
        reproduce(small(TableRow("bleu", released="sentBLEU")), at=testset)


def test_a_missing_model_leaves_the_rows_that_need_none(testset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGAUGE_OFFLINE", "1")
    published = PublishedModel("some-bert", published="some hub")
    table = small(TableRow("x", recipe="chrf"), TableRow("y", {"avg": 0.7}, recipe="bertscore", model=published))
    result = reproduce(table, at=testset, model="no/such-model")
    assert row(result, "x")["cs-en"] is not None
    assert row(result, "y")["cs-en"] is None
    assert reason(result, "y") == "not computed: see missing inputs"
    assert any(what.startswith("model 'no/such-model': ") for what in result.missing)
    assert "published model some-bert: some hub" in result.missing


def test_a_model_is_loaded_once_with_the_options_of_the_run(testset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def loading(model: str, **options: object) -> Encoder:
        asked.append((model, options))
        return load_encoder(model, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("nlgauge.studies.published.agreement.load_encoder", loading)
    table = small(TableRow("y", recipe="bertscore", model=PublishedModel("minilm")), pairs=("cs-en",))
    run = RunOptions(threads=1)
    result = reproduce(table, at=testset, model="minilm", run=run)
    assert asked == [("minilm", run.loading)]
    assert repr(result) == "<Reproduction small with minilm: 1 of 1 rows computed>"
    assert "<td>y</td><td>ours</td>" in result._repr_html_()


def test_recipes_differ_by_language_pair_and_by_model(testset: Path) -> None:
    published = PublishedModel("some-bert")
    table = small(
        TableRow(
            "layer 8",
            recipe="moverscore:idf=none,aggregation=layer-8",
            recipe_for_other_models="moverscore:idf=none,aggregation=layer-top-4",
            exceptions={"lv-en": "subwords=all"},
            model=published,
        ),
        TableRow(
            "recall",
            recipe="bertscore:layer=9",
            recipe_for_other_models="bertscore",
            component="recall",
            model=published,
        ),
        TableRow(
            "fine-tuned",
            recipe="bertscore:layer=9",
            recipe_for_other_models="bertscore",
            model=PublishedModel("minilm-mnli"),
        ),
    )
    result = reproduce(table, at=testset, model="minilm", layer=2)
    first, second, third = result.rows
    # minilm has 6 layers.
    assert first.recipe == "moverscore:idf=none,aggregation=layer-2"
    assert "subwords:first" in first.signatures["cs-en"]
    assert "subwords:all" in first.signatures["lv-en"]
    assert first.reason == "another model: minilm (published: some-bert)"
    # One recipe under one model, for rows of two published models.
    assert third.signatures == second.signatures
    assert third.reason == "another model: minilm (published: minilm-mnli)"
    assert "layer:2" in second.signatures["cs-en"]
    mine = score_judgements(load("wmt17-testset", testset, langpairs="cs-en"), ["bertscore"], model="minilm", layer=2)
    assert row(result, "recall")["cs-en"] == pytest.approx(
        pearsonr(HUMAN, mine.metrics[0].component("recall").values)[0]
    )


def test_relative_rankings(tmp_path: Path) -> None:
    write(tmp_path / "references/newstest2018-csen-ref.en", "the cat sat", "the dog ran")
    for system, lines in {
        "A.1": ("the cat sat", "nothing"),
        "B.2": ("a cat", "the dog ran"),
        "C.3": ("x", "y"),
    }.items():
        write(tmp_path / f"system-outputs/cs-en/newstest2018.{system}.cs-en", *lines)
    table = PaperTable(
        "small",
        "",
        "",
        (Column("cs-en", Question("wmt18", agreement="darr"), "cs-en"),),
        (TableRow("x", recipe="chrf"),),
    )
    absent = reproduce(table, at=tmp_path)
    assert "no 'RR-seglevel.csv' in this folder" in absent.missing[0]
    # chrF agrees with people on the first two pairs and not on the third: tau = (2 - 1) / 3.
    write(
        tmp_path / "RR-seglevel.csv",
        "DATA SID BETTER WORSE",
        "cs-en newstest2018 1 A.1 B.2",
        "cs-en newstest2018 2 B.2 A.1",
        "cs-en newstest2018 2 A.1 B.2",
    )
    assert row(reproduce(table, at=tmp_path), "x") == {"cs-en": pytest.approx(1 / 3)}


def test_released_scores_may_be_another_column_in_another_data_set(testset: Path) -> None:
    note = TableRow("bleu", released="nothing", released_in={"wmt17-testset": "sentBLEU"})
    assert row(reproduce(small(note), at=testset), "bleu")["cs-en"] == pytest.approx(EXACT)
    mover = {item.name: item for item in PAPER_TABLES["repro-table6"].rows}["Mover (reported)"]
    assert mover.released_in == {"wmt16": "bert-base-uncased_mover_score_uniforme"}
    pearson = {item.name: item for item in PAPER_TABLES["repro-table3"].rows}["Mover (reported)"]
    assert not pearson.released_in


def test_one_recipe_that_lacks_a_package_leaves_the_others(testset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise MissingExtraError("NLTK's stop words are not on this machine")

    monkeypatch.setitem(words_module._SOURCES, "nltk", missing)
    plain = TableRow("plain", recipe="moverscore:idf=none", model=PublishedModel("minilm"))
    stopped = TableRow("stopped", recipe="moverscore:idf=none,stopwords=nltk-en", model=PublishedModel("minilm"))
    result = reproduce(small(plain, stopped, pairs=("cs-en",)), at=testset, model="minilm")
    assert row(result, "plain")["cs-en"] is not None
    assert row(result, "stopped")["cs-en"] is None
    assert any("NLTK's stop words" in what for what in result.missing)


def test_column_that_cannot_be_computed_leaves_the_others(testset: Path) -> None:
    write(
        testset / "testset_lv-en.tsv",
        "LP\tsource\ttranslation\treference\tHUMAN_score\tsentBLEU",
        *(f"lv-en\ts\tශ්‍රී ලංකාව\tthe cat sat\t{human}\t0.5" for human in HUMAN),
    )
    model = PublishedModel("minilm")
    table = small(
        TableRow("bert", {"lv-en": 0.5}, recipe="bertscore", model=model),
        TableRow("mover", recipe="moverscore:idf=none", model=model),
        TableRow("chrf", recipe="chrf"),
    )
    result = reproduce(table, at=testset, model="minilm")
    for name in ("bert", "mover"):
        assert row(result, name)["cs-en"] is not None
        assert row(result, name)["lv-en"] is None
        assert row(result, name)["avg"] is None
    assert result.rows[0].cells["lv-en"].published == 0.5
    (why,) = (what for what in result.missing if "Sinhala" in what)
    assert why.startswith("value of bert, mover, lv-en: ")


def test_row_of_another_model_is_not_as_published(testset: Path) -> None:
    made = small(TableRow("x", recipe="bertscore", model=PublishedModel("minilm")), pairs=("cs-en",))
    value = row(reproduce(made, at=testset, model="minilm"), "x")["cs-en"]
    assert isinstance(value, float)
    published = {"cs-en": round(value, 3)}
    for model, why in (
        ("minilm", "as published"),
        ("roberta-large", "same decimals as published; another model: minilm (published: roberta-large)"),
    ):
        table = small(TableRow("x", published, recipe="bertscore", model=PublishedModel(model)), pairs=("cs-en",))
        assert reason(reproduce(table, at=testset, model="minilm"), "x") == why


def test_known_errors_of_earlier_entries_are_fixed() -> None:
    # SentSim's Table 3 averages nine pairs; over the seven that are here it is (computed from the printed values):
    sevens = [item.published["avg of 7"] for item in PAPER_TABLES["sentsim-table3"].rows]
    assert sevens == [0.363, 0.396, 0.516, 0.544, 0.556]
    nines = [item.published["avg"] for item in PAPER_TABLES["sentsim-table3"].rows]
    assert nines == [0.372, 0.406, 0.508, 0.540, 0.553]
    # chrF++ counts words.
    lexical = {item.name: item.recipe for item in PAPER_TABLES["xmoverscore-table1"].rows}
    assert lexical["CHRF++"] == "chrf:words=2"
    # ROUGE on TAC.
    rouge = {item.name: item for item in PAPER_TABLES["moverscore-table2"].rows}["ROUGE-1"]
    assert "within .004 of the published values on TAC 2008, .006 on TAC 2009" in rouge.note
    # The rows of the reproducibility study's Table 7, and the settings of both metrics in its Table 8.
    assert [item.name for item in PAPER_TABLES["repro-table7"].rows] == [
        "original",
        "reproduced",
        "reproduced (stopwords)",
    ]
    captions = PAPER_TABLES["repro-table8"]
    assert [column.label for column in captions.columns] == ["M1", "M2"]
    printed = {item.name: tuple(item.published.values()) for item in captions.rows}
    assert printed["Mover-1, reproduced, max+stopwords"] == (0.686, 0.718)
    assert printed["BERT-R, reproduced, max"] == (0.851, 0.793)


# --- the public data sets ------------------------------------------------------------------------------


def need(data_folder: Path, *names: str) -> Path:
    for name in names:
        if not (data_folder / name).is_dir():
            pytest.skip(f"NLGAUGE_DATA does not hold {name}")
    return data_folder


def test_reported_rows_of_table_3_come_from_the_released_scores(data_folder: Path) -> None:
    index = need(data_folder, "wmt15")
    pairs = ("cs-en", "de-en", "fi-en", "ru-en")
    result = reproduce(PAPER_TABLES["repro-table3"], at=index, model="none", langpairs=pairs)
    # Reproducibility study, Table 3, rows "Reported", printed truncated.
    for name, reported in (
        ("BERT-F1 (reported)", (0.743, 0.722, 0.747, 0.740)),
        ("Mover (reported)", (0.688, 0.718, 0.700, 0.686)),
        ("Mover+ (reported)", (0.710, 0.711, 0.722, 0.673)),
    ):
        ours = row(result, name)
        assert tuple(math.floor(ours[f"15 {pair}"] * 1000) / 1000 for pair in pairs) == reported  # type: ignore[operator]
        assert reason(result, name).startswith("as published")
    assert "identical to the scores of bert-base-uncased_mover_score_uniforme" in reason(result, "Mover+ (reported)")
    assert row(result, "Mover+ (reported)") == row(result, "Mover, uniform weights (released)")
    assert reason(result, "Bary-W") == "not computed: --model none"


def test_released_rho_and_tau_of_wmt15(data_folder: Path) -> None:
    # De-en, BERTScore F1: computed from the released scores, without nlgauge.
    for number, value in ((5, 0.707049), (6, 0.528883)):
        table = PAPER_TABLES[f"repro-table{number}"]
        result = reproduce(table, at=need(data_folder, "wmt15"), langpairs="de-en", rows="BERT-F1 (reported)")
        assert row(result, "BERT-F1 (reported)")["15 de-en"] == pytest.approx(value, abs=5e-7)


def test_sentbleu_of_moverscore_table_1(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["moverscore-table1"], at=need(data_folder, "wmt17"), rows="SENTBLEU")
    # Computed from the released scores, without nlgauge.
    expected = (0.4350, 0.4325, 0.5712, 0.4043, 0.4842, 0.5384, 0.5117)
    ours = list(row(result, "SENTBLEU").values())
    assert ours[:7] == pytest.approx(expected, abs=5e-5)
    # All but lv-en, of which 125 rows are missing, are as printed.
    off = {label for label, cell in result.rows[0].cells.items() if abs(cell.difference or 0) > 6e-4}
    assert off == {"lv-en", "avg"}
    assert "435 of the 560 rows of lv-en" in reason(result, "SENTBLEU")


def test_likelihoods_beside_people_on_mlqe(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["sentsim-table5"], at=need(data_folder, "mlqe-pe"), model="none")
    # Computed from the files, without nlgauge.
    expected = {
        "en-de": 20.84,
        "en-zh": 25.70,
        "et-en": 48.65,
        "ne-en": 48.26,
        "ro-en": 64.70,
        "ru-en": 53.63,
        "si-en": 40.06,
    }
    ours = row(result, "model_scores")
    assert {pair: 100 * float(ours[pair] or 0) for pair in expected} == pytest.approx(expected, abs=5e-3)
    assert [ours[f"wrong {pair}"] for pair in expected] == pytest.approx([1] * len(expected))
    (wmd,) = (item for item in result.rows if item.name == "WMD")
    assert wmd.cells["wrong avg"].published == 0.4
    assert wmd.reason == "not computed: --model none"


# Measured with the model's own package, without nlgauge: correlations of sentence cosines with people, and with the
# log-likelihood that was taken for them.
@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning")  # rare Chinese letters, and signs
@pytest.mark.parametrize(
    ("langpair", "people", "likelihood"),
    [("en-de", -0.9, 42.5), ("en-zh", 6.7, 34.6), ("ru-en", 44.5, 43.5)],
)
def test_the_wrong_target_made_the_high_figures(
    data_folder: Path, langpair: str, people: float, likelihood: float
) -> None:
    table = PAPER_TABLES["sentsim-table5"]
    result = reproduce(table, at=need(data_folder, "mlqe-pe"), langpairs=langpair, rows="SSS")
    assert row(result, "SSS")[langpair] == pytest.approx(people / 100, abs=6e-4)
    assert row(result, "SSS")[f"wrong {langpair}"] == pytest.approx(likelihood / 100, abs=6e-4)
    assert result.model == "muse"


# Computed without nlgauge, TAC 2008: responsiveness r, rho, pyramid r, rho. Some peers handed in nothing.
@pytest.mark.filterwarnings("ignore::nlgauge.errors.EmptyTextWarning")
@pytest.mark.parametrize(
    ("table", "name", "expected"),
    [
        ("moverscore-table2", "ROUGE-1", (0.703, 0.579, 0.747, 0.634)),
        ("moverscore-table2", "ROUGE-2", (0.696, 0.573, 0.719, 0.636)),
        ("moverscore-table2-systems", "ROUGE-1", (0.489, 0.481, 0.590, 0.564)),
    ],
)
def test_rouge_on_tac_with_and_without_the_human_peers(
    data_folder: Path, table: str, name: str, expected: tuple[float, ...]
) -> None:
    result = reproduce(PAPER_TABLES[table], at=need(data_folder, "tac2008"), rows=name)
    ours = row(result, name)
    labels = ("08 resp r", "08 resp rho", "08 pyr r", "08 pyr rho")
    assert [ours[label] for label in labels] == pytest.approx(expected, abs=0.004)
    if table == "moverscore-table2":
        assert [result.rows[0].cells[label].difference for label in labels] == pytest.approx([0] * 4, abs=0.004)
    if not (data_folder / "tac2009").is_dir():
        assert ours["09 pyr r"] is None
        assert any(what.startswith("data set tac2009: not found in") for what in result.missing)


def test_paraphrases_by_area_under_the_curve(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["bertscore-table6"], at=need(data_folder, "explain"), rows="bertscore (released)")
    table = load("paws", data_folder)
    scores, positive = table.released["bertscore"], table.gold() == 1
    wins = scores[positive][:, None] - scores[~positive][None, :]
    expected = ((wins > 0).sum() + (wins == 0).sum() / 2) / wins.size
    assert row(result, "bertscore (released)")["PAWS"] == pytest.approx(expected)


def test_a_row_with_its_own_model(data_folder: Path) -> None:
    # Expected of this project: BERTScore F, MiniLM layer 4, idf from references, cs-en of wmt17-testset.
    minilm = PublishedModel("minilm")
    ours = TableRow(
        "F", {"cs-en": 0.564}, recipe="bertscore:layer=4,idf=refs", recipe_for_other_models="bertscore", model=minilm
    )
    result = reproduce(small(ours), at=need(data_folder, "wmt17"), langpairs="cs-en")
    assert reason(result, "F") == "as published"
    assert "layer:4" in result.rows[0].signatures["cs-en"]


def test_rouge_l_of_moverscore_table_3_is_nearest_with_f_and_the_best_reference(data_folder: Path) -> None:
    result = reproduce(PAPER_TABLES["moverscore-table3"], at=need(data_folder, "d2t"), model="none", rows="ROUGE-L")
    off = [abs(cell.difference) for cell in result.rows[0].cells.values() if cell.difference is not None]
    assert len(off) == 6
    assert sum(off) / 6 < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nlgauge.errors.NlgaugeWarning")  # that muse does not know Sinhala
def test_sinhala_does_not_lose_the_other_pairs_of_repro_table_4(data_folder: Path) -> None:
    table = PAPER_TABLES["repro-table4"]
    result = reproduce(table, at=data_folder, langpairs=["en-de", "si-en"], rows=["SSS + BERTScore"])
    (bert,) = result.rows
    assert bert.cells["en-de"].ours is not None
    assert bert.cells["si-en"].ours is None
    assert any("si-en" in what and "Sinhala" in what for what in result.missing)


def test_metric_that_raises_loses_only_its_own_column(testset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scoring(judged: JudgementTable, recipes: list[str], **options: object) -> ScoredJudgements:
        if "chrf" in recipes and judged.langpairs == ("lv-en",):
            raise ZeroDivisionError("division by zero")
        return score_judgements(judged, recipes, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("nlgauge.studies.published.agreement.score_judgements", scoring)
    result = reproduce(small(TableRow("x", recipe="chrf"), TableRow("y", recipe="rougel")), at=testset)
    assert row(result, "x")["cs-en"] is not None
    assert row(result, "x")["lv-en"] is None
    assert row(result, "y")["lv-en"] is not None
    assert result.missing == ("value of x, lv-en: ZeroDivisionError: division by zero",)


def test_broken_file_can_be_listed_as_missing(testset: Path) -> None:
    write(testset / "testset_lv-en.tsv", "LP\tsource", "lv-en\ts")
    result = reproduce(small(TableRow("bleu", released="sentBLEU")), at=testset, skip_broken=True)
    assert row(result, "bleu") == {"cs-en": pytest.approx(EXACT), "lv-en": None, "avg": None}
    assert "testset_lv-en.tsv" in result.missing[0]


def test_tables_share_scores(testset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores: KnownScores = {}
    first = reproduce(small(TableRow("bleu", recipe="bleu")), at=testset, known_scores=scores)
    assert len(scores) == 2  # a slice per language pair
    monkeypatch.setattr("nlgauge.studies.published.agreement.score_judgements", None)  # a call would fail
    again = reproduce(small(TableRow("the same", recipe="bleu")), at=testset, known_scores=scores)
    assert again.rows[0].cells == first.rows[0].cells
    assert again.rows[0].has_ours
