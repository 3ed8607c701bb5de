"""Many pairs of texts prepared for comparison: which texts meet, and in which order their vectors are in memory.

A `PairPlan` has blocks of hypotheses and references that are compared all with all. A pair here is what a segment is
to `nlgauge.score`: notes in a signature count pairs.

`prepare_pairs` loads models, tokenises, counts idf and writes the recipe part of the signature. Nothing is encoded
yet. Idf that is counted on the texts at hand counts each hypothesis and each reference once, as `nlgauge.score` does
for a corpus of these texts, however many pairs a text is in.

A `Tile` is a part of a block whose vectors fit in memory; tiles that share what is encoded are a window. Each text is
encoded once: a `VectorStore` keeps vectors that are needed later in memory up to a limit. Beyond it they go to a
temporary file and come back from there, bit for bit, so that memory does not grow with the number of texts.
"""

from __future__ import annotations

import tempfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Metric, TextMetric
from nlgauge.core.notes import (
    TextNames,
    check_texts,
    check_tokens,
    warn_about_empty,
    warn_about_languages,
    warn_about_text_language,
    warn_about_tokens,
)
from nlgauge.core.prepare import (
    AnyVectorMetric,
    PreparedMetric,
    PreparedTextMetric,
    SignatureCheck,
    UnknownPairs,
    as_asked,
    load_for,
    prepare_metric,
    read_texts,
    refuse_unknown,
    text_signature,
    unknown_only_side,
)
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import SegmentNotes
from nlgauge.core.tokens import TokenizedCorpus
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.encoders.base import EncodedText
from nlgauge.errors import EmptyPairError, InputError, RecipeError, TooLongError
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.transforms import POSITION_NORM

#: Bytes of layer vectors that stay in memory for later windows.
_KEPT_BYTES = 256 * 2**20

#: By layer, a row per token.
Vectors: TypeAlias = Mapping[int, NDArray[np.float32]]


class Block(NamedTuple):
    """Hypotheses that are compared with references, all with all."""

    rows: range
    columns: range
    others: bool = False
    """Whether the two are the same texts, none of which is compared with itself."""

    @property
    def pairs(self) -> int:
        """How many there are."""
        return len(self.rows) * (len(self.columns) - self.others)


@dataclass(frozen=True, eq=False)
class PairPlan:
    """Texts, and the blocks that are compared."""

    hypotheses: Sequence[str]
    references: Sequence[str]
    """Or sources."""
    blocks: Sequence[Block]
    name_hypothesis: Callable[[int], str]
    name_reference: Callable[[int], str]
    same: bool = False
    """Whether references are the hypotheses themselves."""

    @property
    def texts(self) -> list[str]:
        """All texts in one list: hypotheses, and references where they are others."""
        return [*self.hypotheses, *(() if self.same else self.references)]

    @property
    def listed(self) -> Corpus:
        """That list, of texts that are looked at one by one."""
        texts = self.texts
        return Corpus({"": texts}, [()] * len(texts))

    @property
    def names(self) -> TextNames:
        """How messages call the texts of that list."""
        count = len(self.hypotheses)
        return TextNames(
            "text", lambda at: self.name_hypothesis(at) if at < count else self.name_reference(at - count)
        )

    @property
    def pairs(self) -> int:
        """How many there are."""
        return sum(block.pairs for block in self.blocks)

    def split(self, noted: Iterable[int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Flags of hypotheses and of references, from numbers of `texts`."""
        flags = np.zeros(len(self.hypotheses) + (0 if self.same else len(self.references)), dtype=bool)
        flags[list(noted)] = True
        return flags[: len(self.hypotheses)], flags if self.same else flags[len(self.hypotheses) :]

    def count(self, noted: Iterable[int]) -> int:
        """Pairs of which a text is among those noted (numbers of `texts`)."""
        left, right = self.split(noted)
        total = 0
        for block in self.blocks:
            rows = int(np.count_nonzero(~left[block.rows.start : block.rows.stop]))
            columns = int(np.count_nonzero(~right[block.columns.start : block.columns.stop]))
            total += block.pairs - rows * max(0, columns - block.others)
        return total

    def refuse_empty(self, empty: Iterable[int]) -> None:
        """An error for the first pair of two empty texts (numbers of `texts`), for which no score is defined."""
        for row, column in self.pairs_of(*self.split(empty)):
            names = f"{self.name_hypothesis(row)} and {self.name_reference(column)}"
            msg = f"{names} are both empty, so no score is defined; remove one, or score the pair 0 (empty='zero')"
            raise EmptyPairError(msg)

    def pairs_of(self, left: NDArray[np.bool_], right: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """Pairs of flagged hypotheses and flagged references."""
        for block in self.blocks:
            rows = block.rows.start + np.flatnonzero(left[block.rows.start : block.rows.stop])
            columns = block.columns.start + np.flatnonzero(right[block.columns.start : block.columns.stop])
            for row in rows.tolist():
                yield from ((row, at) for at in columns.tolist() if not (block.others and at == row))


@dataclass(frozen=True, eq=False)
class PreparedPairs:
    """A recipe and a plan, ready to be compared."""

    plan: PairPlan
    """With the texts as the recipe reads them: in lower case, where it says so."""
    one: PreparedMetric | PreparedTextMetric
    notes: SegmentNotes
    """By number of the plan's texts."""
    options: RunOptions

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return self.one.metric


def prepare_pairs(recipe: Metric, plan: PairPlan, options: RunOptions, check: SignatureCheck) -> PreparedPairs:
    """Load, tokenise, count and check; what had to be decided about texts is warned of here."""
    recipe = as_asked(recipe, options)
    _refuse(recipe, options)
    if isinstance(recipe, TextMetric):
        return _prepare_texts(recipe, plan, options, check)
    if not isinstance(recipe, VectorMetric):
        msg = f"metric {recipe.name!r} compares neither vectors nor texts, so it has no scores of pairs"
        raise RecipeError(msg)
    warn_about_languages([recipe])
    view = _tokenise(recipe, plan, options)
    if recipe.lowercase == "yes":
        lowered = view.corpus
        plan = replace(plan, hypotheses=lowered.systems[""], references=[group[0] for group in lowered.references])
    listed = replace(view, corpus=plan.listed, memo={})
    notes = check_tokens(listed, long="truncate", empty="zero")[""]
    if options.long == "error" and notes.truncated:
        raise TooLongError(_too_long(plan, notes.truncated[0], view))
    if recipe.unknown == "error" and recipe.reads_with(view.encoder):
        found = dict(_unknown_texts(plan, view.tokens))
        refuse_unknown(list(found), list(found.values()), view.encoder.model)
    if options.empty == "error":
        plan.refuse_empty(notes.empty)
    warn_about_tokens(listed, {"": notes}, plan.names, languages=[recipe.lang] if recipe.lang else [])
    one = prepare_metric(recipe, view, {"": notes}, UnknownPairs(), options)
    if one.uses_neighbours:
        msg = f"transforms={POSITION_NORM!r} looks at a text's neighbours in a corpus, which pairs do not have"
        raise RecipeError(msg)
    recipe.check_recipe(one.signature.recipe, one.state)
    check(0, one.signature)
    return PreparedPairs(plan, one, notes, options)


def _refuse(recipe: Metric, options: RunOptions) -> None:
    if recipe.whole_corpus:
        frozen = "freeze them: bounds=FILE ('nlgauge build bounds' makes it)"
        what = f"; {frozen}" if "bounds" in recipe.options() else ""
        msg = (
            f"{recipe.name} scales the score of a pair by the lowest and highest values of a corpus, "
            f"and pairs of many texts are no corpus{what}"
        )
        raise RecipeError(msg)
    if options.alignments:
        msg = "alignments are not kept for many pairs; leave alignments= out, and give a pair to nlgauge.score"
        raise RecipeError(msg)


def _tokenise(recipe: AnyVectorMetric, plan: PairPlan, options: RunOptions) -> TokenizedCorpus:
    """Hypotheses and references, not necessarily of one number, each a document of idf."""
    if plan.same and recipe.against == "source":
        msg = (
            f"{recipe.name} compares with the source, and none was given to compare the texts with; "
            f"give the sources, or compare the texts with each other: {recipe.name}:against=refs"
        )
        raise InputError(msg)
    corpus = Corpus({"": plan.hypotheses}, [(text,) for text in plan.references], sources=plan.references)
    corpus = corpus.compared_with(recipe.against, metric=recipe.name)
    corpus = corpus.lowered if recipe.lowercase == "yes" else corpus
    encoder = load_for(recipe.model, [recipe], options)
    texts = dict.fromkeys([*corpus.systems[""], *(text for group in corpus.references for text in group)])
    if recipe.unknown == "zero":
        texts[""] = None  # stands in for texts that are counted as empty
    return TokenizedCorpus(corpus, encoder, *read_texts(encoder, list(texts), recipe.encoding))


def _too_long(plan: PairPlan, at: int, view: TokenizedCorpus) -> str:
    tokens = view.tokens[plan.texts[at]]
    return (
        f"{plan.names.name(at)} has {len(tokens) + tokens.cut} tokens, over the limit of {view.limit}; "
        "shorten it, allow truncation (long='truncate'), or read it in windows (long='windows')"
    )


def _unknown_texts(plan: PairPlan, tokens: Mapping[str, Tokens]) -> Iterator[tuple[str, str]]:
    """Names and texts of nothing but unknown tokens, of those that are compared with a text that they are not."""
    noted = [at for at, text in enumerate(plan.texts) if tokens[text].only_unknown]
    if not noted:
        return
    left, right = plan.split(noted)
    for flags in ((left, right | True), (left | True, right)):
        for row, column in plan.pairs_of(*flags):
            x, y = plan.hypotheses[row], plan.references[column]
            side = unknown_only_side(x, y, tokens)
            if side == "hypothesis":
                yield plan.name_hypothesis(row), x
            elif side == "reference":
                yield plan.name_reference(column), y


def _prepare_texts(recipe: TextMetric, plan: PairPlan, options: RunOptions, check: SignatureCheck) -> PreparedPairs:
    signature = text_signature(recipe, "none" if recipe.against == "nothing" else "1")
    check(0, signature)
    notes = check_texts(plan.listed, empty="zero")
    if options.empty == "error":
        plan.refuse_empty(notes[""].empty)
    warn_about_empty(notes, plan.names)
    corpus = Corpus({"": plan.hypotheses}, [(text,) for text in plan.references])
    warn_about_text_language(recipe, corpus)
    return PreparedPairs(plan, PreparedTextMetric(recipe, corpus, notes, signature), notes[""], options)


class VectorStore:
    """Vectors of texts by window; `uses` says in how many windows a text is needed."""

    def __init__(
        self,
        encode: Callable[[list[str]], list[EncodedText]],
        tokens: Mapping[str, Tokens],
        uses: Mapping[str, int],
        *,
        keep: int | None = None,
    ) -> None:
        self._encode = encode
        self._tokens = tokens
        self._left = Counter(uses)
        self._keep = _KEPT_BYTES if keep is None else keep
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._size = 0
        self._features: dict[str, dict[Hashable, Any]] = {}
        self._file: IO[bytes] | None = None
        self._places: dict[str, tuple[int, tuple[int, ...], int]] = {}

    def __enter__(self) -> VectorStore:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def load(self, texts: Iterable[str]) -> dict[str, EncodedText]:
        """The texts of a window, encoded now or before; what recipes derive from them stays in the window."""
        wanted = list(dict.fromkeys(texts))
        new = [text for text in wanted if text not in self._kept and text not in self._places]
        found: dict[str, Vectors] = dict(zip(new, (one.layers for one in self._encode(new)), strict=True))
        for text in wanted:
            if text not in found:
                found[text] = self._kept[text] if text in self._kept else self._read(text)
        loaded = {text: self._text(text, found[text]) for text in wanted}
        for text in wanted:
            self._after_use(text, found[text])
        while self._size > self._keep:
            self._spill()
        return loaded

    def _text(self, text: str, vectors: Vectors) -> EncodedText:
        # Features are small, and what a second model found about a text is worth keeping.
        return EncodedText(self._tokens[text], vectors, text_features=self._features.setdefault(text, {}))

    def _after_use(self, text: str, vectors: Vectors) -> None:
        self._left[text] -= 1
        if text in self._kept:
            self._size -= _bytes(self._kept.pop(text))
        if self._left[text] > 0:
            # A copy, because the array is a part of the batch that it was encoded in.
            self._kept[text] = {layer: np.ascontiguousarray(array).copy() for layer, array in vectors.items()}
            self._size += _bytes(self._kept[text])
        else:
            self._places.pop(text, None)
            self._features.pop(text, None)

    def _spill(self) -> None:
        """Write what was used least recently, unless it is in the file already."""
        text, vectors = self._kept.popitem(last=False)
        self._size -= _bytes(vectors)
        if text in self._places:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="nlgauge-vectors-")  # noqa: SIM115 - closed by __exit__
        start = self._file.seek(0, 2)
        for array in vectors.values():
            self._file.write(array.tobytes())
        width = next((array.shape[1] for array in vectors.values()), 0)
        self._places[text] = (start, tuple(vectors), width)

    def _read(self, text: str) -> Vectors:
        start, layers, width = self._places[text]
        rows = len(self._tokens[text]) if not self._tokens[text].empty else 0
        assert self._file is not None
        self._file.seek(start)
        size = 4 * rows * width
        return {
            layer: np.frombuffer(self._file.read(size), dtype=np.float32).reshape(rows, width) for layer in layers
        }


def _bytes(vectors: Vectors) -> int:
    return sum(array.nbytes for array in vectors.values())


class Tile(NamedTuple):
    """Hypotheses and references, by number, that are compared while their vectors are in memory."""

    block: int
    rows: Sequence[int]
    columns: Sequence[int]
    others: bool
    """Whether a row is not compared with the column of its number."""

    @property
    def pairs(self) -> int:
        """How many are compared."""
        left_out = len({*self.rows} & {*self.columns}) if self.others else 0
        return len(self.rows) * len(self.columns) - left_out

    @property
    def wanted(self) -> NDArray[np.bool_]:
        """Which pairs are compared."""
        if not self.others:
            return np.ones((len(self.rows), len(self.columns)), dtype=bool)
        wanted: NDArray[np.bool_] = np.asarray(self.rows)[:, None] != np.asarray(self.columns)
        return wanted


def tiles_of(plan: PairPlan, tokens: Mapping[str, Tokens], budget: int) -> Iterator[Tile]:
    """Blocks, or parts of those that have more than `budget` tokens; texts of one length stand together."""
    for number, block in enumerate(plan.blocks):
        left = {row: len(tokens[plan.hypotheses[row]]) for row in block.rows}
        right = {column: len(tokens[plan.references[column]]) for column in block.columns}
        rows, columns = sorted(left, key=left.__getitem__), sorted(right, key=right.__getitem__)
        total = sum(left.values()) + sum(right.values())
        most = total if total <= budget else budget // 2
        for some in cut_at(columns, right, most):
            for part in cut_at(rows, left, most):
                yield Tile(number, part, some, block.others)


def windows_of(
    tiles: Iterable[Tile], plan: PairPlan, tokens: Mapping[str, Tokens], budget: int
) -> Iterator[list[Tile]]:
    """Tiles in a row whose texts have at most `budget` tokens together, or single ones."""
    window: list[Tile] = []
    seen, size = set[str](), 0
    for tile in tiles:
        texts = set(texts_of([tile], plan))
        cost = sum(len(tokens[text]) for text in texts - seen)
        if window and size + cost > budget:
            yield window
            window, seen, size = [], set(), 0
            cost = sum(len(tokens[text]) for text in texts)
        window.append(tile)
        seen |= texts
        size += cost
    if window:
        yield window


def texts_of(tiles: Iterable[Tile], plan: PairPlan) -> list[str]:
    """All texts of tiles, each once."""
    found: dict[str, None] = {}
    for tile in tiles:
        found |= dict.fromkeys(plan.hypotheses[row] for row in tile.rows)
        found |= dict.fromkeys(plan.references[column] for column in tile.columns)
    return list(found)


def cut_at(items: Sequence[int], sizes: Mapping[int, int], most: int) -> Iterator[list[int]]:
    """Items in a row whose sizes sum to at most `most`, or single ones."""
    part: list[int] = []
    total = 0
    for item in items:
        if part and total + sizes[item] > most:
            yield part
            part, total = [], 0
        part.append(item)
        total += sizes[item]
    if part:
        yield part
