"""Make the figures of the site from real runs.

    python -m docs.make_figures                    make all figures
    python -m docs.make_figures --only NAME ...    make some: metric-bertscore, report, ...
    python -m docs.make_figures --list             show the command, requirements and duration of each figure

Figures are written to docs/images. NLGAUGE_DATA (or `--at`) is the folder of data sets. Most figures are drawn by a
command of nlgauge, which `--list` shows.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).resolve().parent / "images"

#: Example texts of the pages of metrics. The first two are those of Figure 1 of the MoverScore paper.
BOAT, CANOE = "A guy with a red jacket is standing on a boat", "A man wearing a lifevest is sitting in a canoe"
KANU = "Ein Mann mit Schwimmweste sitzt in einem Kanu."
FERRY = "The ferry was cancelled . We waited for the ferry . A storm hit the harbour ."
STORM = "A storm stopped the ferry . We slept at the harbour . The ferry left after the storm ."

#: The word mover's distance of SentSim, as a recipe of MoverScore: raw vectors of one layer, equal weights.
SENTSIM_WMD = (
    "moverscore:profile=paper,aggregation=last,idf=none,subwords=all,punctuation=keep,specials=drop,"
    "against=source,model=muse"
)

#: Study behind wmt17-sensitivity: the sweeps of the preset `all` without layers.
GRIDS = """\
name = "effect of preprocessing"
metric = ["moverscore:model=minilm", "moverscore:n=2,model=minilm", "bertscore:idf=refs,model=minilm"]

[[sweep]]
name = "stopwords"
stopwords = ["none", "spacy", "iso"]

[[sweep]]
name = "idf"
idf = ["original", "none"]

[[sweep]]
name = "subwords"
subwords = ["first", "all", "average"]

[[sweep]]
name = "punctuation"
punctuation = ["drop-ascii", "keep"]
"""


@dataclass(frozen=True)
class Figure:
    """A file of docs/images and how to make it."""

    name: str
    command: Sequence[str] = ()
    """Command of nlgauge, without the flag for the output file; DATA is the folder of data sets."""
    made_by: Callable[[Path, str], None] | None = None
    """Function for figures that need more than a command; takes the output file and the folder of data sets."""
    needs: Sequence[str] = ()
    takes: str = "seconds"
    flag: str = field(default="--plot")

    @property
    def path(self) -> Path:
        """Path of the image."""
        return IMAGES / f"{self.name}.png"

    @property
    def recipe(self) -> str:
        """The command that makes the figure."""
        if self.made_by is not None:
            summary = (self.made_by.__doc__ or "").strip().partition("\n")[0]
            return f"python -m docs.make_figures --only {self.name}    # {summary}"
        return f"nlgauge {shlex.join(self.command)} {self.flag} docs/images/{self.path.name}"

    def make(self, data: str) -> None:
        """Write the image."""
        if self.made_by is not None:
            self.made_by(self.path, data)
            return
        from nlgauge.apps.cli import main as nlgauge

        words = [data if word == "DATA" else word for word in self.command]
        with tempfile.TemporaryDirectory() as folder:  # the printed output is discarded
            status = nlgauge([*words, self.flag, str(self.path), "--output", f"{folder}/out", "--quiet"])
        if status:
            msg = f"{self.recipe} ended with {status}"
            raise SystemExit(msg)


def _pair(metric: str, hypothesis: str, *, ref: str = "", source: str = "", more: Sequence[str] = ()) -> list[str]:
    other = ["--ref-text", ref] if ref else ["--source-text", source]
    return ["explain", "pair", "--hyp-text", hypothesis, *other, "--metric", metric, *more]


def draw_sentsim(path: Path, data: str) -> None:
    """flow of SentSim's wmd, computed by its recipe of MoverScore"""
    import nlgauge
    from nlgauge.io.canvas import save_figure

    explanation = nlgauge.explain_pair(f"{BOAT}.", source=KANU, metric=SENTSIM_WMD)
    save_figure(explanation.figure(title=f"sentsim: wmd {explanation.score:.3f}"), path)


def draw_sentence_graph(path: Path, data: str) -> None:
    """sentences of the page's pair that share a noun, from nlgauge.metrics.parts.foci"""
    from nlgauge.io.canvas import COLOURS, finish_figure, new_panels, save_figure
    from nlgauge.metrics.parts.foci import adjacency, noun_sentences
    from nlgauge.text.annotators import load_annotator

    annotated = load_annotator("spacy-en").annotate([FERRY, STORM])
    figure, panels = new_panels(2, 1, width=8.0, height=1.5)
    for axes, text, name in zip(panels, annotated, ("hypothesis", "reference"), strict=True):
        nouns, size = noun_sentences(text), len(text.sentences)
        weights = adjacency(nouns, size, weighted=False)
        axes.set_axis_off()
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(-0.6, 1.3)
        axes.set_title(name, loc="left", fontsize=9)
        for first, second in combinations(range(size), 2):
            shared = [noun for noun, numbers in nouns.items() if {first, second} <= set(numbers)]
            if shared:
                high = 0.25 + 0.4 * (second - first)
                _arc(axes, first, second, high, COLOURS[0])
                label = f"{', '.join(shared)}: {weights[first, second]:g}"
                axes.text((first + second) / 2, high + 0.08, label, ha="center", va="bottom", fontsize=8)
        for number, sentence in enumerate(text.sentences):
            axes.plot(number, 0, "o", color=COLOURS[5], markersize=8)
            words = " ".join(word.form for word in sentence.words)
            axes.text(number, -0.2, f"{number + 1}. {words}", ha="center", va="top", fontsize=8)
    note = "Dots are sentences; an arc joins two that share a noun, with the noun and 1 / distance"
    finish_figure(figure, title="Sentences connected by nouns", caption=f"{note} (adjacency=unweighted).")
    save_figure(figure, path)


def _arc(axes: Any, first: float, second: float, high: float, colour: str) -> None:
    import numpy as np

    along = np.linspace(0, 1, 60)
    axes.plot(first + (second - first) * along, high * np.sin(np.pi * along), color=colour, linewidth=1.6)


def draw_newsroom(path: Path, data: str) -> None:
    """nlgauge.discourse on the data set newsroom, drawn like nlgauge study discourse --plot"""
    import nlgauge
    from nlgauge.data.cards import load

    table = load("newsroom", data)
    systems: dict[str, dict[str, str]] = {}
    for segment, system, text in zip(table.segment, table.system, table.hypothesis, strict=True):
        systems.setdefault(system, {})[segment] = text
    references = dict(zip(table.segment, (group[0] for group in table.references), strict=True))
    order = list(references)
    result = nlgauge.discourse(
        {name: [texts[segment] for segment in order] for name, texts in systems.items()},
        [references[segment] for segment in order],
    )
    result.save_figure(path)


def draw_sensitivity(path: Path, data: str) -> None:
    """nlgauge study sensitivity --study grids.toml --data wmt17 --levels segment on seven pairs to English, --plot"""
    from nlgauge.apps.cli import main as nlgauge

    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder, "grids.toml")
        study.write_text(GRIDS, encoding="utf-8")
        words = [
            "study",
            "sensitivity",
            "--study",
            str(study),
            "--data",
            "wmt17",
            "--at",
            data,
            "--levels",
            "segment",
        ]
        pairs = [f"{language}-en" for language in ("cs", "de", "fi", "lv", "ru", "tr", "zh")]
        status = nlgauge([*words, "--langpairs", *pairs, "--plot", str(path), "--output", f"{folder}/out"])
    if status:
        msg = f"nlgauge study sensitivity ended with {status}"
        raise SystemExit(msg)


def draw_costs(path: Path, data: str) -> None:
    """python -m benchmarks.costs --repeats 1 --plot, on an idle machine"""
    from benchmarks.costs import main as costs

    costs(["--repeats", "1", "--plot", str(path)])


def draw_readme(path: Path, data: str) -> None:
    """docs/readme_picture.py on newstest2017 ru-en, first 300 segments"""
    from docs.readme_picture import draw

    draw(path, data)


def draw_report(path: Path, data: str) -> None:
    """nlgauge compare --report on newstest2017 ru-en, first 200 segments, and a browser"""
    from docs.report_picture import draw

    draw(path, Path(data))


def draw_page(path: Path, data: str) -> None:
    """python -m docs.make_screenshot"""
    from docs.make_screenshot import main as screenshot

    arguments, sys.argv = sys.argv, sys.argv[:1]
    try:
        screenshot()
    finally:
        sys.argv = arguments


def draw_ranking(path: Path, data: str) -> None:
    """ranking.png of the tutorial on comparing two systems"""
    _from_tutorial("compare-systems", "ranking.png", path)


def draw_flip(path: Path, data: str) -> None:
    """study-ranks.png of the tutorial on what moves a score"""
    _from_tutorial("what-moves-a-score", "study-ranks.png", path)


def _from_tutorial(page: str, written: str, path: Path) -> None:
    from tests.docs.tutorial_runner import check, reading

    with tempfile.TemporaryDirectory() as folder, reading(Path(folder)) as reader:
        check(IMAGES.parent / "tutorials" / f"{page}.md", reader)
        path.write_bytes(Path(folder, written).read_bytes())


#: Random segments per system; int8 moves no score by more than the tolerance of a curve.
CURVE = ("--target", "en", "--segments", "1000", "--precision", "int8", "--check-precision", "fp32")

META = ("bertscore", "moverscore", "moverscore:n=2", "baryscore", "baryscore:profile=released", "chrf", "bleu")
FACTORS = ("--released", "bertscore", "moverscore", "bleurt", "laser", "--factor", "SEM", "syn", "lex", "mor")

FIGURES = {
    figure.name: figure
    for figure in (
        Figure("metric-bertscore", _pair("bertscore", BOAT, ref=CANOE)),
        Figure("metric-bertscore-cosines", _pair("bertscore", BOAT, ref=CANOE, more=["--plot-kind", "heat-map"])),
        Figure("metric-moverscore", _pair("moverscore:idf=none", BOAT, ref=CANOE)),
        Figure("metric-baryscore", _pair("baryscore:idf=none", BOAT, ref=CANOE)),
        Figure("metric-xmoverscore", _pair("xmoverscore", f"{BOAT}.", source=KANU)),
        Figure("metric-sentsim", made_by=draw_sentsim),
        Figure("metric-ds-focus", _pair("ds-focus", FERRY, ref=STORM)),
        Figure("metric-ds-sent", made_by=draw_sentence_graph),
        Figure("discourse-newsroom", made_by=draw_newsroom, needs=["data"]),
        Figure("tutorial-compare", made_by=draw_ranking),
        Figure("tutorial-flip", made_by=draw_flip),
        Figure("explain-pair", _pair("moverscore", BOAT, ref=CANOE, more=["--side-by-side"])),
        Figure(
            "explain-factors",
            ["explain", "factors", "--data", "factors-wmt", "--at", "DATA", *FACTORS],
            needs=["data"],
        ),
        Figure(
            "wmt17-mpnet",
            ["study", "meta", "--data", "wmt17", "--at", "DATA", "--model", "mpnet", "--metric", *META],
            needs=["data"],
            takes="long",
        ),
        Figure("wmt17-sensitivity", made_by=draw_sensitivity, needs=["data"], takes="long"),
        Figure(
            "agreement",
            ["study", "calibrate", "--data", "wmt17", "wmt18", "--at", "DATA", *CURVE, "--metric", "bertscore"],
            needs=["data"],
            takes="long",
        ),
        Figure("costs", made_by=draw_costs, needs=["a quiet machine"], takes="minutes"),
        Figure("readme", made_by=draw_readme, needs=["data"]),
        Figure("report", made_by=draw_report, needs=["data", "a browser"], takes="a minute"),
        Figure("page", made_by=draw_page, needs=["a browser"], takes="a minute"),
    )
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the figures, or list how to."""
    parser = argparse.ArgumentParser(prog="python -m docs.make_figures", description="Make the figures of the site.")
    parser.add_argument(
        "--only", nargs="+", choices=list(FIGURES), metavar="NAME", help="figures to make (default: all)"
    )
    parser.add_argument(
        "--list", action="store_true", help="show the command, requirements and duration of each figure"
    )
    parser.add_argument(
        "--at",
        default=os.environ.get("NLGAUGE_DATA", ""),
        metavar="FOLDER",
        help="folder of data sets (default: $NLGAUGE_DATA)",
    )
    args = parser.parse_args(arguments)
    chosen = [FIGURES[name] for name in args.only or FIGURES]
    if args.list:
        for figure in chosen:
            print(f"{figure.path.name} ({', '.join([*figure.needs, figure.takes])})\n    {figure.recipe}")
        return 0
    without_data = [figure.name for figure in chosen if "data" in figure.needs and not args.at]
    if without_data:
        print(
            f"{', '.join(without_data)}: folder of data sets is not set: use --at FOLDER or NLGAUGE_DATA",
            file=sys.stderr,
        )
        return 2
    for figure in chosen:
        figure.make(args.at)
        print(f"{figure.path.name}: {figure.path.stat().st_size / 1000:.0f} kB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
