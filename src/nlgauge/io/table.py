r"""Tables as aligned text, TSV, CSV, LaTeX, Markdown or HTML.

    text    caption, header, a rule of dashes, rows, notes; columns two spaces apart, numbers to the right
    TSV     the header and the rows only: exactly one line each, cells between tabs, no quoting
    CSV     the same cells between commas, quoted as in RFC 4180
    LaTeX   a booktabs `tabular` (needs \usepackage{booktabs}); caption above and notes below as % comments
    Markdown  a pipe table, for a pull request; caption above and notes below as paragraphs

Floats have `width` decimals, integers none, None is an empty cell, a `Marked` number is highlighted, a `Probability`
is never written as 0. Control characters in a cell, such as tabs and line ends, are written as escapes (`\t`, `\n`,
`\x1b`), so they cannot break the grid or affect the terminal. Every format ends with a newline.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, TypeGuard

from nlgauge.errors import InputError, RecipeError
from nlgauge.io.escapes import display_width, escape_control, escape_html, escape_latex, escape_markdown, shorten_name

#: Line length at which lists are wrapped.
LINE = 120

#: Minimum width of the last column of a wrapped table.
_LEAST_LAST = 30

#: Columns of the terminal that text tables must fit; None: any width.
_COLUMNS: ContextVar[int | None] = ContextVar("columns", default=None)

#: Letters of a shortened name.
_LEAST_NAME = 12


@contextlib.contextmanager
def fit_columns(columns: int | None) -> Iterator[None]:
    """Make text tables and paragraphs that are written in this context fit a terminal of this width."""
    token = _COLUMNS.set(columns)
    try:
        yield
    finally:
        _COLUMNS.reset(token)


class Marked(NamedTuple):
    """A highlighted number: with a star in text, bold in LaTeX, Markdown and HTML, plain in TSV."""

    value: float


class Formatted(str):
    """A number that is written as it is, aligned like a number."""

    __slots__ = ()


class Probability(NamedTuple):
    """A p-value: below the last decimal it is printed as `<0.0001`, in TSV with an exponent."""

    value: float


Cell: TypeAlias = str | int | float | Marked | Probability | None
HtmlCell: TypeAlias = str | int | float | Marked | None

_ARROWS = {"higher": r" $\uparrow$", "lower": r" $\downarrow$", None: ""}
_OPPOSITE: dict[str | None, str | None] = {"higher": "lower", "lower": "higher", None: None}


class Span(NamedTuple):
    """A heading over neighbouring columns, with the direction in which their numbers are better.

    LaTeX puts it above the columns, text and TSV before the name of each column.
    """

    title: str
    columns: int = 1
    better: Literal["higher", "lower"] | None = None
    other_way: tuple[str, ...] = ()
    """Columns with the opposite direction."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells; `spans`, if any, cover all columns from left to right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str | None = None
    notes: Sequence[str] = ()
    spans: Sequence[Span] = ()
    less_important: Sequence[int] = ()
    """Columns that a narrow terminal leaves out, the least important first."""

    def __post_init__(self) -> None:
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                msg = f"row {index} of the table needs {len(self.columns)} cells, got {len(row)}: {row!r}"
                raise InputError(msg)
            for name, cell in zip(self.columns, row, strict=True):
                number = cell.value if isinstance(cell, Marked | Probability) else cell
                if isinstance(number, float) and not math.isfinite(number):
                    msg = f"row {index}, column {name!r} of the table needs a finite number, got {cell!r}"
                    raise InputError(msg)
        covered = sum(span.columns for span in self.spans)
        if self.spans and covered != len(self.columns):
            msg = f"the table's spans must cover all {len(self.columns)} columns, got {covered}"
            raise InputError(msg)

    def to_text(self, *, width: int = 4, line: int | None = None) -> str:
        """Align cells for a terminal, with wide and combining characters.

        With `line`, long texts in the last column and in notes are wrapped at this length. In `fit_columns` the
        table fits the terminal: a table that ends with a number leaves out columns and shortens names.

        >>> print(Table(["system", "f1"], [["a", 0.5], ["漢字", -1.0]]).to_text(width=2), end="")
        system     f1
        ------  -----
        a        0.50
        漢字    -1.00
        """
        columns = _COLUMNS.get()
        if columns is not None:
            line = min(line or columns, columns)
            if self.rows and (self.less_important or self._numeric()[-1]):
                return self._fitted(columns, width)._as_text(width, line, wrap_cells=False)
        return self._as_text(width, line)

    def _fitted(self, columns: int, width: int) -> Table:
        """The table with as many columns as the terminal has room for, and a note that names the others."""
        sizes = [max(map(display_width, texts)) for texts in zip(*self._text_cells(width), strict=True)]
        texts = [i for i, right in enumerate(self._numeric()) if not right]
        left_out: list[int] = []
        shortened = False

        def excess() -> int:
            shown = [size for i, size in enumerate(sizes) if i not in left_out]
            return sum(shown) + 2 * (len(shown) - 1) - columns

        for i in self.less_important:
            if excess() > 0:
                left_out.append(i)
        while excess() > 0 and (long := [i for i in texts if sizes[i] > _LEAST_NAME and i not in left_out]):
            longest = max(long, key=lambda i: sizes[i])
            sizes[longest] = max(_LEAST_NAME, sizes[longest] - excess())
            shortened = True
        for i in reversed(range(1, len(sizes))):
            if excess() > 0 and i not in left_out and i not in texts:
                left_out.append(i)
        if not left_out and not shortened:
            return self
        shown = [i for i in range(len(sizes)) if i not in left_out]
        labels = self._labels()
        names = [*dict.fromkeys(labels[i] for i in sorted(left_out))]
        notes = [f"not shown at this width: {', '.join(names)}"] if names else []
        notes += ["some names are shortened"] if shortened else []
        return Table(
            [shorten_name(labels[i], sizes[i]) if i in texts else labels[i] for i in shown],
            [[_shortened(row[i], sizes[i]) for i in shown] for row in self.rows],
            self.caption,
            [*self.notes, "; ".join([*notes, "use a wider terminal (COLUMNS) or another --format"])],
        )

    def _text_cells(self, width: int) -> list[list[str]]:
        """Header and rows as text; where a column has a star, the other cells have a space."""
        starred = [any(isinstance(cell, Marked) for cell in column) for column in zip(*self.rows, strict=True)]
        starred = starred or [False] * len(self.columns)
        grid = [self._labels(), *self._format_cells(width)]
        cells = [[escape_control(cell) for cell in row] for row in grid]
        for row, texts in zip(self.rows, cells[1:], strict=True):
            for i, cell in enumerate(row):
                texts[i] += "*" if isinstance(cell, Marked) else " " * starred[i]
        return cells

    def _as_text(self, width: int, line: int | None, *, wrap_cells: bool = True) -> str:
        cells = self._text_cells(width)
        widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
        notes = list(map(escape_control, self.notes))
        if line is not None:
            if wrap_cells:
                widths[-1] = min(widths[-1], max(_LEAST_LAST, line - sum(widths[:-1]) - 2 * (len(widths) - 1)))
                cells = [part for row in cells for part in _wrap_row(row, widths[-1])]
            notes = [part for note in notes for part in _wrap(note, line, indent="  ")]
        cells.insert(1, ["-" * size for size in widths])
        layout = list(zip(widths, self._numeric(), strict=True))
        lines = [_align(row, layout) for row in cells]
        caption = [] if self.caption is None else [escape_control(self.caption)]
        return _join_lines([*caption, *lines, *notes])

    def to_tsv(self, *, width: int = 4) -> str:
        """A header line and a line per row, between tabs."""
        return _join_lines(["\t".join(row) for row in self._plain_cells(width)])

    def to_csv(self, *, width: int = 4) -> str:
        """The cells of `to_tsv` between commas.

        >>> Table(["system", "f1"], [["a, b", 0.5]]).to_csv(width=1)
        'system,f1\\n"a, b",0.5\\n'
        """
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self._plain_cells(width))
        return text.getvalue()

    def to_html(self, *, width: int = 4) -> str:
        """The table as HTML for notebooks; highlighted numbers are bold."""
        rows = [[cell.value if isinstance(cell, Probability) else cell for cell in row] for row in self.rows]
        return html_table(self._labels(), rows, caption=self.caption or "", notes=self.notes, width=width)

    def _plain_cells(self, width: int) -> list[list[str]]:
        """Header and rows for programs, with p-values as numbers."""
        numbers = [[f"{cell.value:.3g}" if _too_small(cell, width) else cell for cell in row] for row in self.rows]
        grid = [self._labels(), *([_format_cell(cell, width) for cell in row] for row in numbers)]
        return [[escape_control(cell) for cell in row] for row in grid]

    def to_latex(self, *, width: int = 4) -> str:
        """A booktabs tabular with escaped cells."""
        lines = [] if self.caption is None else [f"% {escape_control(self.caption)}"]
        layout = "".join("r" if right else "l" for right in self._numeric())
        lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
        if self.spans:
            lines += self._latex_spans()
        lines += [_latex_row(self._latex_columns()), r"\midrule"]
        lines += map(_latex_row, self._write_cells(width, _latex_cell))
        lines += [r"\bottomrule", r"\end{tabular}"]
        return _join_lines([*lines, *(f"% {escape_control(note)}" for note in self.notes)])

    def to_markdown(self, *, width: int = 4) -> str:
        r"""A pipe table with escaped cells.

        >>> print(Table(["system", "f1"], [["a|b", 0.5], ["*", Marked(1.0)]]).to_markdown(width=1), end="")
        | system | f1 |
        |---|--:|
        | a\|b | 0.5 |
        | \* | **1.0** |
        """
        lines = [] if self.caption is None else [escape_markdown(self.caption), ""]
        lines.append(_markdown_row(map(escape_markdown, self._labels())))
        lines.append(f"|{'|'.join('--:' if right else '---' for right in self._numeric())}|")
        lines += map(_markdown_row, self._write_cells(width, _markdown_cell))
        return _join_lines([*lines, *(part for note in self.notes for part in ("", escape_markdown(note)))])

    def write(self, format: str, *, width: int = 4, line: int | None = None) -> str:  # noqa: A002 - as the flag is called
        """Write the table in a format; `line` applies to text (`to_text`).

        >>> Table(["n"], [[1]]).write("tsv")
        'n\\n1\\n'
        """
        if format == "text":
            return self.to_text(width=width, line=line)
        writers = {
            "tsv": self.to_tsv,
            "csv": self.to_csv,
            "latex": self.to_latex,
            "markdown": self.to_markdown,
            "html": self.to_html,
        }
        if format not in writers:
            msg = f"format must be one of text, json, {', '.join(writers)}, got {format!r}"
            raise RecipeError(msg)
        return writers[format](width=width)

    def _latex_spans(self) -> list[str]:
        heads: list[str] = []
        rules: list[str] = []
        first = 1
        for span in self.spans:
            title = escape_latex(span.title) + _ARROWS[span.better]
            last = first + span.columns - 1
            if title:
                heads.append(rf"\multicolumn{{{span.columns}}}{{c}}{{{title}}}")
                rules.append(rf"\cmidrule(lr){{{first}-{last}}}")
            else:
                heads += [""] * span.columns
            first = last + 1
        return [_latex_row(heads), *([" ".join(rules)] if rules else [])]

    def _latex_columns(self) -> list[str]:
        """Names of columns, with an arrow if the direction is not that of the heading."""
        return [
            escape_latex(name) + (_ARROWS[_OPPOSITE[span.better]] if name in span.other_way else "")
            for span, name in self._spanned()
        ]

    def _labels(self) -> list[str]:
        return [f"{span.title} {name}" if span.title else name for span, name in self._spanned()]

    def _spanned(self) -> Iterator[tuple[Span, str]]:
        """Names of columns with their headings."""
        spans = [span for span in self.spans for _ in range(span.columns)] or [Span("")] * len(self.columns)
        return zip(spans, self.columns, strict=True)

    def _numeric(self) -> list[bool]:
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.columns)
        return [
            any(cell is not None for cell in column)
            and all(isinstance(cell, Formatted) or not isinstance(cell, str) for cell in column)
            for column in columns
        ]

    def _format_cells(self, width: int) -> list[list[str]]:
        if width < 0:
            msg = f"width (number of decimals) must be at least 0, got {width!r}"
            raise RecipeError(msg)
        return [[_format_cell(cell, width) for cell in row] for row in self.rows]

    def _write_cells(self, width: int, write: Callable[[Cell, str], str]) -> list[list[str]]:
        """Cells in the syntax of a format."""
        rows = zip(self.rows, self._format_cells(width), strict=True)
        return [[write(cell, text) for cell, text in zip(row, texts, strict=True)] for row, texts in rows]


class Paragraphs(Table):
    """Sentences before or after tables: lines of text, comments in LaTeX, paragraphs in Markdown and HTML.

    >>> Paragraphs([": a_b is better."], lead="gate passed").write("markdown")
    '**gate passed**: a\\\\_b is better.\\n'
    """

    def __init__(self, lines: Sequence[str], *, lead: str = "") -> None:
        """`lead` starts the first line, in bold in Markdown."""
        super().__init__((), (), lead, lines)

    def write(self, format: str, *, width: int = 4, line: int | None = None) -> str:  # noqa: A002 - as Table
        """Write the paragraphs in a format."""
        lead, texts = self.caption or "", list(self.notes)
        if format == "markdown":
            escaped = list(map(escape_markdown, texts))
            escaped[0] = f"**{escape_markdown(lead)}**{escaped[0]}" if lead else escaped[0]
            return "\n".join(f"{text}\n" for text in escaped)
        texts[0] = lead + texts[0]
        if format == "html":
            return "".join(f"<p>{escape_html(text)}</p>" for text in texts)
        texts = list(map(escape_control, texts))
        columns = _COLUMNS.get()
        if format == "text" and columns is not None:
            texts = [part for text in texts for part in _wrap(text, columns, indent="  ")]
        return _join_lines([f"{'% ' * (format == 'latex')}{text}" for text in texts])


def html_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[HtmlCell]],
    *,
    caption: str = "",
    notes: Iterable[str] = (),
    width: int = 4,
) -> str:
    """Columns, rows and notes as HTML; all text is escaped, floats have `width` decimals, None and nan are empty.

    Text is never rendered as a formula, even between two dollar signs.

    >>> html_table(["<a>"], [[0.5]], width=1)
    '<table><thead><tr><th>&lt;a&gt;</th></tr></thead><tbody><tr><td>0.5</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape_html(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_html_cell(cell, width)}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{escape_html(caption)}</caption>" if caption else ""
    table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return table + "".join(f"<p><small>{escape_html(note)}</small></p>" for note in notes)


def _html_cell(cell: HtmlCell, width: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, Marked):
        return f"<b>{_html_cell(cell.value, width)}</b>"
    return f"{cell:.{width}f}" if isinstance(cell, float) else escape_html(str(cell))


def _shortened(cell: Cell, size: int) -> Cell:
    return (
        shorten_name(escape_control(cell), size)
        if isinstance(cell, str) and not isinstance(cell, Formatted)
        else cell
    )


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell, text: str) -> str:
    if isinstance(cell, str):
        return escape_latex(text)
    number = text.replace("-", "$-$").replace("<", "$<$")  # a minus sign, not a hyphen
    return rf"\textbf{{{number}}}" if isinstance(cell, Marked) else number


def _markdown_cell(cell: Cell, text: str) -> str:
    return f"**{text}**" if isinstance(cell, Marked) else escape_markdown(text)


def _format_cell(cell: Cell, width: int) -> str:
    if cell is None:
        return ""
    if _too_small(cell, width):
        return f"<{10**-width:.{width}f}"
    if isinstance(cell, Marked | Probability):
        return _format_cell(cell.value, width)
    if not isinstance(cell, float):
        return str(cell)
    text = f"{cell:.{width}f}"
    return text if float(text) else text.removeprefix("-")  # never "-0.0000"


def _too_small(cell: Cell, width: int) -> TypeGuard[Probability]:
    """Whether a cell is a p-value that would be printed as 0."""
    return isinstance(cell, Probability) and cell.value < 10.0**-width


def _align(cells: Sequence[str], layout: Sequence[tuple[int, bool]]) -> str:
    """A line of a table; the layout has the size of each column, and whether it is right-aligned."""
    texts = []
    for cell, (size, right) in zip(cells, layout, strict=True):
        space = " " * (size - display_width(cell))
        texts.append(space + cell if right else cell + space)
    return "  ".join(texts).rstrip(" ")


def _wrap_row(row: list[str], size: int) -> list[list[str]]:
    """The row, and more rows for the rest of its last cell."""
    first, *rest = _wrap(row[-1], size)
    return [[*row[:-1], first], *([*[""] * (len(row) - 1), part] for part in rest)]


def _wrap(text: str, size: int, *, indent: str = "") -> list[str]:
    if len(text.split()) <= 2:  # such as "signature: ...", which stays in one line to be copied
        return [text]
    size = max(size, len(indent) + 1)
    parts = textwrap.wrap(text, size, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return parts or [text]


def _join_lines(lines: Sequence[str]) -> str:
    return "".join([f"{line}\n" for line in lines])
