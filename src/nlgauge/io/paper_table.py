r"""A table of systems and metrics for a paper: LaTeX, Markdown, HTML and text.

LaTeX needs only \usepackage{booktabs}. The table is set in one column of a two-column paper, in a smaller size where
it is too wide for that, and over both columns (`table*`) where it is still too wide.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from nlgauge.errors import RecipeError
from nlgauge.io.escapes import escape_html, escape_latex, escape_markdown
from nlgauge.io.numbers import format_count
from nlgauge.io.table import Formatted, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Formats of a table for a paper.
PAPER_FORMATS = ("text", "latex", "markdown", "html")


class PaperCell(NamedTuple):
    """The score of a system under a metric."""

    score: str
    """The number as it is printed."""
    best: bool = False
    level: bool = False
    """Not significantly different from the best."""


class PaperColumn(NamedTuple):
    """A metric."""

    title: str
    higher_is_better: bool
    cells: Sequence[PaperCell]


#: Width of a column and of the text of a paper in the style of ACL, in points.
_COLUMN, _PAGE = 219.0, 455.0


#: Letters of a field of a signature that may itself be broken.
_LONG_FIELD = 20


class _Layout(NamedTuple):
    environment: str
    room: float
    size: str
    """LaTeX command of the type size."""
    points: float
    """Points of that size in a paper set in 11 points."""
    separation: float
    """Points to either side of a cell."""


_LAYOUTS = [
    _Layout(environment, room, size, points, separation)
    for environment, room in (("table", _COLUMN), ("table*", _PAGE))
    for size, points, separation in (("", 10.95, 6.0), (r"\small", 10.0, 4.0), (r"\footnotesize", 9.0, 3.0))
]
#: Widths of bold letters in ems, a little wider than those of Computer Modern; of other letters by their kind.
_EMS = dict.fromkeys("ijltfrI.,:;!|()[]-' ", 0.36) | {"m": 0.96, "w": 0.84, "M": 1.1, "W": 1.2, "†": 0.4}


@dataclass(frozen=True)
class PaperTable:
    """Systems as rows, metrics as columns; the best score of a column is bold, a dagger marks its equals."""

    systems: Sequence[str]
    metrics: Sequence[PaperColumn]
    caption: str
    """What the scores are."""
    marks: str = ""
    """The test behind the marks; empty where nothing is marked."""
    signatures: Sequence[str] = ()
    label: str = "tab:systems"

    def write(self, form: str) -> str:
        """The table in a format by its name."""
        writers = {
            "text": self.to_text,
            "latex": self.to_latex,
            "markdown": self.to_markdown,
            "html": self.to_html,
        }
        if form not in writers:
            msg = f"a table for a paper is written as {', '.join(writers)}, got {form!r}"
            raise RecipeError(msg)
        return writers[form]()

    def to_latex(self) -> str:
        """A booktabs table with caption and label."""
        layout = next((layout for layout in _LAYOUTS if self._points(layout) <= layout.room), _LAYOUTS[-1])
        names = "l"
        if (excess := self._points(layout) - layout.room) > 0:
            names = rf"p{{{max(60.0, self._name_points(layout) - excess):.0f}pt}}"
        size = [layout.size, rf"\setlength{{\tabcolsep}}{{{layout.separation:g}pt}}"] if layout.size else []
        sentences = [escape_latex(self.caption), *self._legend("in bold", r"$\dagger$", _latex_sentence)]
        if self.signatures:
            sentences.append(f"{self._signature_word}: {', '.join(map(_breakable, self.signatures))}.")
        caption = " ".join(sentences)
        arrows = ["" if metric.higher_is_better else r" $\downarrow$" for metric in self.metrics]
        head = [escape_latex(metric.title) + arrow for metric, arrow in zip(self.metrics, arrows, strict=True)]
        rows = [
            " & ".join([self._latex_name(name, wrapped=names != "l"), *cells]) + r" \\"
            for name, *cells in zip(self.systems, *map(_latex_column, self.metrics), strict=True)
        ]
        lines = [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{{layout.environment}}}[t]",
            r"\centering",
            *size,
            rf"\begin{{tabular}}{{@{{}}{names}{'r' * len(self.metrics)}@{{}}}}",
            r"\toprule",
            " & ".join(["System", *head]) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption[{escape_latex(self.caption)}]{{\raggedright {caption}}}",
            rf"\label{{{self.label}}}",
            rf"\end{{{layout.environment}}}",
        ]
        return "\n".join(lines) + "\n"

    def to_markdown(self) -> str:
        """A pipe table, and the caption as a paragraph with signatures in code spans."""
        rule = "|".join(["---", *["--:"] * len(self.metrics)])
        rows = [
            [escape_markdown(name), *cells]
            for name, *cells in zip(self.systems, *(_marked(m, "**{}**", "{}†") for m in self.metrics), strict=True)
        ]
        head = ["System", *map(escape_markdown, self._titles())]
        lines = [f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)]
        sentences = [escape_markdown(self.caption), *self._legend("in bold", "†", escape_markdown)]
        if self.signatures:
            sentences.append(f"{self._signature_word}: {', '.join(map(code_span, self.signatures))}.")
        return "\n".join([*lines, "", " ".join(sentences)]) + "\n"

    def to_html(self) -> str:
        """A `table` element with a caption; it needs no style sheet."""
        columns = [_marked(metric, "<b>{}</b>", "{}<sup>†</sup>") for metric in self.metrics]
        head = "".join(f'<th scope="col">{escape_html(title)}</th>' for title in ["System", *self._titles()])
        rows = [
            f'<tr><th scope="row">{escape_html(name)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
            for name, *cells in zip(self.systems, *columns, strict=True)
        ]
        sentences = [escape_html(self.caption), *self._legend("in bold", "†", escape_html)]
        if self.signatures:
            codes = ", ".join(f"<code>{escape_html(text)}</code>" for text in self.signatures)
            sentences.append(f"{self._signature_word}: {codes}.")
        caption = f"<caption>{' '.join(sentences)}</caption>"
        lines = ["<table>", caption, f"<thead><tr>{head}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>"]
        return "\n".join(lines) + "\n"

    def to_text(self) -> str:
        """Aligned for a terminal; bold is written as in Markdown."""
        columns = [_marked(metric, "**{}**", "{}† ", plain="{}  ") for metric in self.metrics]
        rows = [[name, *map(Formatted, cells)] for name, *cells in zip(self.systems, *columns, strict=True)]
        notes = [" ".join([self.caption, *self._legend("in bold", "†", str)])]
        notes += [f"Signature: {signature}" for signature in self.signatures]
        return Table(["System", *self._titles()], rows, notes=notes).to_text()

    @property
    def _signature_word(self) -> str:
        return "Signature" if len(self.signatures) == 1 else "Signatures"

    def _legend(self, bold: str, dagger: str, escape: Callable[[str], str]) -> list[str]:
        """What bold and dagger mean."""
        if not self.marks:
            return []
        marks = escape(self.marks)
        sentence = f"Best {bold}"
        if any(cell.level for metric in self.metrics for cell in metric.cells):
            return [f"{sentence}; {dagger}: not significantly different from the best ({marks})."]
        return [f"{sentence}; significantly better than all others ({marks})."]

    def _titles(self) -> list[str]:
        return [metric.title if metric.higher_is_better else f"{metric.title} ↓" for metric in self.metrics]

    def _latex_name(self, name: str, *, wrapped: bool) -> str:
        text = escape_latex(name)
        return r"\raggedright " + re.sub(r"((?:\\_|[-./])+)", r"\1\\allowbreak{}", text) if wrapped else text

    def _points(self, layout: _Layout) -> float:
        """Estimated width of the table."""
        columns = [
            max(_ems(title), *(_ems(cell.score) + _EMS["†"] for cell in metric.cells))
            for title, metric in zip(self._titles(), self.metrics, strict=True)
        ]
        return sum(columns) * layout.points + self._name_points(layout) + 2 * layout.separation * len(columns)

    def _name_points(self, layout: _Layout) -> float:
        return max(map(_ems, ["System", *self.systems])) * layout.points


def _ems(text: str) -> float:
    return sum(_EMS.get(letter, 0.82 if letter.isupper() else 0.575 if letter < "\u0500" else 1.0) for letter in text)


def _marked(metric: PaperColumn, best: str, level: str, plain: str = "{}") -> list[str]:
    return [(best if cell.best else level if cell.level else plain).format(cell.score) for cell in metric.cells]


def _latex_column(metric: PaperColumn) -> list[str]:
    """Cells whose numbers are aligned, with or without a dagger."""
    dagger = r"$^{\dagger}$"
    space = rf"\phantom{{{dagger}}}" if any(cell.level for cell in metric.cells) else ""
    texts = []
    for cell in metric.cells:
        number = cell.score.replace("-", "$-$")
        number = rf"\textbf{{{number}}}" if cell.best else number
        texts.append(number + (dagger if cell.level else space))
    return texts


def _breakable(signature: str) -> str:
    """A signature in typewriter letters, with line breaks allowed between its fields and in long ones."""
    pieces = []
    for field in re.split(r"(?<=[|])", signature):
        pieces += re.split(r"(?<=[:,.+=_-])", field) if len(field) > _LONG_FIELD else [field]
    return r"\texttt{" + r"\allowbreak{}".join(map(escape_latex, filter(None, pieces))) + "}"


def _latex_sentence(text: str) -> str:
    """A sentence in LaTeX, with its significance level as a formula."""
    return re.sub(r"p \\textless\{\} ([\d.e-]+)", r"$p < \1$", escape_latex(text))


def code_span(text: str) -> str:
    """The text as code in Markdown, outside of tables.

    >>> code_span("chrf|chars:6"), code_span("a`b")
    ('`chrf|chars:6`', '`` a`b ``')
    """
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


class PaperKeywords(TypedDict, total=False):
    """Options of a table for a paper."""

    percent: bool
    """Multiply scores between -1 and 1 by 100, so that a BERTScore of 0.912 is 91.2."""
    decimals: int | None
    """Decimals of all scores; default: one where scores go to 100, else three."""
    caption: str | None
    """First sentence of the caption."""
    label: str
    """LaTeX label."""


class HasPaperTable(ABC):
    """Base of results of several systems, which can be printed in a paper."""

    @abstractmethod
    def paper_table(self, **options: Unpack[PaperKeywords]) -> PaperTable:
        """The table for a paper: systems as rows, metrics as columns."""

    def to_latex(self, **options: Unpack[PaperKeywords]) -> str:
        """The table for a paper as LaTeX (booktabs); `options` are those of `PaperKeywords`."""
        return self.paper_table(**options).to_latex()

    def to_markdown(self, **options: Unpack[PaperKeywords]) -> str:
        """The table for a paper as Markdown; `options` are those of `PaperKeywords`."""
        return self.paper_table(**options).to_markdown()

    def to_html(self, **options: Unpack[PaperKeywords]) -> str:
        """The table for a paper as HTML; `options` are those of `PaperKeywords`."""
        return self.paper_table(**options).to_html()


class MetricScores(NamedTuple):
    """The scores of all systems by a metric, from which a column is made."""

    title: str
    higher_is_better: bool
    scores: Sequence[float | None]
    decimals: int | None
    """Decimals that the metric declares; None: one where scores go to 100, else three."""
    signature: str = ""
    """The short signature."""
    best: Sequence[bool] = ()
    level: Sequence[bool] = ()
    """Whether a system is not significantly different from the best."""


def paper_table(
    systems: Sequence[str],
    metrics: Sequence[MetricScores],
    segments: str,
    *,
    marks: str = "",
    **options: Unpack[PaperKeywords],
) -> PaperTable:
    """A table for a paper from scores; `segments` is their number in words, `marks` the test behind the marks."""
    columns, multiplied = [], []
    for metric in metrics:
        percent, decimals = options.get("percent", False), options.get("decimals")
        texts, times_100 = paper_scores(metric.scores, percent=percent, decimals=decimals, default=metric.decimals)
        multiplied += [metric.title] * times_100
        none = [False] * len(texts)
        cells = map(PaperCell, texts, metric.best or none, metric.level or none)
        columns.append(PaperColumn(metric.title, metric.higher_is_better, list(cells)))
    caption = options.get("caption")
    if caption is None:
        caption = f"Scores of {format_count(len(systems), 'system')} on {segments}"
        caption += f", {' and '.join(multiplied)} times 100." if multiplied else "."
    signatures = list(dict.fromkeys(metric.signature for metric in metrics if metric.signature))
    return PaperTable(systems, columns, caption, marks, signatures, options.get("label", PaperTable.label))


def paper_scores(
    scores: Iterable[float | None], *, percent: bool, decimals: int | None, default: int | None
) -> tuple[list[str], bool]:
    """Scores as a paper prints them, and whether they were multiplied by 100.

    >>> paper_scores([0.9123, None], percent=True, decimals=None, default=3)
    (['91.2', ''], True)
    """
    values = list(scores)
    most = max((abs(value) for value in values if value is not None), default=0.0)
    default = (1 if most >= 10 else 3) if default is None else default
    times_100 = percent and most <= 1 and default >= 3
    places = (1 if times_100 else default) if decimals is None else decimals
    factor = 100 if times_100 else 1
    texts = ["" if value is None else f"{factor * value:.{places}f}" for value in values]
    return [text.removeprefix("-") if text and not float(text) else text for text in texts], times_100
