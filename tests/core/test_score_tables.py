"""What a user reads or pipes: the exact output for several systems and metrics, in every format."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extras import LazyModule

from nlgauge._version import __version__
from nlgauge.core.score import Score
from nlgauge.core.score_layout import Confidence, _short_notes
from nlgauge.core.score_table import ScoreTable
from nlgauge.core.short_signature import SignatureForm, signature_form
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, RecipeError
from nlgauge.vectors.cloud import Alignment

pd = LazyModule("pandas")


def render(scores: Iterable[Score], *, format: str = "text", width: int = 4, **options: Any) -> str:  # noqa: A002
    return ScoreTable(tuple(scores)).render(format, decimals=width, **options)


#: The last line of a table of BERTScores of `make`.
SHORT = "signature: bertscore|h:c1e8f403"

BIBTEX = "@inproceedings{zhang2020,\n  title = {BERTScore}\n}\n"


def make(
    system: str | None,
    segments: Mapping[str, list[float]],
    *,
    metric: str = "bertscore",
    main: str = "f1",
    layer: str = "4",
    empty: str = "0",
    higher_is_better: bool = True,
    best_reference: list[int] | None = None,
    alignments: tuple[Alignment | None, ...] | None = None,
) -> Score:
    return Score(
        metric=metric,
        system=system,
        segments={name: np.array(values) for name, values in segments.items()},
        main=main,
        higher_is_better=higher_is_better,
        signature=Signature(metric, {"layer": layer}, {"truncated": "0", "empty": empty}),
        notes={},
        best_reference=None if best_reference is None else np.array(best_reference),
        alignments=alignments,
    )


def bert(system: str | None, base: float = 0.5, **options: str) -> Score:
    return make(system, {"precision": [base, base], "f1": [base, base + 0.25]}, **options)  # type: ignore[arg-type]


def bary(system: str | None) -> Score:
    return make(system, {"w": [2.0, 3.0]}, metric="baryscore", main="w", higher_is_better=False)


# --- text ----------------------------------------------------------------------------------------------


def test_text_of_several_systems_and_metrics() -> None:
    scores = [bert("a"), bary("a"), bert("long-name", 0.25), bary("long-name")]
    assert render(scores, format="text") == (
        "bertscore\n"
        "system     precision      f1\n"
        "---------  ---------  ------\n"
        "a             0.5000  0.6250\n"
        "long-name     0.2500  0.3750\n"
        f"{SHORT}\n"
        "\n"
        "baryscore (distance: lower is better)\n"
        "system          w\n"
        "---------  ------\n"
        "a          2.5000\n"
        "long-name  2.5000\n"
        "signature: baryscore|h:3b1808c4\n"
    )


def test_text_without_system() -> None:
    assert render([bert(None)], width=2) == (
        f"bertscore\nprecision    f1\n---------  ----\n     0.50  0.62\n{SHORT}\n"
    )


def test_text_with_confidence_and_citations() -> None:
    output = render(
        [bert("a")], confidence=Confidence(level=0.9, resamples=200, seed=1), citations={"bertscore": BIBTEX}
    )
    assert output == (
        "bertscore\n"
        "system  precision      f1  f1 90% low  f1 90% high\n"
        "------  ---------  ------  ----------  -----------\n"
        "a          0.5000  0.6250     -0.1642       1.4142\n"  # .625 -+ 6.313752 x .125: t of one degree of freedom
        f"{SHORT}\n"
        "Student's t interval, 90 %, 2 segments (a bootstrap interval needs at least 30)\n"
        "\n"
        "% bertscore\n"
        "@inproceedings{zhang2020,\n"
        "  title = {BERTScore}\n"
        "}\n"
    )


def test_default_confidence_is_named() -> None:
    many = make("a", {"f1": [0.25, 0.5, 0.75] * 10})
    shown = render([many], confidence=Confidence())
    assert "\nbootstrap: 95 % of 1000 resamples, seed 12345, expanded percentiles\n" in shown
    assert Confidence(level=0.999).percent == "99.9"
    assert Confidence(level=0.55).percent == "55"


def signature_lines(scores: list[Score], form: SignatureForm = "full") -> list[str]:
    with signature_form(form):
        return render(scores).splitlines()[3 + len(scores) :]


def test_shared_signature_is_printed_once() -> None:
    assert signature_lines([bert("a"), bert("b", empty="1")]) == [
        "signature: bertscore|layer:4",
        "run of a: truncated:0|empty:0",
        "run of b: truncated:0|empty:1",
    ]
    assert signature_lines([bert("a"), bert("b", layer="5")]) == [
        "signature of a: bertscore|layer:4||truncated:0|empty:0",
        "signature of b: bertscore|layer:5||truncated:0|empty:0",
    ]


def test_two_recipes_of_one_metric_have_a_table_each() -> None:
    text = render([bert("a"), bert("b"), bert("a", layer="5"), bert("b", layer="5")])
    assert [line for line in text.splitlines() if line.startswith("bertscore")] == [
        "bertscore (layer:4)",
        "bertscore (layer:5)",
    ]


def test_short_signature_comes_with_counts_that_are_not_zero() -> None:
    assert signature_lines([bert("a"), bert("b")], "short") == [SHORT]
    assert signature_lines([bert("a"), bert("b", empty="1")], "short") == [
        SHORT,
        "b: 1 segment with an empty hypothesis or reference",
    ]
    assert signature_lines([bert("a"), bert("b", layer="5")], "short") == [
        f"signature of a: {bert('a').signature.short()}",
        f"signature of b: {bert('b', layer='5').signature.short()}",
    ]
    assert signature_lines([bert(None, empty="1")], "short") == [
        SHORT,
        "1 segment with an empty hypothesis or reference",
    ]


def test_text_of_segments() -> None:
    score = make("a", {"f1": [0.5, 0.25]}, best_reference=[1, 0])
    assert render([score], segments=True) == (
        "bertscore, by segment\n"
        "system  metric     segment      f1  best_reference\n"
        "------  ---------  -------  ------  --------------\n"
        "a       bertscore        0  0.5000               1\n"
        "a       bertscore        1  0.2500               0\n"
        "\n"
        "bertscore\n"
        "system      f1\n"
        "------  ------\n"
        "a       0.3750\n"
        f"{SHORT}\n"
    )


def test_components_that_differ_leave_empty_cells() -> None:
    other = make("b", {"f1": [1.0, 1.0], "f3": [0.5, 0.5]}, main="f3")
    lines = render([bert("a"), other], width=1, confidence=Confidence(resamples=100)).splitlines()
    assert lines[1:5] == [
        "system  precision   f1   f3  f1 95% low  f1 95% high  f3 95% low  f3 95% high",
        "------  ---------  ---  ---  ----------  -----------  ----------  -----------",
        "a             0.5  0.6             -1.0          2.2",
        "b                  1.0  0.5                                  0.5          0.5",
    ]


# --- TSV -----------------------------------------------------------------------------------------------


def test_tsv() -> None:
    assert render([bert("a"), bary("a\tb")], format="tsv", width=3, citations={"bertscore": BIBTEX}) == (
        "system\tmetric\tbetter\tprecision\tf1\tw\tsignature\n"
        "a\tbertscore\thigher\t0.500\t0.625\t\tbertscore|layer:4||truncated:0|empty:0\n"
        "a\\tb\tbaryscore\tlower\t\t\t2.500\tbaryscore|layer:4||truncated:0|empty:0\n"
    )


def test_tsv_with_confidence_and_no_system() -> None:
    output = render([bert(None)], format="tsv", confidence=Confidence(resamples=200))
    assert output == (
        "metric\tbetter\tprecision\tf1\tinterval\tlow\thigh\tsignature\n"
        "bertscore\thigher\t0.5000\t0.6250\tf1 Student's t interval, 95 %, 2 segments "
        "(a bootstrap interval needs at least 30)\t"
        "-0.9633\t2.2133\t"
        "bertscore|layer:4||truncated:0|empty:0\n"
    )


def test_tsv_of_segments() -> None:
    scores = [make("a", {"f1": [0.5, 0.25]}, best_reference=[1, 0]), bary(None)]
    assert render(scores, format="tsv", segments=True) == (
        "system\tmetric\tbetter\tsegment\tf1\tw\tbest_reference\tsignature\n"
        "a\tbertscore\thigher\t0\t0.5000\t\t1\tbertscore|layer:4||truncated:0|empty:0\n"
        "a\tbertscore\thigher\t1\t0.2500\t\t0\tbertscore|layer:4||truncated:0|empty:0\n"
        "\tbaryscore\tlower\t0\t\t2.0000\t\tbaryscore|layer:4||truncated:0|empty:0\n"
        "\tbaryscore\tlower\t1\t\t3.0000\t\tbaryscore|layer:4||truncated:0|empty:0\n"
    )


def test_pandas_reads_the_tsv() -> None:
    frame = pd.read_csv(io.StringIO(render([bert("a"), bary("b")], format="tsv")), sep="\t")
    assert frame["system"].tolist() == ["a", "b"]
    assert frame["f1"].tolist()[0] == 0.625
    assert Signature.parse(frame["signature"][0]) == bert("a").signature


@given(systems=st.lists(st.text(), min_size=1, max_size=3), segments=st.booleans())
def test_no_name_of_a_system_breaks_an_output(systems: list[str], segments: bool) -> None:
    scores = [bert(system) for system in systems]
    lines = render(scores, format="tsv", segments=segments).removesuffix("\n").split("\n")
    assert len(lines) == 1 + len(systems) * (2 if segments else 1)
    assert len({line.count("\t") for line in lines}) == 1
    read = json.loads(render(scores, format="json", segments=segments))
    assert [score["system"] for score in read["scores"]] == systems


# --- LaTeX ---------------------------------------------------------------------------------------------


def test_latex() -> None:
    scores = [bert("my_sys"), bert("[b]", 0.25, empty="1"), bary("my_sys")]
    assert render(scores, format="latex", width=2, citations={"bertscore": BIBTEX}) == (
        "\\begin{tabular}{lrrr}\n"
        "\\toprule\n"
        " & \\multicolumn{2}{c}{bertscore $\\uparrow$} & \\multicolumn{1}{c}{baryscore $\\downarrow$} \\\\\n"
        "\\cmidrule(lr){2-3} \\cmidrule(lr){4-4}\n"
        "system & precision & f1 & w \\\\\n"
        "\\midrule\n"
        "my\\_sys & 0.50 & 0.62 & 2.50 \\\\\n"
        "{[}b] & 0.25 & 0.38 &  \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        f"% {SHORT}\n"
        "% [b]: 1 segment with an empty hypothesis or reference\n"
        "% signature: baryscore|h:3b1808c4\n"
    )


def test_latex_marks_a_component_that_is_better_the_other_way_round() -> None:
    score = replace(bert("a"), distances=("precision",))
    lines = render([score], format="latex").splitlines()
    assert lines[2] == " & \\multicolumn{2}{c}{bertscore $\\uparrow$} \\\\"
    assert lines[4] == "system & precision $\\downarrow$ & f1 \\\\"
    assert lines[-1] == "% bertscore: lower is better: precision"


def test_latex_with_confidence_and_no_system() -> None:
    output = render([bary(None)], format="latex", confidence=Confidence(resamples=200))
    assert output == (
        "\\begin{tabular}{rrr}\n"
        "\\toprule\n"
        "\\multicolumn{3}{c}{baryscore $\\downarrow$} \\\\\n"
        "\\cmidrule(lr){1-3}\n"
        "w & w 95\\% low & w 95\\% high \\\\\n"
        "\\midrule\n"
        "2.5000 & $-$3.8531 & 8.8531 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        f"% signature: {bary(None).signature.short()}\n"
        "% Student's t interval, 95 %, 2 segments (a bootstrap interval needs at least 30)\n"
    )


def test_latex_of_one_system_under_two_recipes() -> None:
    lines = render(
        [bary("a"), bert("a"), bert("a", 0.25, layer="5"), bert("b")], format="latex", width=1
    ).splitlines()
    assert lines[2].count("\\multicolumn") == 3
    assert "{bertscore (layer:5) $\\uparrow$}" in lines[2]
    assert lines[6:8] == ["a & 2.5 & 0.5 & 0.6 & 0.2 & 0.4 \\\\", "b &  & 0.5 & 0.6 &  &  \\\\"]
    assert lines[10:] == [
        f"% signature: {bary('a').signature.short()}",
        f"% signature: {bert('a').signature.short()}",
        f"% signature: {bert('a', layer='5').signature.short()}",
    ]


# --- JSON ----------------------------------------------------------------------------------------------


def test_json_bytes() -> None:
    third = make("日本 <é>", {"f1": [1 / 3]})
    assert render([third], format="json", width=1) == (
        "{\n"
        '  "format": "nlgauge-scores-1",\n'
        f'  "nlgauge": "{__version__}",\n'
        '  "texts": {},\n'
        '  "scores": [\n'
        "    {\n"
        '      "system": "日本 <é>",\n'
        '      "metric": "bertscore",\n'
        '      "score": 0.3333333333333333,\n'
        '      "main": "f1",\n'
        '      "higher_is_better": true,\n'
        '      "means": {"f1": 0.3333333333333333},\n'
        '      "signature": "bertscore|layer:4||truncated:0|empty:0",\n'
        f'      "short_signature": "{third.signature.short()}",\n'
        '      "counts": {"truncated": 0, "empty": 0, "zero_weight": 0},\n'
        '      "noted_segments": {}\n'
        "    }\n"
        "  ]\n"
        "}\n"
    )


def test_json_with_everything() -> None:
    score = make("a", {"f1": [0.5, 0.25]}, best_reference=[1, 0])
    confidence = Confidence(level=0.9, resamples=200, seed=1)
    output = render([score, bary(None)], format="json", segments=True, confidence=confidence, citations={"x": BIBTEX})
    again = render([score, bary(None)], format="json", segments=True, confidence=confidence, citations={"x": BIBTEX})
    assert output == again
    read = json.loads(output)
    assert list(read) == ["format", "nlgauge", "texts", "scores", "digest", "citations"]
    assert read["citations"] == {"x": BIBTEX}
    first, second = read["scores"]
    assert list(first)[-2:] == ["interval", "segments"]
    assert first["segments"] == [
        {"segment": 0, "f1": 0.5, "best_reference": 1},
        {"segment": 1, "f1": 0.25, "best_reference": 0},
    ]
    interval = score.interval(level=0.9, resamples=200, seed=1)
    assert first["interval"] == {"component": "f1", **interval._asdict()}
    assert second["system"] is None
    assert second["interval"]["component"] == "w"


def test_json_prints_names_that_are_not_utf8() -> None:
    output = render([bert("a\udcff")], format="json")
    assert '"system": "a\\udcff"' in output
    output.encode()


# --- errors --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output_format", ["text", "json", "tsv", "latex"])
def test_nan_is_never_printed(output_format: str) -> None:
    score = make("a", {"f1": [0.5, float("nan")]})
    with pytest.raises(InputError, match="bertscore of 'a', segment 1: f1 must be a finite number, got nan"):
        render([score], format=output_format)


def test_json_refuses_nan_inside_an_alignment() -> None:
    first = np.array([0])
    nan = np.array([np.nan])
    alignment = Alignment(0, ("a",), ("a",), first, first, nan, nan, nan, nan)
    score = make("a", {"f1": [0.5]}, alignments=(alignment,))
    with pytest.raises(InputError, match="a value that JSON cannot represent"):
        render([score], format="json", segments=True)
    assert "alignment" not in render([score], format="tsv", segments=True)


def test_options_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(InputError, match="no scores to print: expected at least one"):
        render([])
    with pytest.raises(InputError, match="bertscore has no segments; score at least one"):
        render([make(None, {"f1": []})])
    with pytest.raises(RecipeError, match="format must be one of text, json, tsv, csv, latex"):
        render([bert("a")], format="x")
    with pytest.raises(RecipeError, match="LaTeX tables have no rows for segments"):
        render([bert("a")], format="latex", segments=True)
    with pytest.raises(RecipeError, match="tables of segments in TSV and CSV have no intervals"):
        render([bert("a")], format="tsv", segments=True, confidence=Confidence())
    with pytest.raises(RecipeError, match=r"width \(number of decimals\)"):
        render([bert("a")], width=-1)


def test_confidence_is_checked() -> None:
    with pytest.raises(RecipeError, match="confidence level must be between 0 and 1, got 95"):
        Confidence(level=95)
    with pytest.raises(RecipeError, match="confidence resamples must be at least 100, got 0"):
        Confidence(resamples=0)
    with pytest.raises(RecipeError, match="confidence seed must be at least 0, got -1"):
        Confidence(seed=-1)


@pytest.mark.parametrize("segments", [False, True])
def test_two_recipes_of_one_metric_are_told_apart_in_tsv(segments: bool) -> None:
    from nlgauge.core.scoring import score_systems

    scores = score_systems({"a": ["a b"]}, ["a c"], metric=["chrf", "chrf:words=2"])
    lines = [line.split("\t") for line in render(scores, format="tsv", segments=segments).splitlines()]
    assert [line[1] for line in lines] == ["metric", "chrf (words:0)", "chrf (words:2)"]


def test_a_corpus_score_without_its_counts_says_why_it_has_no_interval() -> None:
    score = replace(make("a", {"bleu": [1.0, 2.0]}, metric="bleu", main="bleu"), corpus={"bleu": 1.4})
    confidence = Confidence()
    text = render([score], confidence=confidence)
    assert "no interval: bleu of bleu is computed on the whole corpus" in text
    assert "interval: 95 %" not in text
    assert "95% low" not in text
    (record,) = json.loads(render([score], format="json", confidence=confidence))["scores"]
    assert record["interval"] is None
    assert "whole corpus" in record["no_interval"]
    header, row = (line.split("\t") for line in render([score], format="tsv", confidence=confidence).splitlines())
    cells = dict(zip(header, row, strict=True))
    assert cells["interval"].startswith("none: ")
    assert (cells["low"], cells["high"]) == ("", "")
    both = render([score, bert("a")], confidence=confidence)
    assert "no interval: bleu" in both
    assert "t interval, 95 %" in both
    assert "f1 95% low" in both


def test_markdown_is_a_pipe_table_per_metric_with_its_signature() -> None:
    made = Score(
        metric="chrf",
        system="a|b",
        segments={"chrf": np.array([50.0, 25.0])},
        main="chrf",
        higher_is_better=True,
        signature=Signature.parse("chrf|nlgauge:0.2.0"),
        notes={},
    )
    lines = render([made], format="markdown", width=1, segments=True, citations={"chrf": "@x{y}"}).splitlines()
    assert r"| a\|b | 37.5 |" in lines
    assert r"| a\|b | chrf | 1 | 25.0 |" in lines
    assert lines[-4:] == ["```bibtex", "% chrf", "@x{y}", "```"]


def test_the_digest_of_a_range_is_not_a_count() -> None:
    run = {"range": "862944316322", "pairs": "4"}
    score = SimpleNamespace(system=None, signature=SimpleNamespace(run=run, short=lambda: "sentsim"))
    notes = _short_notes([score])  # type: ignore[list-item]
    assert notes[1:] == [
        "parts scaled to their minimum and maximum over these 4 pairs; not comparable with other runs"
    ]
