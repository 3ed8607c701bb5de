"""The second stage of a run: each hypothesis compared with its references, for any range of segments.

A range is computed in *windows*: ranges of segments whose vectors fit in memory together. The vectors of a window are
dropped before the next one starts, so memory does not grow with the corpus, and a text that several systems,
references or metrics of a window share is encoded and represented once per role.

The values of a segment do not depend on the range it is computed in, nor on what was computed before. (Steps that
look at neighbours by definition get all of them, whatever the range.) Ranges may be computed at the same time, in
threads, or in processes that prepare for themselves.

`Comparisons` are the result: numbers by metric, system and segment. Those of several ranges can be joined in any
order. They become plain data and back (`to_dict`, `from_dict`) bit for bit, so that a file or another machine can
carry them. Each metric is named by the recipe part of its signature, so that comparisons never meet the wrong recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypedDict, TypeVar

import numpy as np

from nlgauge.core.corpus import Corpus
from nlgauge.core.metric import Comparison, Pair
from nlgauge.core.notes import naming_documents
from nlgauge.core.prepare import Prepared, PreparedMetric, segment_texts
from nlgauge.core.run_options import Progress, RunOptions, between_pairs
from nlgauge.core.tokens import Role, TextView, TokenizedCorpus
from nlgauge.core.vector_metric import WindowTexts
from nlgauge.encoders.base import EncodedText, Encoder, encode_texts
from nlgauge.encoders.blas import one_blas_thread
from nlgauge.encoders.cache import EmbeddingCache, VectorFile
from nlgauge.encoders.load import default_threads
from nlgauge.errors import FileFormatError, InputError, TooLongError
from nlgauge.text.tokenizer import Tokens
from nlgauge.vectors.greedy import sharing_long_matches
from nlgauge.vectors.remap import Side
from nlgauge.vectors.transforms import POSITION_BATCH, Transforms

#: By system and segment.
BySystem: TypeAlias = Mapping[str, Mapping[int, Comparison]]

Item = TypeVar("Item")
Part = TypeVar("Part", bound=Hashable)

_FORMAT = "nlgauge-comparisons/1"

#: Bytes of layer vectors that a window may hold.
_WINDOW_BYTES = 128 * 2**20


class PackedSystem(TypedDict):
    """Comparisons of one metric and system as columns."""

    segments: list[int]
    values: list[list[list[float]]]
    """By segment and reference, a value per component."""
    zero_weight: list[int]
    unconverged: list[int]


class _PackedMetric(TypedDict):
    number: int
    recipe: str
    systems: dict[str, PackedSystem]


class _PackedComparisons(TypedDict):
    format: str
    metrics: list[_PackedMetric]


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of some metrics on some segments."""

    record: ClassVar[type] = _PackedComparisons

    recipes: Mapping[int, str]
    """Recipe part of the signature, by number of the metric."""
    found: Mapping[int, BySystem]

    @classmethod
    def join(cls, parts: Iterable[Comparisons]) -> Comparisons:
        """All in one. Where parts overlap they must agree."""
        recipes: dict[int, str] = {}
        found: dict[int, dict[str, dict[int, Comparison]]] = {}
        for part in parts:
            for number, recipe in part.recipes.items():
                known = recipes.setdefault(number, recipe)
                if known != recipe:
                    msg = f"metric {number} must be one recipe in all comparisons, got {known!r} and {recipe!r}"
                    raise InputError(msg)
            for number, systems in part.found.items():
                for system, segments in systems.items():
                    target = found.setdefault(number, {}).setdefault(system, {})
                    for index in target.keys() & segments.keys():
                        if not _same(target[index], segments[index]):
                            msg = f"segment {index} of metric {number} was compared twice, with different results"
                            raise InputError(msg)
                    target.update(segments)
        return cls(recipes, found)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; alignments are large and left out."""
        return {
            "format": _FORMAT,
            "metrics": [
                {"number": number, "recipe": recipe, "systems": pack_systems(self.found.get(number, {}))}
                for number, recipe in self.recipes.items()
            ],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Comparisons:
        """`to_dict` backwards."""
        if record.get("format") != _FORMAT:
            msg = f"format of comparisons must be {_FORMAT!r}, got {record.get('format')!r}"
            raise FileFormatError(msg)
        try:
            metrics = {int(one["number"]): one for one in record["metrics"]}
            return cls(
                {number: str(one["recipe"]) for number, one in metrics.items()},
                {number: unpack_systems(one["systems"]) for number, one in metrics.items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"the record is not one of comparisons: {error!r}"
            raise FileFormatError(msg) from error


def pack_systems(systems: BySystem, *, offset: int = 0) -> dict[str, PackedSystem]:
    """Comparisons of one metric as plain columns; `offset` is taken off the segments' numbers."""
    packed: dict[str, PackedSystem] = {}
    for system, segments in systems.items():
        indices = sorted(segments)
        packed[system] = {
            "segments": [index - offset for index in indices],
            "values": [segments[index].values.tolist() for index in indices],
            "zero_weight": [index - offset for index in indices if segments[index].zero_weight],
            "unconverged": [index - offset for index in indices if segments[index].unconverged],
        }
    return packed


def unpack_systems(packed: Mapping[str, Any], *, offset: int = 0) -> dict[str, dict[int, Comparison]]:
    """`pack_systems` backwards."""
    found: dict[str, dict[int, Comparison]] = {}
    for system, columns in packed.items():
        zero, unconverged = set(columns["zero_weight"]), set(columns["unconverged"])
        found[system] = {
            index + offset: Comparison(
                np.array(values, dtype=np.float64), zero_weight=index in zero, unconverged=index in unconverged
            )
            for index, values in zip(columns["segments"], columns["values"], strict=True)
        }
    return found


def _same(one: Comparison, other: Comparison) -> bool:
    flags = (one.zero_weight, one.unconverged) == (other.zero_weight, other.unconverged)
    return flags and np.array_equal(one.values, other.values, equal_nan=True)


def compare(prepared: Prepared, segments: range | None = None, *, only: Collection[int] | None = None) -> Comparisons:
    """Compare the segments (default: all) under every metric that looks at vectors, or `only` those numbers."""
    segments = _checked(prepared, segments)
    found: dict[int, Mapping[str, Mapping[int, Comparison]]] = {}
    for group in prepared.groups:
        chosen = {number: one for number, one in group.metrics.items() if only is None or number in only}
        if chosen:
            found |= _compare_group(chosen, segments, prepared.options)
    return Comparisons({number: prepared.metrics[number].signature.recipe_part for number in sorted(found)}, found)


def planned_encodings(prepared: Prepared) -> Iterator[tuple[Encoder, tuple[int, ...], list[Tokens]]]:
    """What `compare` will encode: distinct texts, by encoder and layers.

    For whoever encodes the texts of several runs together, before each is compared.
    """
    for group in prepared.groups:
        members = list(group.metrics.values())
        tokens = members[0].tokenized.tokens
        texts = distinct_texts(members, prepared.segments)
        yield group.encoder, layers_of(members), [tokens[text] for text in texts]


def layers_of(metrics: Iterable[PreparedMetric]) -> tuple[int, ...]:
    """All layers that the metrics need, in order."""
    return tuple(sorted({layer for one in metrics for layer in one.state.layers}))


def _checked(prepared: Prepared, segments: range | None) -> range:
    if segments is None:
        return prepared.segments
    if segments.step != 1 or not 0 <= segments.start <= segments.stop <= len(prepared):
        msg = f"segments must be a range within 0 to {len(prepared)} in steps of 1, got {segments!r}"
        raise InputError(msg)
    return segments


def _compare_group(
    metrics: Mapping[int, PreparedMetric], segments: range, options: RunOptions
) -> dict[int, dict[str, dict[int, Comparison]]]:
    """Metrics that share an encoding; each text of a window is encoded once for all of them."""
    members = list(metrics.values())
    layers = layers_of(members)
    planned = list(windows(members, segments, len(layers)))
    encodings = encode_windows(
        members[0].tokenized, layers, [distinct_texts(members, window) for window in planned], options
    )
    found: dict[int, dict[str, dict[int, Comparison]]] = {
        number: {system: {} for system in one.corpus.systems} for number, one in metrics.items()
    }
    threads = options.threads or default_threads()
    for window, encoded in zip(planned, encodings, strict=True):
        for number, one in metrics.items():
            corpus = one.corpus
            hypotheses = (system[index] for index in window for system in corpus.systems.values())
            references = (text for index in window for text in corpus.references[index])
            run_text_models(one, hypotheses, references, encoded)
            with one_blas_thread, sharing_long_matches(threads, between_pairs):
                _compare_window(one, Representations(one, encoded), window, found[number], options.alignments)
    return found


def encode_windows(
    view: TokenizedCorpus,
    layers: tuple[int, ...],
    windows: Sequence[Sequence[str]],
    options: RunOptions,
    *,
    keep: VectorFile | None = None,
) -> Iterator[dict[str, EncodedText]]:
    """The texts of each window with their vectors; `keep` has those that a later window needs again."""
    tokens, encoder = view.tokens, view.encoder
    total = sum(len(tokens[text]) for texts in windows for text in texts)
    cache: EmbeddingCache | VectorFile | None = keep
    if options.cache is not None and encoder.cacheable:  # those of a table in memory are not worth keeping
        cache = EmbeddingCache(options.cache, gigabytes=options.cache_size)
    with Progress(total, show=options.progress) as advance:
        for texts in windows:
            vectors = encode_texts(
                encoder,
                [tokens[text] for text in texts],
                layers,
                batch_tokens=options.batch_tokens,
                advance=advance,
                cache=cache,
            )
            yield dict(zip(texts, vectors, strict=True))


def _compare_window(
    prepared: PreparedMetric,
    representations: Representations,
    window: range,
    found: Mapping[str, dict[int, Comparison]],
    align: bool,
) -> None:
    for system in prepared.corpus.systems:
        for index in window:
            between_pairs()
            found[system][index] = _comparison(prepared, representations, system, index, align=align)


def _comparison(
    prepared: PreparedMetric, representations: Representations, system: str, index: int, *, align: bool
) -> Comparison:
    """One hypothesis against each of its references; what is too long for the metric is named."""
    try:
        return _compared(prepared, representations, system, index, align=align)
    except TooLongError as error:
        msg = f"{prepared.corpus.names.place(system, index)}: {error}"
        raise TooLongError(msg) from error


def _compared(
    prepared: PreparedMetric, representations: Representations, system: str, index: int, *, align: bool
) -> Comparison:
    """Row by row, one for each reference; a side without a token is None."""
    corpus, tokens = prepared.corpus, prepared.tokenized.tokens
    hypothesis, texts = corpus.systems[system][index], corpus.references[index]
    x = representations.of(hypothesis, system, index)
    references = [representations.of(text, None, index) for text in texts]
    sides = prepared.counted_empty.get((system, index), [None] * len(references))
    pairs = []
    for y, side in zip(references, sides, strict=True):
        left = representations.empty(system) if side == "hypothesis" else x
        right = representations.empty(None) if side == "reference" else y
        pairs.append(compare_pair(prepared, left, right, align=align))
    zero_weight = any(
        has_no_weight(made, tokens[text]) for made, text in zip([x, *references], [hypothesis, *texts], strict=True)
    )
    alignments = None
    if align:
        alignments = tuple(
            None if pair.alignment is None else replace(pair.alignment, reference_index=row)
            for row, pair in enumerate(pairs)
        )
    values = np.array([pair.values for pair in pairs], dtype=np.float64)
    return Comparison(values, alignments, zero_weight, not all(pair.converged for pair in pairs))


def compare_pair(prepared: PreparedMetric, x: Any, y: Any, *, align: bool = False) -> Pair:
    """A hypothesis against a reference; a side without a token is None, which the metric may have no value for."""
    metric = prepared.metric
    if metric.empty_value is not None and (x is None or y is None):
        return Pair([metric.empty_value] * len(metric.components))
    return metric.compare(x, y, prepared.state, align=align)


def has_no_weight(representation: Any, tokens: Tokens) -> bool:
    """Whether idf, or the removal of tokens, left nothing of a text."""
    return getattr(representation, "zero_weight", False) or (representation is None and not tokens.empty)


def windows(metrics: Sequence[PreparedMetric], segments: range, layers: int) -> Iterator[range]:
    """Ranges that make up `segments`, each with at most as many tokens as fit (or a single segment, or batch)."""
    tokens, budget = metrics[0].tokenized.tokens, window_budget(metrics[0].tokenized.encoder, layers)
    blocks = _blocks(segments, batch_size(metrics))
    for window in fill(blocks, partial(distinct_texts, metrics), lambda text: len(tokens[text]), budget):
        yield range(window[0].start, window[-1].stop)


def fill(
    items: Iterable[Item], parts_of: Callable[[Item], Iterable[Part]], size_of: Callable[[Part], int], most: int
) -> Iterator[list[Item]]:
    """Items in a row whose parts, each counted once, have at most that size together, or single ones."""
    taken: list[Item] = []
    seen, size = set[Part](), 0
    for item in items:
        parts = set(parts_of(item))
        cost = sum(map(size_of, parts - seen))
        if taken and size + cost > most:
            yield taken
            taken, seen, size = [], set(), 0
            cost = sum(map(size_of, parts))
        taken.append(item)
        seen |= parts
        size += cost
    if taken:
        yield taken


def window_budget(encoder: Encoder, layers: int) -> int:
    """Tokens whose vectors of so many layers fit in a window."""
    return _WINDOW_BYTES // (4 * encoder.hidden_size * max(1, layers))


def ranges(prepared: Prepared, outputs: int) -> Iterator[range]:
    """All segments in ranges of about so many outputs of systems; where they are cut moves no score."""
    batch = batch_size(list(prepared.compared.values()))
    step = max(1, outputs // len(prepared.corpus.systems) // batch) * batch
    return (range(start, min(start + step, len(prepared))) for start in range(0, len(prepared), step))


def distinct_texts(metrics: Sequence[PreparedMetric], segments: range) -> list[str]:
    """All texts that the segments need, each once: also those of neighbours, where a metric looks at them."""
    views: list[Corpus] = list({id(metric.corpus): metric.corpus for metric in metrics}.values())
    wanted = whole_batches(metrics, segments)
    stand_in = [""] if any(metric.counted_empty for metric in metrics) else []
    return list(dict.fromkeys([*stand_in, *(text for index in wanted for text in segment_texts(views, index))]))


def batch_size(metrics: Sequence[PreparedMetric]) -> int:
    """Segments that are looked at together: 1, unless a metric's vectors depend on neighbours."""
    return POSITION_BATCH if any(metric.uses_neighbours for metric in metrics) else 1


def whole_batches(metrics: Sequence[PreparedMetric], segments: range) -> range:
    """The segments with the rest of the batches that they begin and end in."""
    size, count = batch_size(metrics), len(metrics[0].corpus)
    return range(segments.start - segments.start % size, min(-(-segments.stop // size) * size, count))


def _blocks(segments: range, size: int) -> Iterator[range]:
    """The segments cut at multiples of `size`."""
    start = segments.start
    while start < segments.stop:
        stop = min(start - start % size + size, segments.stop)
        yield range(start, stop)
        start = stop


def run_text_models(
    prepared: PreparedMetric,
    hypotheses: Iterable[str],
    references: Iterable[str],
    encoded: Mapping[str, EncodedText],
) -> None:
    """Let the metric's further models read the texts of a window; what they find stays with each text."""
    stand_in = [""] if prepared.counted_empty else []
    left, right = (list(dict.fromkeys([*texts, *stand_in])) for texts in (hypotheses, references))
    with naming_documents(prepared.corpus):
        prepared.metric.run_text_models(WindowTexts(encoded, left, right), prepared.state)


class Representations:
    """Made when they are asked for, and kept as long as the window is."""

    def __init__(self, prepared: PreparedMetric, encoded: Mapping[str, EncodedText]) -> None:
        self._prepared = prepared
        self._encoded = encoded
        self._made: dict[Hashable, Any] = {}
        self._batches: dict[tuple[str | None, int], list[EncodedText]] = {}

    def empty(self, system: str | None) -> Any:
        """Of a text without a token, in the place of a system's output (None: of a reference)."""
        metric, state, role = self._prepared.metric, self._prepared.state, self._role(system)
        if metric.empty_value is not None:
            return None
        return metric.represent(TextView(self._encoded[""], role, state.encoder.tokenizer), state)

    def of(self, text: str, system: str | None, index: int) -> Any:
        """Of a system's output (None: of a reference) in a segment."""
        metric, state, near = self._prepared.metric, self._prepared.state, self._prepared.uses_neighbours
        role = self._role(system)
        key: Hashable = (system, index, text) if near else (text, role)
        if key not in self._made:
            encoded = self._encoded[text]
            if state.transforms is not None:
                if near:
                    encoded = self._among_neighbours(state.transforms, system, index)
                else:
                    encoded = state.transforms.apply(encoded, self._language_side(system))
            view = TextView(encoded, role, state.encoder.tokenizer, state.idf.of(role))
            skipped = encoded.tokens.empty and metric.empty_value is not None
            self._made[key] = None if skipped else metric.represent(view, state)
        return self._made[key]

    def _role(self, system: str | None) -> Role:
        if system is None:
            return Role("source" if self._prepared.corpus.against_source else "reference")
        return Role("hypothesis", system if self._prepared.metric.tells_systems_apart else None)

    def _language_side(self, system: str | None) -> Side:
        return "source" if system is None and self._prepared.corpus.against_source else "target"

    def _among_neighbours(self, transforms: Transforms, system: str | None, index: int) -> EncodedText:
        first = index - index % POSITION_BATCH
        if (system, first) not in self._batches:
            corpus = self._prepared.corpus
            batch = range(first, min(first + POSITION_BATCH, len(corpus)))
            texts = [corpus.references[at][0] if system is None else corpus.systems[system][at] for at in batch]
            encoded = [self._encoded[text] for text in texts]
            self._batches[system, first] = transforms.apply_together(encoded, self._language_side(system))
        return self._batches[system, first][index - first]
