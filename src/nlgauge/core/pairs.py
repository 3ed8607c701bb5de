"""Pairs of texts of one list: all of some against all of others, or candidates against each other.

To the first stage of a run the texts of the list are segments without references: they are tokenised, checked and
noted one by one. Grids of the list say which texts are compared; parts of them whose vectors fit in memory are the
blocks of the engine. Notes in a signature count pairs: a pair here is what a segment is to `nlgauge.score`.

Idf that is counted on the texts at hand counts each hypothesis and each reference once, as `nlgauge.score` does for a
corpus of these texts, however many pairs a text is in.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus, TextNames
from nlgauge.core.engine import Block, BlockPairs, Place, Window, compare_windows, fill, layers_of, window_budget
from nlgauge.core.metric import Metric, SystemResult
from nlgauge.core.notes import (
    count_fields,
    naming_documents,
    warn_about_convergence,
    warn_about_note,
    warn_about_weights,
)
from nlgauge.core.prepare import Prepared, PreparedMetric, PreparedTextMetric, SignatureCheck, prepare
from nlgauge.core.run_options import Progress, RunOptions
from nlgauge.core.score import SegmentNotes, count_notes, order_notes
from nlgauge.core.signature import Signature
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.run_context import current_run
from nlgauge.errors import EmptyPairError, InputError, RecipeError
from nlgauge.text.tokenizer import Tokens

#: Pairs of texts that a metric without vectors is given at once.
_TEXT_PAIRS = 2**18

#: Takes the number of a metric, a block, and by component the scores of its pairs; nan where two are not compared.
UseScores: TypeAlias = Callable[[int, Block, Mapping[str, NDArray[np.float64]]], None]


class Grid(NamedTuple):
    """Hypotheses that are compared with references, all with all; both are numbers of texts."""

    rows: range
    columns: range
    others: bool = False
    """Whether the two are the same texts, none of which is compared with itself."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.rows) * (len(self.columns) - self.others)


@dataclass(frozen=True, eq=False)
class TextPairs(Corpus):
    """A list of texts, and the grids of it that are compared."""

    grids: Sequence[Grid] = ()

    @classmethod
    def of(
        cls, hypotheses: Sequence[str], references: Sequence[str] | None, grids: Sequence[Grid], names: TextNames
    ) -> TextPairs:
        """Hypotheses, then references (or sources); None: the hypotheses are compared with each other."""
        texts = [*hypotheses, *(references or ())]
        documents = {"": hypotheses, None: hypotheses if references is None else references}
        return cls({"": texts}, [()] * len(texts), documents, names=names, grids=grids)

    @property
    def texts(self) -> Sequence[str]:
        """The list."""
        return self.systems[""]

    @property
    def pairs(self) -> int:
        """How many there are."""
        return sum(grid.pairs for grid in self.grids)

    @property
    def reference_count(self) -> str:
        """A text is compared with one other at a time."""
        return "source" if self.against_source else "1"

    @property
    def reference_groups(self) -> Sequence[tuple[str, ...]]:
        """Each reference by itself."""
        return [(text,) for text in self.idf_documents[None]]

    def compared_with(self, what: str, *, metric: str, choice: bool = True) -> Corpus:
        """The list, where references may stand for sources; the hypotheses themselves may not."""
        if what == "refs":
            return self
        if len(self.idf_documents[""]) == len(self.texts):
            msg = (
                f"{metric} compares with the source, and none was given to compare the texts with; "
                f"give the sources, or compare the texts with each other: {metric}:against=refs"
            )
            raise InputError(msg)
        return self._with_sources

    @cached_property
    def _with_sources(self) -> Corpus:
        return replace(self, against_source=True)

    def name_pair(self, system: str, row: int, column: int) -> str:
        """What messages call a pair."""
        return f"{self.names.name(row)} and {self.names.name(column)}"

    def count(self, noted: Iterable[int]) -> int:
        """Pairs of which a text is among those noted."""
        flags = np.zeros(len(self.texts), dtype=bool)
        flags[list(noted)] = True
        total = 0
        for grid in self.grids:
            rows, columns = (
                int(np.count_nonzero(~flags[part.start : part.stop])) for part in (grid.rows, grid.columns)
            )
            total += grid.pairs - rows * max(0, columns - grid.others)
        return total

    def refuse_empty_pairs(self, empty: Iterable[int]) -> None:
        """An error for the first pair of two empty texts, for which no score is defined."""
        noted = {*empty}
        for grid in self.grids if noted else ():
            rows, columns = ([number for number in part if number in noted] for part in (grid.rows, grid.columns))
            for row, column in itertools.product(rows, columns):
                if grid.others and row == column:
                    continue
                msg = (
                    f"{self.name_pair('', row, column)} are both empty, so no score is defined; "
                    "remove one, or score the pair 0 (empty='zero')"
                )
                raise EmptyPairError(msg)

    def unknown_only(self, tokens: Mapping[str, Tokens]) -> dict[tuple[str, int], list[str]]:
        """Texts of nothing but unknown tokens that count as empty in a pair: with a text that is another one."""
        numbers: set[int] = set()
        unknown = {number for number, text in enumerate(self.texts) if tokens[text].only_unknown}
        for grid in self.grids if unknown else ():
            rows, columns = (
                {number: self.texts[number].strip() for number in part if not tokens[self.texts[number]].empty}
                for part in (grid.rows, grid.columns)
            )
            known = {text for number, text in rows.items() if number not in unknown}
            for side, others in ((rows, {*columns.values()}), (columns, known)):
                numbers |= {
                    number for number, text in side.items() if number in unknown and len(others) > (text in others)
                }
        return {("", number): [self.texts[number]] for number in sorted(numbers)}


def prepare_pairs(recipe: Metric, pairs: TextPairs, options: RunOptions, check: SignatureCheck) -> Prepared:
    """Load, tokenise, count and check, as for a corpus; recipes that look at more than a pair are refused."""
    for metric in recipe.base_metrics:
        if metric.whole_corpus:
            frozen = "freeze them: bounds=FILE ('nlgauge build bounds' makes it)"
            what = f"; {frozen}" if "bounds" in metric.options() else ""
            msg = (
                f"{metric.name} scales the score of a pair by the lowest and highest values of a corpus, "
                f"and pairs of many texts are no corpus{what}"
            )
            raise RecipeError(msg)
        if isinstance(metric, VectorMetric) and metric.group > 1:
            msg = (
                f"transforms={metric.transforms!r} looks at a text's neighbours in a corpus, which pairs do not have"
            )
            raise RecipeError(msg)
    if options.alignments:
        msg = "alignments are not kept for many pairs; leave alignments= out, and give a pair to nlgauge.score"
        raise RecipeError(msg)
    return prepare([recipe], pairs, options, check_signature=check)


class PairNotes(NamedTuple):
    """What is known when all pairs were compared."""

    signature: Signature
    texts: SegmentNotes
    """By number of the text."""
    counts: Mapping[str, int]
    """Pairs with a text of each kind of note."""


def compare_pairs(prepared: Prepared, use: UseScores) -> PairNotes:
    """Compare all pairs of a list, and give the scores to `use`, block by block; return what was noted."""
    pairs, options = prepared.corpus, prepared.options
    assert isinstance(pairs, TextPairs)
    metrics = [_PairScores(metric, number) for number, metric in enumerate(prepared.metrics)]
    total = pairs.pairs * len(metrics)
    with Progress(total, show=options.progress, what="comparing", unit="pair") as advance:

        def take(number: int, block: Block, scores: Mapping[str, NDArray[np.float64]]) -> None:
            use(number, block, scores)
            count = int(np.count_nonzero(block.wanted))
            advance(count)
            current_run().advance(count)

        for one in metrics:
            if isinstance(one.prepared, PreparedTextMetric):
                one.score_texts(one.prepared, take)
        for group in prepared.groups:
            windows = _windows(list(group.metrics.values()))
            compare_windows(
                group.metrics, windows, options, lambda number, part: metrics[number].add(part, take), recurring=True
            )
    return prepared.recipes[0].join_pair_notes([one.finish() for one in metrics], pairs)


def _windows(metrics: Sequence[PreparedMetric]) -> list[Window]:
    """Blocks that share texts, as many as fit."""
    pairs, tokens = metrics[0].corpus, metrics[0].tokenized.tokens
    assert isinstance(pairs, TextPairs)
    budget = window_budget(metrics[0].tokenized.encoder, len(layers_of(metrics)))
    stand_in = [""] if any(metric.zero_unknown for metric in metrics) else []

    def texts_of(block: Block) -> list[str]:
        return [place.text for place in (*block.rows, *block.columns)]

    def window(blocks: Sequence[Block]) -> Window:
        texts = dict.fromkeys([*(text for block in blocks for text in texts_of(block)), *stand_in])
        return Window(list(texts), lambda _: blocks)

    blocks = _blocks(pairs, tokens, budget)
    return [window(some) for some in fill(blocks, texts_of, lambda text: len(tokens[text]), budget)]


def _blocks(pairs: TextPairs, tokens: Mapping[str, Tokens], budget: int) -> Iterator[Block]:
    """Grids, or parts of those that have more than `budget` tokens; texts of one length stand together."""

    def length(place: Place) -> int:
        return len(tokens[place.text])

    for number, grid in enumerate(pairs.grids):
        rows = sorted((Place(pairs.texts[row], "", row) for row in grid.rows), key=length)
        columns = sorted((Place(pairs.texts[column], None, column) for column in grid.columns), key=length)
        total = sum(map(length, (*rows, *columns)))
        most = total if total <= budget else budget // 2
        for some in fill(columns, lambda place: [place], length, most):
            for part in fill(rows, lambda place: [place], length, most):
                yield Block(part, some, grid.others, number)


class _PairScores:
    """Scores of all pairs under a metric, and what was noted of them."""

    def __init__(self, prepared: PreparedMetric | PreparedTextMetric, number: int) -> None:
        pairs = prepared.corpus
        assert isinstance(pairs, TextPairs)
        self.prepared, self._pairs, self._number = prepared, pairs, number
        self._zero_weight: set[int] = set()
        self._unconverged: list[tuple[int, int]] = []
        self._noted: dict[str, list[tuple[int, int]]] = {note.name: [] for note in prepared.metric.notes}
        """Pairs that a note of the metric names."""

    def add(self, part: BlockPairs, take: UseScores) -> None:
        """Take pairs that were compared."""
        assert isinstance(self.prepared, PreparedMetric)
        metric = self.prepared.metric
        block = part.block
        self._zero_weight |= {place.number for place in part.weightless}
        self._unconverged += [_numbers(block, *cell) for cell in part.unconverged]
        if len(part.values):
            self._hand_over(block, metric.finish_pairs(part.values, self.prepared.state), take)

    def score_texts(self, prepared: PreparedTextMetric, take: UseScores) -> None:
        """Score all pairs under a metric without vectors."""
        texts = self._pairs.texts
        for number, grid in enumerate(self._pairs.grids):
            size = max(1, _TEXT_PAIRS // len(grid.columns))
            columns = [Place(texts[column], None, column) for column in grid.columns]
            for start in range(0, len(grid.rows), size):
                rows = [Place(texts[row], "", row) for row in grid.rows[start : start + size]]
                block = Block(rows, columns, grid.others, number)
                cells = np.argwhere(block.wanted).tolist()
                if cells:
                    hypotheses = [rows[row].text for row, _ in cells]
                    references = [(columns[column].text,) for _, column in cells]
                    with naming_documents(self._pairs):
                        result = prepared.metric.score_texts(hypotheses, references)
                    self._hand_over(block, result, take)

    def _hand_over(self, block: Block, result: SystemResult, take: UseScores) -> None:
        """Scores of the pairs of a block in their places; nan where two texts are not compared."""
        wanted = block.wanted
        cells = np.argwhere(wanted)
        for kind, noted in self._noted.items():
            noted += [_numbers(block, *cells[index]) for index in result.notes.get(kind, ())]
        tables = {name: np.full(wanted.shape, np.nan) for name in result.segments}
        for name, values in result.segments.items():
            tables[name][wanted] = values
        take(self._number, block, tables)

    def finish(self) -> PairNotes:
        """What happened to texts while they were compared is warned of, and everything is counted and signed."""
        one, pairs, metric = self.prepared, self._pairs, self.prepared.metric
        warn_about_weights(self._zero_weight, pairs.names)

        def names_of(noted: Sequence[tuple[int, int]]) -> TextNames:
            return TextNames("pair", lambda number: pairs.name_pair("", *noted[number]))

        warn_about_convergence(range(len(self._unconverged)), names_of(self._unconverged))
        for note in metric.notes:
            noted = self._noted[note.name]
            warn_about_note(note, range(len(noted)), metric.describe_note(note), names_of(noted))
        notes = order_notes({**one.notes[""], "zero_weight": sorted(self._zero_weight)})
        sizes = {kind: pairs.count(texts) for kind, texts in notes.items()}
        sizes |= {kind: len(noted) for kind, noted in {"unconverged": self._unconverged, **self._noted}.items()}
        counts = count_notes(order_notes({kind: range(size) for kind, size in sizes.items()}))
        own = one.run_fields[""] if isinstance(one, PreparedMetric) else {}
        signature = Signature(metric.name, one.signature.recipe, count_fields(counts) | dict(own))
        return PairNotes(signature, notes, counts)


def _numbers(block: Block, row: int, column: int) -> tuple[int, int]:
    """Numbers of the texts of a pair."""
    return block.rows[row].number, block.columns[column].number
