r"""Text that is safe in LaTeX, HTML, Markdown and a terminal, and its width there."""

from __future__ import annotations

import html
import re
import unicodedata

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",  # the default font encoding of LaTeX prints other signs for these three
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        **{char: "\\" + char for char in "&%$#_{}"},
    }
)
#: Characters that start formulas in notebooks: $...$, \(...\), \begin{...}.
_FORMULA = re.compile(r"[$\\]")
#: Characters of the categories Cc, Cs, Zl and Zp of Unicode.
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def escape_html(text: str) -> str:
    """Escape text for HTML, and for MathJax with the classes that it ignores."""
    return _FORMULA.sub(r'<span class="tex2jax_ignore mathjax_ignore">\g<0></span>', html.escape(text))


def escape_control(text: str) -> str:
    r"""Escape control characters, line ends and lone surrogates.

    >>> escape_control("a\tb\u2028c")
    'a\\tb\\u2028c'
    """
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def display_width(text: str) -> int:
    """Width of a text in terminal cells: 2 for wide East Asian characters, 0 for combining marks.

    >>> display_width("漢字"), display_width("e\u0301"), display_width("ab")
    (4, 1, 2)
    """
    total = 0
    # NFC, because file names on macOS are decomposed: a Hangul syllable would count as three characters.
    for char in unicodedata.normalize("NFC", text):
        if unicodedata.category(char) not in ("Mn", "Me", "Cf"):
            total += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return total


def shorten_name(text: str, size: int) -> str:
    """The text with an ellipsis in its middle where it takes more than `size` cells of a terminal.

    Names of systems differ at their ends.

    >>> shorten_name("transformer-base-v2", 12), shorten_name("base", 12)
    ('transf…se-v2', 'base')
    """
    if display_width(text) <= size:
        return text
    head, tail = text, text
    while display_width(head) > size // 2:
        head = head[:-1]
    while display_width(tail) > size - size // 2 - 1:
        tail = tail[1:]
    return f"{head}…{tail}"


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> escape_latex("50%_a--b")
    '50\\%\\_a-{}-b'
    """
    escaped = re.sub("-(?=-)", "-{}", escape_control(text).translate(_LATEX))  # "--" would print as a dash
    # After \\ and \midrule, also across a line end, LaTeX reads "[" or "*" as an argument.
    return re.sub(r"^\s*[\[*]", lambda match: f"{{{match[0]}}}", escaped)


def escape_markdown(text: str) -> str:
    r"""Escape text for Markdown; numbers do not change.

    >>> escape_markdown("a_b <i>|"), escape_markdown("-0.5")
    ('a\\_b &lt;i&gt;\\|', '-0.5')
    """
    escaped = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", escape_control(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
