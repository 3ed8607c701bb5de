"""The texts of a run: system outputs with references or sources, checked before anything is computed.

Segments can be joined to documents, with a line end between them, which keeps their boundaries (`sentences=lines`).
The segments of a document must be next to each other: an id that occurs again later is refused, because two documents
with the same id would be merged silently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, overload

from nlgauge.errors import InputError
from nlgauge.text.tokenizer import Tokens, check_encodable

#: References of a corpus, segment by segment: one text, or several.
References: TypeAlias = Iterable[str | Iterable[str]]


class TextNames(NamedTuple):
    """Names of segments, texts or pairs in messages."""

    unit: str = "segment"
    name: Callable[[int], str] = str
    """The name of a number."""

    def place(self, system: str, index: int) -> str:
        """The name of a system's text in messages."""
        name = f"{self.unit} {index}" if self.name is str else self.name(index)
        return f"system {system!r}, {name}" if system else name


#: Segments by their number, from 0, as results number them.
SEGMENT_NAMES = TextNames()

#: Segments that are lines of files, from 1, as editors number them.
LINE_NAMES = TextNames(name=lambda number: f"line {number + 1}")


@dataclass(frozen=True, eq=False)
class WholeCorpus:
    """Properties of a full corpus that are needed to score a part of it with the same result."""

    reference_count: str
    """References per segment, as in `Corpus.reference_count`."""
    counted: Mapping[Hashable, Mapping[str, Any]] = field(default_factory=dict)
    """The idf tables of the recipes, as in `TokenizedCorpus.memo`; by encoding and `against`."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Outputs of one or more systems for the same segments, with the references of each segment, or its source."""

    systems: Mapping[str, Sequence[str]]
    references: Sequence[tuple[str, ...]]
    """Empty groups if there are only sources."""
    idf_documents: Mapping[str | None, Sequence[str]] = field(default_factory=dict)
    """Texts that idf is counted on instead of those above: by system, and under None for the references.

    Judged segments are often a sample of a system's file, and published idf is counted on the whole file.
    """
    sources: Sequence[str] | None = None
    against_source: bool = False
    """Whether the references are the sources: texts of another language."""
    whole: WholeCorpus | None = None
    """The full corpus if these texts are a part of one, else None."""
    names: TextNames = SEGMENT_NAMES
    """Names of the segments in messages."""

    def __len__(self) -> int:
        return len(self.references)

    @property
    def reference_count(self) -> str:
        """References per segment, `var` if the number varies, or `source`."""
        if self.whole is not None and not self.against_source:
            return self.whole.reference_count
        counts = {len(group) for group in self.references}
        return "source" if self.against_source else str(counts.pop()) if len(counts) == 1 else "var"

    @property
    def reference_groups(self) -> Sequence[tuple[str, ...]]:
        """References by segment."""
        return self.references

    def name_pair(self, system: str, row: int, column: int) -> str:
        """The name of a pair in messages: here the segment, for any of its references."""
        return self.names.place(system, row)

    def refuse_empty_pairs(self, empty: Iterable[int]) -> None:
        """Refuse pairs of two empty texts from different segments; in a corpus there are none."""

    def unknown_only(self, tokens: Mapping[str, Tokens]) -> dict[tuple[str, int], list[str]]:
        """Texts of unknown tokens only that are treated as empty, by system and segment."""
        texts_by_place: dict[tuple[str, int], list[str]] = {}
        for system, hypotheses in self.systems.items():
            for index, (hypothesis, references) in enumerate(zip(hypotheses, self.references, strict=True)):
                if not any(tokens[text].only_unknown for text in (hypothesis, *references)):
                    continue
                sides = [unknown_only_side(hypothesis, reference, tokens) for reference in references]
                texts = [
                    hypothesis if side == "hypothesis" else reference
                    for side, reference in zip(sides, references, strict=True)
                    if side
                ]
                if texts:
                    texts_by_place[system, index] = texts
        return texts_by_place

    def compared_with(self, what: str, *, metric: str, choice: bool = True) -> Corpus:
        """The view of a metric that compares with references (`refs`) or with sources (`source`).

        `choice`: whether the metric can compare with either.
        """
        if what == "refs":
            if not all(self.references):
                other = f", or compare with the source: {metric}:against=source" if choice else ""
                msg = f"{metric} needs references; pass them with refs={other}"
                raise InputError(msg)
            return self
        if self.against_source:
            return self
        if self.sources is None:
            other = f", or compare with references: {metric}:against=refs" if choice else ""
            msg = f"{metric} needs the source texts; pass them with sources={other}"
            raise InputError(msg)
        return self._with_sources

    @cached_property
    def _with_sources(self) -> Corpus:
        documents = dict(self.idf_documents)
        documents.pop(None, None)
        references = [(text,) for text in self.sources or ()]
        return replace(self, references=references, idf_documents=documents, against_source=True)

    def take(self, segments: Sequence[int]) -> Corpus:
        """Select segments in this order; a segment may be repeated."""
        return replace(
            self,
            systems={name: [texts[index] for index in segments] for name, texts in self.systems.items()},
            references=[self.references[index] for index in segments],
            sources=None if self.sources is None else [self.sources[index] for index in segments],
        )

    @cached_property
    def lowered(self) -> Corpus:
        """The corpus in lower case."""
        return replace(
            self,
            systems={name: [text.lower() for text in texts] for name, texts in self.systems.items()},
            references=[tuple(text.lower() for text in group) for group in self.references],
            idf_documents={name: [text.lower() for text in texts] for name, texts in self.idf_documents.items()},
            sources=None if self.sources is None else [text.lower() for text in self.sources],
        )


def unknown_only_side(
    hypothesis: str, reference: str, tokens: Mapping[str, Tokens]
) -> Literal["hypothesis", "reference"] | None:
    """The text of a pair that is treated as empty because all its tokens are unknown, or None.

    If both are, it is the hypothesis only, because two empty texts would be at distance 0. White space around a text
    is ignored.
    """
    left, right = tokens[hypothesis], tokens[reference]
    if left.empty or right.empty or hypothesis.strip() == reference.strip():
        return None
    return "hypothesis" if left.only_unknown else "reference" if right.only_unknown else None


def make_corpus(
    systems: Mapping[str, Iterable[str]],
    refs: References | None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    sources: Iterable[str] | None = None,
    alone: bool = False,
) -> Corpus:
    """Check texts and make a corpus. Errors contain the index of the item, the expected type and the value.

    `alone`: neither references nor sources are needed.
    """
    if refs is not None and ref_streams is not None:
        msg = "refs= and ref_streams= are both set; pass refs= (references per segment) or ref_streams= (per file)"
        raise InputError(msg)
    if refs is None and ref_streams is None and sources is None and not alone:
        msg = "nothing to compare with; add references (refs=) or sources (sources=)"
        raise InputError(msg)
    if not isinstance(systems, Mapping) or not systems:
        got = "an empty dict" if isinstance(systems, Mapping) else f"a {type(systems).__name__}"
        hint = "; for a data frame, pass frame.to_dict('list')" if hasattr(systems, "to_dict") else ""
        msg = f"systems must be a dict {{name: texts}}, got {got}{hint}"
        raise InputError(msg)
    for name in systems:
        if not isinstance(name, str) or (len(systems) > 1 and not name):
            msg = f"a system name must be a string that is not empty, got {name!r}"
            raise InputError(msg)
    checked = {name: as_texts(texts, _name_hypotheses(name)) for name, texts in systems.items()}
    first = next(iter(checked))
    count = len(checked[first])
    for name, texts in checked.items():
        if len(texts) != count:
            msg = f"{_name_hypotheses(name)}: {len(texts)} segments, but {_name_hypotheses(first)} has {count}"
            raise InputError(msg)
    if count == 0:
        msg = f"{_name_hypotheses(first)}: the list is empty; pass at least one text"
        raise InputError(msg)
    references: list[tuple[str, ...]] = [()] * count
    if refs is not None:
        references = _check_references(refs, count)
    elif ref_streams is not None:
        references = _transpose_streams(ref_streams, count)
    originals = None if sources is None else as_texts(sources, "sources")
    if originals is not None and len(originals) != count:
        msg = f"sources: {_plural(len(originals), 'text', 'texts')} for {_hypotheses(count)}; pass one per hypothesis"
        raise InputError(msg)
    return Corpus(checked, references, sources=originals)


def _name_hypotheses(system: str) -> str:
    return f"system {system!r}" if system else "hyps"


def as_texts(texts: Iterable[str], what: str, *, expected: str = "a list of strings") -> list[str]:
    """Check that the items are strings; `what` is their name in messages."""
    items = as_list(texts, what, expected)
    for index, item in enumerate(items):
        _check_text(item, f"{what}[{index}]")
    return items


def _check_text(item: object, what: str) -> None:
    if not isinstance(item, str):
        msg = f"{what}: expected a string, got {item!r} ({type(item).__name__}); {_fix_text(item)}"
        raise InputError(msg)
    check_encodable(item, what)


def _fix_text(item: object) -> str:
    """How to make a string of another value."""
    missing = type(item).__name__ in {"NoneType", "NAType", "NaTType"}  # the last two of pandas
    if missing or (isinstance(item, float) and math.isnan(item)):
        return "use '' for an empty text"
    if isinstance(item, bytes | bytearray):
        return "decode it: text.decode()"
    return "pass one string per segment" if isinstance(item, list | tuple) else "convert it: str(value)"


def _check_references(refs: References, count: int) -> list[tuple[str, ...]]:
    groups = as_list(refs, "refs", "a list with an entry per segment")
    if len(groups) != count:
        msg = f"refs: {_plural(len(groups), 'entry', 'entries')} for {_hypotheses(count)}; pass one per hypothesis"
        if groups and all(_is_list_of(group, count) for group in groups):
            msg = (
                f"refs: {_plural(len(groups), 'list', 'lists')} of {_plural(count, 'text', 'texts')} for "
                f"{_hypotheses(count)}; for one list per reference file, pass ref_streams= instead of refs="
            )
        raise InputError(msg)
    result = []
    for index, group in enumerate(groups):
        if isinstance(group, str):
            _check_text(group, f"refs[{index}]")
            texts = [group]
        elif group is None or isinstance(group, float):  # None, or the NaN of a missing value
            msg = f"refs[{index}]: expected a string or a list of strings, got {group!r}; {_fix_text(group)}"
            raise InputError(msg)
        else:
            texts = as_texts(group, f"refs[{index}]", expected="a string or a list of strings")
        if not texts:
            msg = f"refs[{index}]: the list is empty; a segment needs at least one reference"
            raise InputError(msg)
        result.append(tuple(texts))
    return result


def _transpose_streams(streams: Iterable[Iterable[str]], count: int) -> list[tuple[str, ...]]:
    listed = as_list(streams, "ref_streams", "a list of lists of strings")
    if not listed:
        msg = "ref_streams: the list is empty; pass at least one list of references"
        raise InputError(msg)
    if all(isinstance(stream, str) for stream in listed):
        msg = "ref_streams: expected one list of texts per reference file, got a list of strings"
        if len(listed) == count:
            msg += "; for one reference per hypothesis, pass refs= instead of ref_streams="
        raise InputError(msg)
    texts = [as_texts(stream, f"ref_streams[{number}]") for number, stream in enumerate(listed)]
    for number, stream in enumerate(texts):
        if len(stream) != count:
            msg = (
                f"ref_streams[{number}]: {_plural(len(stream), 'text', 'texts')} for {_hypotheses(count)}; "
                "pass one text per hypothesis in each list"
            )
            if len(texts) == count:
                msg += "; for one list of references per hypothesis, pass refs= instead of ref_streams="
            raise InputError(msg)
    return list(zip(*texts, strict=True))


def as_list(items: Iterable[Any], what: str, expected: str) -> list[Any]:
    """Make a list; refuse a string, a set, and a dict or data frame, whose items would be keys."""
    wrapped = "[[text, ...]]" if "a list with a list" in expected else "[text]"
    if isinstance(items, bytes | bytearray):
        msg = f"{what}: expected {expected}, got bytes {bytes(items[:40])!r}; decode and wrap them: {wrapped}"
        raise InputError(msg)
    if isinstance(items, str):
        msg = f"{what}: expected {expected}, got a bare string {items[:40]!r}; wrap it: {wrapped}"
        raise InputError(msg)
    if isinstance(items, Mapping) or hasattr(items, "columns"):
        kind = type(items).__name__
        fix = "pass one of its columns" if hasattr(items, "columns") else "pass one of its values"
        msg = f"{what}: expected {expected}, got a {kind} with keys {list(items)[:5]}; {fix}"
        if what == "hyps":
            msg += ", or use score_systems() for several systems"
        raise InputError(msg)
    if isinstance(items, set | frozenset):
        msg = f"{what}: expected {expected}, got a set, which has no order"
        raise InputError(msg)
    try:
        return list(items)
    except TypeError as error:
        msg = f"{what}: expected {expected}, got {items!r}"
        raise InputError(msg) from error


def _plural(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


def _hypotheses(count: int) -> str:
    return _plural(count, "hypothesis", "hypotheses")


def _is_list_of(group: object, count: int) -> bool:
    return isinstance(group, Sized) and not isinstance(group, str | bytes) and len(group) == count


def document_rows(document_ids: Sequence[str]) -> dict[str, range]:
    """The segment numbers of each document, in order; an error if a document is split.

    >>> document_rows(["a", "a", "b"])
    {'a': range(0, 2), 'b': range(2, 3)}
    """
    rows: dict[str, range] = {}
    for row, name in enumerate(document_ids):
        if name not in rows:
            rows[name] = range(row, row + 1)
        elif rows[name].stop == row:
            rows[name] = range(rows[name].start, row + 1)
        else:
            last = rows[name].stop - 1
            msg = (
                f"document {name!r} is split: segments {last} and {row} belong to it, but not those between; "
                "put the segments of a document next to each other, and give each document a unique id"
            )
            raise InputError(msg)
    return rows


def join_document(texts: Iterable[str]) -> str:
    """Join segments to the text of a document; a document of white space only is empty."""
    joined = "\n".join(texts)
    return joined if joined.strip() else ""


@overload
def join_documents(  # type: ignore[overload-overlap]  # a text is a sequence of texts to a type checker
    texts: Sequence[str], document_ids: Sequence[str]
) -> list[str]: ...
@overload
def join_documents(texts: Sequence[Sequence[str]], document_ids: Sequence[str]) -> list[tuple[str, ...]]: ...
def join_documents(
    texts: Sequence[str] | Sequence[Sequence[str]], document_ids: Sequence[str]
) -> list[str] | list[tuple[str, ...]]:
    r"""Join segments to documents, in the order of their first segments.

    Args:
        texts: A text per segment, or the references of each. Then reference 1 of a document consists of the first
            references of its segments, and so on.
        document_ids: The document of each segment; segments of a document must be next to each other.

    Join hypotheses, references and sources the same way; documents can be scored like any texts.

    >>> join_documents(["One.", "Two.", "Three."], ["a", "a", "b"])
    ['One.\nTwo.', 'Three.']
    >>> join_documents([["One.", "1."], ["Two.", "2."]], ["a", "a"])
    [('One.\nTwo.', '1.\n2.')]
    """
    if len(texts) != len(document_ids):
        matched = min(len(texts), len(document_ids))
        rest = f"segment {matched}" if len(texts) > matched else f"document id {document_ids[matched]!r}"
        msg = (
            f"{len(texts)} segments, but {len(document_ids)} document ids; give one id per segment "
            f"(the first without a partner: {rest})"
        )
        raise InputError(msg)
    parts = {name: [texts[row] for row in rows] for name, rows in document_rows(document_ids).items()}
    if all(isinstance(text, str) for text in texts):
        return [join_document(own) for own in parts.values()]  # type: ignore[arg-type]  # all are strings
    return [_join_groups(name, own) for name, own in parts.items()]


def _join_groups(name: str, groups: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    listed = [(group,) if isinstance(group, str) else tuple(group) for group in groups]
    counts = {len(group) for group in listed}
    if len(counts) > 1:
        msg = (
            f"document {name!r}: its segments have {min(counts)} to {max(counts)} references; "
            "give all segments of a document the same number"
        )
        raise InputError(msg)
    return tuple(join_document(stream) for stream in zip(*listed, strict=True))
