"""Published sensitivity studies recomputed on small packages written here: statistics are those of separate runs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from nlgauge.core import compare as checkpoint_module
from nlgauge.data.cards import load
from nlgauge.errors import InputError, MissingExtraError, RecipeError
from nlgauge.studies.meta.score_judgements import score_judgements
from nlgauge.studies.published.load import PAPER_TABLES, find_paper_table
from nlgauge.studies.published.reproduce import StudyInputs, reproduce
from nlgauge.studies.published.runs import Reproduction
from nlgauge.studies.published.tables import Column, PaperTable
from nlgauge.text.words import load_stopwords

REFS = [
    "the cat sat on the mat, and it was happy.",
    "a dog barked at the postman all morning!",
    "he bought bread, milk and three unbelievably ripe apples.",
    "rain is expected in the north tomorrow; the south stays dry.",
    "nobody knew the answer to the examiner's question.",
    "the train to leeds leaves at noon from platform four.",
]
SYSTEMS = {
    "A.1": [
        "the cat was on a mat and was happy",
        "the dog barked at a postman",
        "bread, milk, apples: he bought them.",
        "tomorrow it rains in the north.",
        "no one knew the examiner.",
        "the leeds train goes at noon.",
    ],
    "B.2": [
        "a cat is there.",
        "postmen bark in the morning",
        "he sold three horses, and bread.",
        "the weather is untypically warm!",
        "the answer is known to all of them",
        "platform four is closed.",
    ],
    "C.3": [
        "dogs",
        "all morning the dog barked at the mailman!",
        "he bought nothing.",
        "rain is likely in northern areas; it is dry in the south",
        "to the question of the examiner nobody had the answer.",
        "it leaves",
    ],
}
#: Of the sentences above; a language pair has both in an order of its own.
HUMAN = {"A.1": [0.6, 0.3, 0.2, 0.5, -0.2, 0.1], "B.2": [-0.3, -0.9, -0.5, -1.0, -0.8, -0.4]}
HUMAN["C.3"] = [-1.1, 0.8, -0.7, 0.9, 0.7, -0.6]
OFFICIAL = {"A.1": 0.4, "B.2": -0.7, "C.3": 0.1}
MOVER = "moverscore:profile=v1,n=1"


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def package(folder: Path, year: int, *langpairs: str) -> None:
    segments, systems = ["LP DATA SYSTEM SID HUMAN"], ["LP HUMAN SYSTEM"]
    for number, pair in enumerate(langpairs):
        # Each pair has the sentences in an order of its own, so that their texts differ.
        turned = REFS[number:] + REFS[:number]
        write(folder / f"references/newstest{year}-{pair.replace('-', '')}-ref.en", *turned)
        for system, outputs in SYSTEMS.items():
            texts = outputs[number:] + outputs[:number]
            write(folder / f"system-outputs/{pair}/newstest{year}.{system}.{pair}", *texts)
            scores = HUMAN[system][number:] + HUMAN[system][:number]
            for index, value in enumerate(scores[:5]):
                segments.append(f"{pair} newstest{year} {system} {index + 1} {value}")
            systems.append(f"{pair} {OFFICIAL[system]} {system}")
    write(folder / "DA-syslevel.csv", *systems)
    if year == 2017:
        write(folder / "DA-seglevel.csv", *segments)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    package(folder / "wmt17", 2017, "cs-en", "de-en")
    package(folder / "wmt18", 2018, "cs-en")
    write(
        folder / "wmt18" / "RR-seglevel.csv",
        "DATA SID BETTER WORSE",
        *(f"cs-en newstest2018 {index + 1} A.1 B.2" for index in range(6)),
        "cs-en newstest2018 1 A.1 C.3",
        "cs-en newstest2018 2 C.3 A.1",
        "cs-en newstest2018 5 B.2 C.3",
    )
    peers = [
        {"summ_id": str(number), "text": outputs[:3], "responsiveness": number + 1, "pyr_score": 1 / (number + 2)}
        for number, outputs in enumerate(SYSTEMS.values())
    ]
    topics = {
        "T1": {"references": [{"text": REFS[:3]}, {"text": REFS[1:4]}], "annotations": peers},
        "T2": {"references": [{"text": REFS[2:4]}, {"text": REFS[:2]}], "annotations": peers},
    }
    write(folder / "tac2008" / "tac.08.mds.gen.resp-pyr", json.dumps(topics))
    return folder


def study(number: str) -> PaperTable:
    result = find_paper_table(number)
    assert result.kind == "sensitivity"
    return result


def ours(result: Reproduction, row: str, column: str) -> Any:
    (actual,) = (item for item in result.rows if item.name == row)
    return actual.cells[column].ours


def lists(*, own: bool = False) -> list[str]:
    """The lists of English stop words on this machine: those of the paper, and others for missing ones.

    With a list of one's own in place of the first, nothing replaces the others. stopwords-iso is one of the tests'
    packages.
    """
    result: list[str] = []
    for name in ("nltk179-en", "spacy-en") if own else ("nltk153-en", "nltk179-en", "spacy-en", "iso-en", "nltk-en"):
        if len(result) == 3:
            break
        try:
            load_stopwords(name)
        except MissingExtraError:
            continue
        result.append(name)
    assert own or "iso-en" in result or len(result) == 3
    return result


def label(name: str) -> str:
    """The name of a list in a table: without the language, where that of the texts is filled in."""
    return name.removesuffix("-en") if name in ("spacy-en", "iso-en", "nltk-en") else name


def correlations(
    data: Path, recipes: list[str], correlate: Callable[..., Any] = pearsonr, name: str = "wmt17", pair: str = "cs-en"
) -> list[float]:
    """Each recipe on its own, by scipy."""
    table = load(name, data, langpairs=pair)
    return [
        float(correlate(score_judgements(table, [recipe], model="minilm").metrics[0].values, table.gold())[0])
        for recipe in recipes
    ]


def cv(values: list[float], *, n_minus_1: bool = True) -> float:
    spread = statistics.stdev(values) if n_minus_1 else statistics.pstdev(values)
    return 100 * spread / statistics.mean(values)


def test_printed_values_are_those_of_the_paper() -> None:
    # As printed in Tables 9, 11, 12 and 13.
    averages = {row.name: (row.published["seg avg"], row.published["sys avg"]) for row in study("repro-table9").rows}
    assert averages == {"Mover-1": (1.87, 0.25), "Mover-2": (2.04, 0.17), "BERT-F1": (7.72, 0.30)}
    assert [row.published["seg avg"] for row in study("table11").rows] == [1.12, 1.94, 0.31]
    ori, *corpora = study("table13").rows
    assert ori.published == {"18 seg avg": 0.355, "19 seg avg": 0.333}
    assert len(corpora) == 10
    assert not any(row.computed for row in corpora)
    ids = [f"repro-table{number}" for number in range(9, 16)] + [f"repro-figure{n}" for n in (1, 2, 3, 5, 6, 8, 9)]
    for name in ids:
        assert PAPER_TABLES[name].kind == "sensitivity"
    assert study("figure2") is PAPER_TABLES["repro-figure2"]
    for column in study("table9").columns:
        if column.over:
            assert not any(" en-" in label for label in column.over), "averages are over English targets"


def test_figures_and_tables_show_what_print_shows() -> None:
    measures = {number: [row.measure for row in study(f"figure{number}").rows] for number in (1, 2, 8, 9)}
    assert measures[1] == measures[8] == ["CV_STOP", "CV_IDF", "CV_SUB"]
    assert measures[2] == measures[9] == ["RD(dis,ori)", "RD(dis,pr)"]
    for number, level in ((1, "segment"), (2, "segment"), (8, "system"), (9, "system")):
        figure = study(f"figure{number}")
        assert {column.question.level for column in figure.questions if column.question} == {level}
        assert {row.metric for row in figure.rows} == {"Mover-1"}
    # Table 12 is CV_IDF alone, pyramid first; human peers stay in.
    tac = study("table12")
    assert [row.measure for row in tac.rows] == ["CV_IDF"] * 3
    assert [column.label for column in tac.columns][:4] == [
        "TAC08 pyr r",
        "TAC08 pyr rho",
        "TAC08 pyr tau",
        "TAC09 pyr r",
    ]
    assert tac.rows[0].published["TAC09 resp tau"] == 0.37
    for column in (*tac.questions, *study("table15").questions):
        assert column.question is not None
        assert dict(column.question.options).get("humans", True)
    # Table 10 has segments only, Table 14 other languages only, Table 15 English only.
    assert {row.name: row.published["19 seg en-fi"] for row in study("table10").rows} == {
        "BERT-F1": "none",
        "Mover-1": "229 words (kaggle)",
    }
    assert all(not pair.endswith("-en") for pair in study("table14").langpairs)
    assert set(study("table15").langpairs) == {*study("table15").english_pairs}


def test_cv_over_lists_of_stop_words_is_that_of_separate_runs(data: Path) -> None:
    table = study("table9")
    choice: dict[str, Any] = {"at": data, "data": "wmt17", "levels": "segment"}
    result = reproduce(table, **choice, langpairs=["cs-en", "de-en"])
    settings = ["none", *lists()]
    for row, recipe in (("Mover-1", MOVER), ("Mover-2", "moverscore:n=2"), ("BERT-F1", "bertscore:idf=refs")):
        tail = "," if ":" in recipe else ":"
        values = correlations(data, [f"{recipe}{tail}stopwords={name}" for name in settings])
        assert ours(result, row, "17 seg cs-en") == pytest.approx(cv(values), rel=1e-9)
    values = correlations(data, [f"{MOVER},stopwords={name}" for name in settings])
    by_n = reproduce(table, **choice, langpairs="cs-en", rows="Mover-1", study=StudyInputs(ddof=0))
    assert ours(by_n, "Mover-1", "17 seg cs-en") == pytest.approx(cv(values, n_minus_1=False), rel=1e-9)
    reason = result.rows[0].reason
    assert "another model: minilm (published: MNLI_BERT)" in reason
    assert ("settings (published: 4)" in reason) == (len(settings) < 4)
    for name in {"nltk153-en", "nltk179-en", "spacy"} - {label(item) for item in lists()}:
        assert any(what.startswith(f"stop words {name!r} (en): ") for what in result.missing)
    pulled = "nltk153-en" in lists()
    assert pulled != any(what.startswith("MoverScore's list of 153 English stop words") for what in result.missing)
    best = reproduce(study("table10"), **choice, langpairs="cs-en", rows="Mover-1")
    assert ours(best, "Mover-1", "17 seg cs-en") == label(settings[int(np.argmax(values))])


def test_a_custom_stop_word_list_replaces_that_of_moverscore(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    write(path, "the", "a", "of")
    inputs = StudyInputs(stopwords=(str(path),))
    result = reproduce(study("table9"), at=data, data="wmt17", levels="segment", langpairs="cs-en", study=inputs)
    settings = ["none", str(path), *lists(own=True)]
    values = correlations(data, [f"{MOVER},stopwords={name}" for name in settings])
    assert ours(result, "Mover-1", "17 seg cs-en") == pytest.approx(cv(values), rel=1e-9)
    assert not any("153" in what for what in result.missing)
    assert any(note.startswith(f"stop words (en): {path} 3") for note in result.notes)


def test_rd_and_the_best_cell_are_those_of_separate_runs(data: Path) -> None:
    choice: dict[str, Any] = {"at": data, "data": "wmt17", "langpairs": "cs-en"}
    figure = reproduce(study("figure2"), **choice, levels="segment")
    drop, keep = correlations(data, [f"{MOVER},punctuation={how}" for how in ("drop-ascii", "keep")])
    assert ours(figure, "Mover-1 RD(dis,pr)", "17 seg cs-en") == pytest.approx(100 * (keep - drop) / drop)
    pieces = correlations(data, [f"{MOVER},subwords={how}" for how in ("first", "all", "average")])
    first = reproduce(study("figure1"), **choice, rows="Mover-1 CV_SUB")
    assert ours(first, "Mover-1 CV_SUB", "17 seg cs-en") == pytest.approx(cv(pieces))
    cells = [(item, other) for item in ("first", "all", "average") for other in ("drop-ascii", "keep")]
    values = correlations(data, [f"{MOVER},subwords={left},punctuation={other}" for left, other in cells])
    best = reproduce(study("table15"), **choice, levels="segment")
    assert ours(best, "Mover-1", "17 seg cs-en") == " + ".join(cells[int(np.argmax(values))])
    assert best.rows[0].cells["17 seg cs-en"].difference is None
    assert " + " in best.render("tsv")


def test_systems_are_scored_on_their_whole_files(data: Path) -> None:
    result = reproduce(study("figure9"), at=data, data="wmt17", langpairs="cs-en")
    table = load("wmt17", data, langpairs="cs-en", level="system")
    values = []
    for how in ("drop-ascii", "keep"):
        scores = score_judgements(table, [f"{MOVER},punctuation={how}"], model="minilm").metrics[0].values
        means = [scores[[name == system for name in table.system]].mean() for system in OFFICIAL]
        values.append(pearsonr(means, list(OFFICIAL.values()))[0])
    expected = 100 * (values[1] - values[0]) / values[0]
    assert ours(result, "Mover-1 RD(dis,pr)", "17 sys cs-en") == pytest.approx(expected)


def test_random_corpora_do_not_depend_on_what_is_asked_for(data: Path) -> None:
    choice: dict[str, Any] = {"at": data, "data": "wmt17", "levels": "segment", "rows": "BERT-F1"}
    both = reproduce(study("table11"), **choice, langpairs=["cs-en", "de-en"])
    first = reproduce(study("table11"), **choice, langpairs="de-en")
    assert ours(first, "BERT-F1", "17 seg de-en") == ours(both, "BERT-F1", "17 seg de-en") > 0
    assert ours(both, "BERT-F1", "17 seg cs-en") != ours(both, "BERT-F1", "17 seg de-en")
    # All data sets of the study that are here: each text once per language pair.
    texts = {text for outputs in SYSTEMS.values() for text in outputs}
    judged = {text for outputs in SYSTEMS.values() for text in outputs[:5]}
    *_, drawn = (note for note in first.notes if note.startswith("random corpora"))
    assert drawn.endswith(" texts of tac2008, wmt17, wmt18")
    assert int(drawn.split()[6]) > len(texts) + len(judged) + 2 * len(REFS)


def test_the_best_list_of_a_language_is_that_of_the_average(data: Path) -> None:
    table = study("table10")
    pairs = tuple(column for column in table.columns if column.label in ("17 seg cs-en", "17 seg de-en"))
    both = Column("17 seg avg", over=tuple(column.label for column in pairs))
    result = reproduce(replace(table, columns=(*pairs, both)), at=data, rows="Mover-1")
    settings = ["none", *lists()]
    values = [
        correlations(data, [f"{MOVER},stopwords={name}" for name in settings], pair=pair)
        for pair in ("cs-en", "de-en")
    ]
    assert ours(result, "Mover-1", "17 seg avg") == label(settings[int(np.argmax(np.mean(values, axis=0)))])
    assert result.rows[0].cells["17 seg avg"].published == "none"
    assert result.rows[0].cells["17 seg avg"].difference is None


def test_tau_on_rankings_and_rows_for_corpora(data: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "large.txt"
    write(corpus, *(f"{text} and more of it" for text in REFS))
    inputs = StudyInputs(idf_corpus=(str(corpus),), state=tmp_path / "state")
    result = reproduce(study("table13"), at=data, langpairs="cs-en", study=inputs)
    assert [row.name for row in result.rows if row.cells["18 seg cs-en"].ours is not None] == ["ORI", "large.txt"]
    # The same recipe on the same rankings, by the code of another table.
    first = reproduce(PAPER_TABLES["repro-table1"], at=data, langpairs="cs-en", rows="Mover-1")
    assert ours(result, "ORI", "18 seg cs-en") == ours(first, "Mover-1", "cs-en")
    assert ours(result, "ORI", "17 seg cs-en") == pytest.approx(correlations(data, [MOVER])[0])
    assert ours(result, "large.txt", "17 seg cs-en") != ours(result, "ORI", "17 seg cs-en")
    assert not any("WiLI" in what for what in result.missing)
    assert any("WiLI" in what for what in reproduce(study("table13"), model="none").missing)


def test_topics_and_several_references(data: Path) -> None:
    choice: dict[str, Any] = {"at": data, "data": "tac2008", "rows": "BERT-F1"}
    result = reproduce(study("figure6"), **choice)
    table = load("tac2008", data, humans=True)
    values = []
    for idf in ("refs", "none"):
        recipe = f"bertscore:idf={idf},multiref=mean"
        scores = score_judgements(table, [recipe], model="minilm").metrics[0].values
        actual = []
        for topic in table.topics:
            rows = [index for index, name in enumerate(table.topic or ()) if name == topic]
            actual.append(spearmanr(scores[rows], table.human["responsiveness"][rows])[0])
        values.append(statistics.mean(actual))
    expected = 100 * (values[1] - values[0]) / values[0]
    assert ours(result, "BERT-F1", "TAC08 resp rho") == pytest.approx(expected)
    assert set(result.columns) <= {
        f"TAC08 {short} {letter}" for short in ("resp", "pyr") for letter in ("r", "rho", "tau")
    }


def test_missing_inputs_are_listed_and_published_values_stay(data: Path) -> None:
    nowhere = reproduce(study("table9"))
    averages = [f"{year} {level} avg" for level in ("seg", "sys") for year in (17, 18, 19)]
    assert nowhere.columns == (*averages[:3], "seg avg", *averages[3:], "sys avg")
    assert [row.cells["seg avg"].published for row in nowhere.rows] == [1.87, 2.04, 7.72]
    assert {row.reason for row in nowhere.rows} == {"not computed: see missing inputs"}
    text = "\n".join(nowhere.missing)
    for name in ("wmt17", "wmt18", "wmt19"):
        assert f"data set {name}: no data folder set (--at PATH); available at www.statmt.org" in text
    figure = "\n".join(reproduce(study("figure1")).missing)
    assert "from-English text (en-de, en-zh, en-ru" in figure
    assert "bert-base-multilingual-uncased" in figure
    part = reproduce(study("table15"), at=data, data="wmt17", langpairs=["cs-en", "lv-en"], levels="segment")
    assert part.columns == ("17 seg cs-en",)
    assert any("'lv-en' does not exist" in what for what in part.missing)
    assert any(
        what.startswith("data set tac2009: not found in ")
        for what in reproduce(study("table12"), at=data, data="tac2009").missing
    )
    other = reproduce(study("table14"), at=data, data="wmt17", langpairs="en-ru")
    assert other.missing[0].startswith(
        "en-ru: minilm supports only en; published model: bert-base-multilingual-uncased"
    )
    assert reproduce(study("table15"), at=data, model="none").rows[0].reason == "not computed: --model none"
    lost = reproduce(study("table15"), at=data, data="wmt17", langpairs="cs-en", model="/no/such/model")
    assert any(what.startswith("published model MNLI_BERT: ") for what in lost.missing)


def test_a_finished_run_is_not_computed_again(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choice: dict[str, Any] = {"at": data, "data": "wmt17", "langpairs": "cs-en", "levels": "segment"}
    choice["study"] = StudyInputs(state=tmp_path / "state")
    first = reproduce(study("figure2"), **choice)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("compared again")

    monkeypatch.setattr(checkpoint_module, "compare", refuse)
    assert reproduce(study("figure2"), **choice).render("json") == first.render("json")


def test_json_and_the_figure(data: Path, tmp_path: Path) -> None:
    result = reproduce(study("figure2"), at=data, data="wmt17", langpairs="cs-en", levels="segment")
    actual = json.loads(result.render("json"))
    assert (actual["id"], actual["model"], actual["columns"]) == ("repro-figure2", "minilm", ["17 seg cs-en"])
    assert [row["name"] for row in actual["rows"]] == ["Mover-1 RD(dis,ori)", "Mover-1 RD(dis,pr)"]
    cell = actual["rows"][0]["cells"]["17 seg cs-en"]
    assert cell["published"] is None
    assert isinstance(cell["ours"], float)
    assert actual["rows"][0]["signatures"]["17 seg cs-en"].startswith("moverscore|")
    result.save_figure(tmp_path / "figure2.svg")
    assert "</svg>" in (tmp_path / "figure2.svg").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="no value of repro-figure2 was computed"):
        reproduce(study("figure2"), model="none").save_figure(tmp_path / "none.png")


@pytest.mark.usefixtures("data")
def test_unused_inputs_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="repro-table9 does not count idf on a large corpus"):
        reproduce(study("table9"), study=StudyInputs(idf_corpus=("a.txt",)))
    with pytest.raises(RecipeError, match="repro-table14 does not vary stop words"):
        reproduce(study("table14"), study=StudyInputs(stopwords=("a.txt",)))
    with pytest.raises(RecipeError, match="corpora for idf need different file names"):
        reproduce(study("table13"), study=StudyInputs(idf_corpus=("x/a.txt", "y/a.txt")))
    with pytest.raises(RecipeError, match="repro-table3 is not a sensitivity study"):
        reproduce(PAPER_TABLES["repro-table3"], study=StudyInputs(ddof=0))
    with pytest.raises(
        RecipeError, match="repro-table9: level 'topic' does not exist; choose from: 'segment', 'system'"
    ):
        reproduce(study("table9"), levels="topic")
    with pytest.raises(RecipeError, match="repro-table10 has no figure"):
        reproduce(study("table10"), model="none").save_figure(tmp_path / "x.png")


def test_how_often_each_list_is_the_best(data: Path) -> None:
    choice: dict[str, Any] = {"at": data, "data": "wmt17", "levels": "segment"}
    table = study("figure4")
    pairs = tuple(column for column in table.columns if column.label in ("17 seg cs-en", "17 seg de-en"))
    both = Column("17 seg avg", over=tuple(column.label for column in pairs))
    rows = [row.name for row in table.rows if row.name.startswith("Mover-1: ")]
    result = reproduce(replace(table, columns=(*pairs, both)), **choice, rows=rows)
    settings = ["none", *lists()]
    best = [
        settings[int(np.argmax(correlations(data, [f"{MOVER},stopwords={name}" for name in settings], pair=pair)))]
        for pair in ("cs-en", "de-en")
    ]
    pulled = "nltk153-en" in settings  # otherwise other lists are in place of the published ones
    names = {"none": "none", "spaCy": "spacy-en"}
    names |= {
        "MoverScore's list": "nltk153-en" if pulled else "iso-en",
        "NLTK": "nltk179-en" if pulled else "nltk-en",
    }
    for title, name in names.items():
        shares = [ours(result, f"Mover-1: {title}", label) for label in result.columns]
        expected = [100.0 * (winner == name) for winner in best]
        assert shares == ([*expected, sum(expected) / 2] if name in settings else [None] * 3)
    # What the text of the paper states of segments, Pyramid and Responsiveness, in its section A.4.
    published = {row.name: row.published for row in table.rows if row.published}
    assert published["Mover-1: none"]["seg avg"] == pytest.approx(100 * 20 / 21, abs=0.05)
    assert published["Mover-1: MoverScore's list"] == {"pyr avg": 100, "resp avg": 33.3}
    assert published["Mover-2: MoverScore's list"] == {"resp avg": 16.7}


def test_a_custom_stop_word_list_of_a_figure_replaces_that_of_moverscore(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    write(path, "the", "a", "of")
    inputs = StudyInputs(stopwords=(str(path),))
    table = study("figure4")
    rows = [row.name for row in table.rows if row.name.startswith("Mover-1: ")]
    result = reproduce(table, at=data, data="wmt17", levels="segment", langpairs="cs-en", rows=rows, study=inputs)
    shares = [ours(result, name, "17 seg cs-en") for name in rows]
    assert shares[1] is not None
    assert sum(share for share in shares if share is not None) == 100


def test_rd_of_random_corpora_is_that_of_their_mean(data: Path) -> None:
    choice: dict[str, Any] = {"at": data, "data": "wmt17", "langpairs": "cs-en"}
    rows = [f"BERT-F1 RD({name})" for name in ("dis,ori", "rand,dis", "rand,ori")]
    result = reproduce(study("figure7"), **choice, rows=rows)
    dis_ori, rand_dis, rand_ori = (ours(result, name, "17 seg cs-en") for name in rows)
    original, none = correlations(data, ["bertscore:idf=refs", "bertscore:idf=none"])
    assert dis_ori == pytest.approx(100 * (none - original) / original)
    # One mean of the four random corpora satisfies both.
    mean = original * (1 + rand_ori / 100)
    assert rand_dis == pytest.approx(100 * (mean - none) / none)
    assert mean != pytest.approx(original, rel=1e-6)


def test_layers_are_those_of_separate_runs(data: Path) -> None:
    table = find_paper_table("sentsim-figure4")
    choice: dict[str, Any] = {"at": data, "langpairs": "cs-en"}
    result = reproduce(table, **choice)
    judged = load("wmt17", data, langpairs="cs-en")
    expected = []
    for layer in range(1, 7):
        recipe = f"sentsim:combine=wmd,against=refs,layer={layer}"
        distances = score_judgements(judged, [recipe], model="minilm").metrics[0].component("wmd").values
        expected.append(float(-pearsonr(distances, judged.gold())[0]))
    assert [row.name for row in result.rows] == ["best layer", *(f"layer {layer}" for layer in range(1, 7))]
    assert [ours(result, f"layer {layer}", "cs-en") for layer in range(1, 7)] == pytest.approx(expected)
    assert ours(result, "best layer", "cs-en") == str(int(np.argmax(expected)) + 1)
    (line,) = result.figure().axes[0].lines
    assert line.get_ydata() == pytest.approx(expected)
    assert {row.published["avg"] for row in table.rows if row.published} == {"17"}
    # A model without layers, and none: the row of all layers stays.
    across = find_paper_table("sentsim-figure3")
    nothing = reproduce(across, **choice, model="none")
    assert [row.name for row in nothing.rows] == ["best layer", "each layer"]
