"""Read sentences in CoNLL-U, the format of Universal Dependencies that UDPipe, Stanza and others write.

    # text = Il gatto del vicino.
    1     Il      il      DET    _  _  2  det    _  _
    2     gatto   gatto   NOUN   _  _  0  root   _  _
    3-4   del     _       _      _  _  _  _      _  _
    3     di      di      ADP    _  _  5  case   _  _
    4     il      il      DET    _  _  5  det    _  _
    5     vicino  vicino  NOUN   _  _  2  nmod   _  SpaceAfter=No
    6     .       .       PUNCT  _  _  2  punct  _  _

Ten tab-separated columns, and an empty line after each sentence. A line `3-4` is the token that the text has for the
syntactic words 3 and 4. Empty nodes (`3.1`) are not in the text and are skipped. Any other format is an error that
names the line: with an incomplete tree, words would be reordered at random.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, NoReturn

from nlgauge.errors import FileFormatError

_COLUMNS = 10
_ID = re.compile(r"(?P<word>[1-9]\d*)(?:-(?P<last>[1-9]\d*)|\.[1-9]\d*)?|0\.[1-9]\d*", flags=re.ASCII)


class Word(NamedTuple):
    """A syntactic word; words of a sentence are numbered from 1."""

    form: str
    upos: str
    features: Mapping[str, str]
    head: int
    """Number of the head word, 0 for the root; -1 if trees were not read."""
    relation: str
    blank: bool
    """Whether a blank follows in the text."""
    lemma: str = ""
    """Empty if the file has none."""

    @property
    def base(self) -> str:
        """The relation without its subtype: `obj` of `obj:lvc`."""
        return self.relation.partition(":")[0]


class Contraction(NamedTuple):
    """The token that the text has for the words from `first` to `last`."""

    first: int
    last: int
    form: str


@dataclass(frozen=True)
class Sentence:
    """A sentence with its tree."""

    words: tuple[Word, ...]
    contractions: tuple[Contraction, ...]
    text: str
    """The original text (`# text = ...`); without it, the text spelt by the tokens."""


def parse_conllu(lines: Iterable[str], *, name: str, trees: bool = True) -> Iterator[Sentence]:
    """Parse lines without line ends; `name` is the file's name in errors.

    With `trees=False` heads and relations are not read: every head is -1.
    """
    count = 0
    block = _Block(name, 1, trees=trees)
    for number, line in enumerate(chain(lines, [""]), 1):
        if line:
            block.add(line, number)
            continue
        if block.started:
            yield block.sentence()
            count += 1
        block = _Block(name, number + 1, trees=trees)
    if not count:
        msg = f"{name}: no sentence; expected CoNLL-U, as written by UDPipe or Stanza"
        raise FileFormatError(msg)


def spell(words: Sequence[Word], contractions: Sequence[Contraction]) -> str:
    """The text that words and contractions spell."""
    starts = {contraction.first: contraction for contraction in contractions}
    parts = []
    index = 0
    while index < len(words):
        contraction = starts.get(index + 1)
        form, last = (words[index].form, index) if contraction is None else (contraction.form, contraction.last - 1)
        parts.append(form + (" " if words[last].blank else ""))
        index = last + 1
    return "".join(parts).rstrip(" ")


class _Block:
    """The lines of one sentence, checked one by one."""

    def __init__(self, name: str, first: int, *, trees: bool) -> None:
        self._name, self._first, self._trees = name, first, trees
        self._words: list[Word] = []
        self._lines: list[int] = []
        self._contractions: list[Contraction] = []
        self._after: list[tuple[bool, int]] = []
        self._text: tuple[str, int] | None = None
        self.started = False

    def add(self, line: str, number: int) -> None:
        self.started = True
        if not line.strip():
            self._refuse(number, f"blanks only, {line!r}; use an empty line between sentences")
        if line.startswith("#"):
            self._comment(line, number)
            return
        fields = line.split("\t")
        if len(fields) != _COLUMNS:
            fix = "keep the tabs, and put an empty line between sentences"
            self._refuse(number, f"expected {_COLUMNS} tab-separated columns, got {len(fields)} in {line!r}; {fix}")
        match = _ID.fullmatch(fields[0])
        if match is None:
            self._refuse(number, f"expected a number such as 3, 3-4 or 3.1 in column 1, got {fields[0]!r}")
        if "." in fields[0]:
            return
        if not fields[1] or (fields[1] == "_" and fields[2] not in {"_", ""}):
            self._refuse(number, f"the word {fields[0]} has no form; merge the treebank with its texts first")
        if match["last"]:
            self._contraction(int(match["word"]), int(match["last"]), fields, number)
        else:
            self._word(int(match["word"]), fields, number)

    def _comment(self, line: str, number: int) -> None:
        if self._words or self._contractions:
            self._refuse(number, f"a comment after the words of a sentence, {line!r}; put an empty line before it")
        key, equals, value = line[1:].partition("=")
        if key.strip() == "text" and equals:
            if self._text is not None:
                self._refuse(number, f"a second text, {value.strip()!r}; put an empty line between sentences")
            self._text = (value.strip(), number)

    def _contraction(self, first: int, last: int, fields: list[str], number: int) -> None:
        covered = self._contractions[-1].last if self._contractions else 0
        if first != len(self._words) + 1 or first <= covered or last <= first:
            self._refuse(number, f"the range {fields[0]} must start at the next word and not overlap another range")
        self._contractions.append(Contraction(first, last, fields[1]))
        self._after.append((_blank(fields), number))

    def _word(self, index: int, fields: list[str], number: int) -> None:
        if index != len(self._words) + 1:
            self._refuse(number, f"expected word {len(self._words) + 1}, got {index}; words are numbered from 1")
        head, relation = self._edge(fields, number) if self._trees else (-1, "")
        features = {} if fields[5] == "_" else _pairs(fields[5])
        lemma = "" if fields[2] == "_" and fields[1] != "_" else fields[2]
        self._words.append(Word(fields[1], fields[3], features, head, relation, _blank(fields), lemma))
        self._lines.append(number)

    def _edge(self, fields: list[str], number: int) -> tuple[int, str]:
        if not re.fullmatch(r"\d+", fields[6], flags=re.ASCII):
            self._refuse(
                number, f"expected the number of a head in column 7, got {fields[6]!r}; parse the text first"
            )
        if fields[7] in {"", "_"}:
            self._refuse(
                number, f"expected a relation such as obj in column 8, got {fields[7]!r}; parse the text first"
            )
        return int(fields[6]), fields[7]

    def sentence(self) -> Sentence:
        if not self._words:
            self._refuse(self._first, "a sentence without a word; remove its lines")
        if self._trees:
            self._check_tree()
        for contraction, (blank, number) in zip(self._contractions, self._after, strict=True):
            if contraction.last > len(self._words):
                problem = f"{contraction.form!r} covers words {contraction.first} to {contraction.last}"
                self._refuse(number, f"{problem}, but the sentence has {len(self._words)}; fix the numbers")
            # SpaceAfter belongs to the token in the text, not to the words that it covers.
            for index in range(contraction.first - 1, contraction.last):
                self._words[index] = self._words[index]._replace(blank=blank and index == contraction.last - 1)
        words, contractions = tuple(self._words), tuple(self._contractions)
        spelt = spell(words, contractions)
        if self._text is None:
            return Sentence(words, contractions, spelt)
        text, number = self._text
        if "".join(text.split()) != "".join(spelt.split()):
            self._refuse(number, f"the text {text!r} does not match its tokens, {spelt!r}; parse it again")
        return Sentence(words, contractions, text)

    def _check_tree(self) -> None:
        heads = [word.head for word in self._words]
        for index, (head, number) in enumerate(zip(heads, self._lines, strict=True), 1):
            if head > len(heads) or head == index:
                self._refuse(number, f"word {index} depends on {head}, but the sentence has words 1 to {len(heads)}")
        if heads.count(0) != 1:
            self._refuse(self._lines[0], f"expected one root (head 0), got {heads.count(0)}; parse the text again")
        checked = {0}
        for index in range(1, len(heads) + 1):
            path: list[int] = []
            node = index
            while node not in checked:
                if node in path:
                    self._refuse(self._lines[node - 1], f"not a tree: word {node} depends on itself through others")
                path.append(node)
                node = heads[node - 1]
            checked.update(path)

    def _refuse(self, number: int, problem: str) -> NoReturn:
        msg = f"{self._name}, line {number}: {problem}"
        raise FileFormatError(msg)


def _blank(fields: list[str]) -> bool:
    return _pairs(fields[9]).get("SpaceAfter") != "No"


def _pairs(field: str) -> dict[str, str]:
    return {key: value for key, _, value in (entry.partition("=") for entry in field.split("|"))}
