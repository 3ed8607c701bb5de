r"""A small table that writes itself as aligned text, TSV, CSV, LaTeX, Markdown or HTML; and numbers in sentences.

    text    caption, header, a rule of dashes, rows, notes; columns two spaces apart, numbers to the right
    TSV     the header and the rows only: exactly one line each, cells between tabs, no quoting
    CSV     the same cells between commas, quoted where RFC 4180 asks for it
    LaTeX   a booktabs `tabular` (needs \usepackage{booktabs}); caption above and notes below as % comments
    Markdown  a pipe table, for a pull request; caption above and notes below as paragraphs

Floats have `width` decimals, integers none, None is an empty cell, a `Marked` number stands out, a `Probability` is
never written as 0. A tab, a line end or another control character in a cell is written as an escape (`\t`, `\n`,
`\x1b`), so that no cell breaks the grid or reaches the terminal; all other text is written as it is. Every form ends
with a newline.

Numbers in sentences have decimals by the size of a metric's scores, true minus signs and short p-values.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, TypeGuard

from nlgauge.errors import InputError, RecipeError


def counted(count: int, noun: str) -> str:
    """So many of them.

    >>> counted(1, "segment"), counted(1200, "segment")
    ('1 segment', '1,200 segments')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def decimals_for(scores: Iterable[float]) -> int:
    """Decimals of a metric: 4 for scores around 1, 2 where they go to 100.

    >>> decimals_for([0.91, 0.88]), decimals_for([34.2])
    (4, 2)
    """
    return 2 if max((abs(score) for score in scores), default=0.0) >= 10 else 4


def number(value: float | None, decimals: int) -> str:
    """The number with a minus sign that is as wide as a plus; an empty text for None.

    >>> number(-0.5, 2), number(-0.001, 2), number(None, 2)
    ('−0.50', '0.00', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "−")


def signed(value: float, decimals: int) -> str:
    """The number with its sign, for differences.

    >>> signed(0.05, 2), signed(-0.05, 2), signed(0.0, 2)
    ('+0.05', '−0.05', '0.00')
    """
    text = number(value, decimals)
    return f"+{text}" if value > 0 and float(text) else text


def p_text(p: float) -> str:
    """A p-value as it stands in a sentence.

    >>> p_text(0.0001), p_text(0.0123), p_text(1.0)
    ('p < 0.001', 'p = 0.012', 'p = 1.000')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def level_text(level: float) -> str:
    """The level of an interval in per cent.

    >>> level_text(0.95), level_text(0.995)
    ('95 %', '99.5 %')
    """
    return f"{100 * level:g} %"


def deviation_notes(texts: Iterable[str]) -> list[str]:
    """Where such a number is explained; nothing where the texts have none.

    >>> deviation_notes(["435 rows of lv-en (D8.12)", "aclanthology.org/D19-1053"])
    ['numbers such as D8.12 are rows of docs/deviations.md']
    """
    for text in texts:
        if match := re.search(r"\bD\d+(\.\d+)?(?![\w-])", text):
            return [f"numbers such as {match[0]} are rows of docs/deviations.md"]
    return []


#: Letters of a line that a list for people is wrapped at.
LINE = 120

#: What the last column of a wrapped table has at least, however wide the others are.
_LEAST_LAST = 30


class Marked(NamedTuple):
    """A number that stands out: with a star in text, bold in LaTeX, as it is in TSV."""

    value: float


class Probability(NamedTuple):
    """A p value: never 0 for people, but less than the decimals show; in TSV a number with an exponent."""

    value: float


Cell: TypeAlias = str | int | float | Marked | Probability | None
HtmlCell: TypeAlias = str | int | float | None

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",  # these three print as other signs in LaTeX's default font encoding
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{char: "\\" + char for char in "&%$#_{}"},
    }
)
#: What formulas begin and end with where a notebook looks for them: $...$, \(...\), \begin{...}.
_FORMULA = re.compile(r"[$\\]")
_ARROWS = {"higher": r" $\uparrow$", "lower": r" $\downarrow$", None: ""}
_OPPOSITE: dict[str | None, str | None] = {"higher": "lower", "lower": "higher", None: None}


class Span(NamedTuple):
    """A heading over neighbouring columns, with the direction in which their numbers are better.

    LaTeX sets it above the columns; text and TSV put it in front of each column's name.
    """

    title: str
    columns: int = 1
    better: Literal["higher", "lower"] | None = None
    other_way: tuple[str, ...] = ()
    """Columns of it whose numbers are better the other way round."""


@dataclass(frozen=True)
class Table:
    """Named columns and rows of cells; `spans`, when given, cover all columns from left to right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str | None = None
    notes: Sequence[str] = ()
    spans: Sequence[Span] = ()

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
        """Aligned for a terminal, also where letters are two cells wide or combine.

        With `line`, texts of the last column go on below, and so do notes, where a line would be longer.

        >>> print(Table(["system", "f1"], [["a", 0.5], ["漢字", -1.0]]).to_text(width=2), end="")
        system     f1
        ------  -----
        a        0.50
        漢字    -1.00
        """
        # A star hangs over: where a column has one, the other cells have a space there.
        starred = [any(isinstance(cell, Marked) for cell in column) for column in zip(*self.rows, strict=True)]
        starred = starred or [False] * len(self.columns)
        grid = [self._labels(), *self._formatted(width)]
        cells = [[visible(cell) for cell in row] for row in grid]
        for row, texts in zip(self.rows, cells[1:], strict=True):
            for i, cell in enumerate(row):
                texts[i] += "*" if isinstance(cell, Marked) else " " * starred[i]
        widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
        notes = list(map(visible, self.notes))
        if line is not None:
            widths[-1] = min(widths[-1], max(_LEAST_LAST, line - sum(widths[:-1]) - 2 * (len(widths) - 1)))
            cells = [part for row in cells for part in _wrapped_row(row, widths[-1])]
            notes = [part for note in notes for part in _wrapped(note, line, indent="  ")]
        cells.insert(1, ["-" * size for size in widths])
        layout = list(zip(widths, self._numeric(), strict=True))
        lines = [_aligned(row, layout) for row in cells]
        caption = [] if self.caption is None else [visible(self.caption)]
        return _joined([*caption, *lines, *notes])

    def to_tsv(self, *, width: int = 4) -> str:
        """One header line, then one line per row."""
        return _joined(["\t".join(row) for row in self._plain_cells(width)])

    def to_csv(self, *, width: int = 4) -> str:
        """The cells of `to_tsv` between commas.

        >>> Table(["system", "f1"], [["a, b", 0.5]]).to_csv(width=1)
        'system,f1\\n"a, b",0.5\\n'
        """
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self._plain_cells(width))
        return text.getvalue()

    def to_html(self, *, width: int = 4) -> str:
        """For a notebook."""
        rows = [[cell.value if isinstance(cell, Marked | Probability) else cell for cell in row] for row in self.rows]
        return html_table(self._labels(), rows, caption=self.caption or "", notes=self.notes, width=width)

    def _plain_cells(self, width: int) -> list[list[str]]:
        """Header and rows for programs, which want p values as numbers."""
        numbers = [[f"{cell.value:.3g}" if _too_small(cell, width) else cell for cell in row] for row in self.rows]
        grid = [self._labels(), *([_formatted(cell, width) for cell in row] for row in numbers)]
        return [[visible(cell) for cell in row] for row in grid]

    def to_latex(self, *, width: int = 4) -> str:
        """A booktabs tabular with the text of all cells escaped."""
        lines = [] if self.caption is None else [f"% {visible(self.caption)}"]
        layout = "".join("r" if right else "l" for right in self._numeric())
        lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
        if self.spans:
            lines += self._latex_spans()
        lines += [_latex_row(self._latex_columns()), r"\midrule"]
        lines += map(_latex_row, self._written(width, _latex_cell))
        lines += [r"\bottomrule", r"\end{tabular}"]
        return _joined([*lines, *(f"% {visible(note)}" for note in self.notes)])

    def to_markdown(self, *, width: int = 4) -> str:
        r"""A pipe table with the text of all cells escaped.

        >>> print(Table(["system", "f1"], [["a|b", 0.5], ["*", Marked(1.0)]]).to_markdown(width=1), end="")
        | system | f1 |
        |---|--:|
        | a\|b | 0.5 |
        | \* | **1.0** |
        """
        lines = [] if self.caption is None else [escape_markdown(self.caption), ""]
        lines.append(_markdown_row(map(escape_markdown, self._labels())))
        lines.append(f"|{'|'.join('--:' if right else '---' for right in self._numeric())}|")
        lines += map(_markdown_row, self._written(width, _markdown_cell))
        return _joined([*lines, *(part for note in self.notes for part in ("", escape_markdown(note)))])

    def write(self, format: str, *, width: int = 4, line: int | None = None) -> str:  # noqa: A002 - as the flag is called
        """In a format by its name; `line` is for text (`to_text`).

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
        """Names of columns, each with an arrow where its heading's arrow would be wrong for it."""
        return [
            escape_latex(name) + (_ARROWS[_OPPOSITE[span.better]] if name in span.other_way else "")
            for span, name in self._spanned()
        ]

    def _labels(self) -> list[str]:
        return [f"{span.title} {name}" if span.title else name for span, name in self._spanned()]

    def _spanned(self) -> Iterator[tuple[Span, str]]:
        """Names of columns with the heading above each."""
        spans = [span for span in self.spans for _ in range(span.columns)] or [Span("")] * len(self.columns)
        return zip(spans, self.columns, strict=True)

    def _numeric(self) -> list[bool]:
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.columns)
        return [
            any(cell is not None for cell in column) and not any(isinstance(cell, str) for cell in column)
            for column in columns
        ]

    def _formatted(self, width: int) -> list[list[str]]:
        if width < 0:
            msg = f"width is the number of decimals and cannot be negative, got {width!r}"
            raise RecipeError(msg)
        return [[_formatted(cell, width) for cell in row] for row in self.rows]

    def _written(self, width: int, write: Callable[[Cell, str], str]) -> list[list[str]]:
        """Cells in the syntax of a format, from themselves and their texts."""
        rows = zip(self.rows, self._formatted(width), strict=True)
        return [[write(cell, text) for cell, text in zip(row, texts, strict=True)] for row, texts in rows]


class Paragraphs(Table):
    """Sentences before or after tables: lines of text, comments in LaTeX, paragraphs in Markdown and HTML.

    >>> Paragraphs([": a_b is better."], lead="gate passed").write("markdown")
    '**gate passed**: a\\\\_b is better.\\n'
    """

    def __init__(self, lines: Sequence[str], *, lead: str = "") -> None:
        """`lead` are the first words of the first line, which are bold in Markdown."""
        super().__init__((), (), lead, lines)

    def write(self, format: str, *, width: int = 4, line: int | None = None) -> str:  # noqa: A002 - as Table
        """In a format by its name; numbers and lines are as they are."""
        lead, texts = self.caption or "", list(self.notes)
        if format == "markdown":
            escaped = list(map(escape_markdown, texts))
            escaped[0] = f"**{escape_markdown(lead)}**{escaped[0]}" if lead else escaped[0]
            return "\n".join(f"{text}\n" for text in escaped)
        texts[0] = lead + texts[0]
        if format == "html":
            return "".join(f"<p>{escape_html(text)}</p>" for text in texts)
        return _joined([f"{'% ' * (format == 'latex')}{visible(text)}" for text in texts])


def html_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[HtmlCell]],
    *,
    caption: str = "",
    notes: Iterable[str] = (),
    width: int = 4,
) -> str:
    """Columns, rows and notes as HTML; all text is escaped, floats have `width` decimals, None and nan are empty.

    Texts are shown as they are: a notebook makes no formula of what stands between two prices in dollars.

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
    return f"{cell:.{width}f}" if isinstance(cell, float) else escape_html(str(cell))


def escape_html(text: str) -> str:
    """Text that neither a browser nor MathJax takes for anything else; the classes are those MathJax leaves alone."""
    return _FORMULA.sub(r'<span class="tex2jax_ignore mathjax_ignore">\g<0></span>', html.escape(text))


#: Characters of the categories Cc, Cs, Zl and Zp of Unicode.
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with control characters, line ends and half surrogates as escapes.

    >>> visible("a\tb\u2028c")
    'a\\tb\\u2028c'
    """
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def display_width(text: str) -> int:
    """Cells of a terminal that the text takes: 2 for wide East Asian letters, 0 for combining marks.

    >>> display_width("漢字"), display_width("e\u0301"), display_width("ab")
    (4, 1, 2)
    """
    total = 0
    # NFC, because names of files on macOS are decomposed: a Hangul syllable would count as three letters.
    for char in unicodedata.normalize("NFC", text):
        if unicodedata.category(char) not in ("Mn", "Me", "Cf"):
            total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return total


def escape_latex(text: str) -> str:
    r"""The text so that LaTeX prints it as it is.

    >>> escape_latex("50%_a--b")
    '50\\%\\_a-{}-b'
    """
    escaped = re.sub("-(?=-)", "-{}", visible(text).translate(_LATEX))  # "--" would print as a dash
    # After \\ and \midrule, also across a line end, LaTeX takes "[" or "*" for an argument.
    return re.sub(r"^\s*[\[*]", lambda match: f"{{{match[0]}}}", escaped)


def escape_markdown(text: str) -> str:
    r"""The text so that Markdown shows it as it is; numbers stay as they are.

    >>> escape_markdown("a_b <i>|"), escape_markdown("-0.5")
    ('a\\_b &lt;i&gt;\\|', '-0.5')
    """
    escaped = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", visible(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_cell(cell: Cell, text: str) -> str:
    if isinstance(cell, str):
        return escape_latex(text)
    number = text.replace("-", "$-$").replace("<", "$<$")  # a hyphen is no minus sign
    return rf"\textbf{{{number}}}" if isinstance(cell, Marked) else number


def _markdown_cell(cell: Cell, text: str) -> str:
    return f"**{text}**" if isinstance(cell, Marked) else escape_markdown(text)


def _formatted(cell: Cell, width: int) -> str:
    if cell is None:
        return ""
    if _too_small(cell, width):
        return f"<{10**-width:.{width}f}"
    if isinstance(cell, Marked | Probability):
        return _formatted(cell.value, width)
    if not isinstance(cell, float):
        return str(cell)
    text = f"{cell:.{width}f}"
    return text if float(text) else text.removeprefix("-")  # never "-0.0000"


def _too_small(cell: Cell, width: int) -> TypeGuard[Probability]:
    """Whether it is a p value that would be written as 0."""
    return isinstance(cell, Probability) and cell.value < 10.0**-width


def _aligned(cells: Sequence[str], layout: Sequence[tuple[int, bool]]) -> str:
    """A line of a table whose columns have these sizes, and are aligned at the right or not."""
    texts = []
    for cell, (size, right) in zip(cells, layout, strict=True):
        space = " " * (size - display_width(cell))
        texts.append(space + cell if right else cell + space)
    return "  ".join(texts).rstrip(" ")


def _wrapped_row(row: list[str], size: int) -> list[list[str]]:
    """The row, and further ones with the rest of its last cell."""
    first, *rest = _wrapped(row[-1], size)
    return [[*row[:-1], first], *([*[""] * (len(row) - 1), part] for part in rest)]


def _wrapped(text: str, size: int, *, indent: str = "") -> list[str]:
    parts = textwrap.wrap(text, size, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return parts or [text]


def _joined(lines: Sequence[str]) -> str:
    return "".join([f"{line}\n" for line in lines])
