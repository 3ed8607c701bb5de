"""`nlgauge.matrix`: every text of one list against every text of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.composite import CompositeMetric
from nlgauge.core.corpus import checked_texts
from nlgauge.core.metric import Metric
from nlgauge.core.notes import count_fields
from nlgauge.core.pair_scores import PairComparer, PairNotes
from nlgauge.core.pair_texts import Block, PairPlan, prepare_pairs
from nlgauge.core.prepare import SignatureCheck, prepare_composite
from nlgauge.core.result import Result
from nlgauge.core.run_options import RunOptions
from nlgauge.core.score import SegmentNotes, joined_notes
from nlgauge.core.scoring import AnyMetric, one_metric, resolved_call
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError
from nlgauge.io.table import Cell, Table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import PairKeywords

#: Rows and columns of a matrix that a notebook shows.
_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class ScoreMatrix(Result):
    """Scores of every text of one list against every text of another.

    `scores` is the array (hypotheses, references) of the main component, and what `numpy.asarray` takes it for;
    `components` has all of them, each an attribute too (`found.precision`). The arrays cannot be changed; copy one to
    work on it.
    """

    format = "nlgauge-matrix-1"

    metric: str
    components: Mapping[str, NDArray[np.float64]]
    main: str
    higher_is_better: bool
    signature: Signature
    """As of `nlgauge.score` on all pairs: its counts are of pairs."""
    counts: Mapping[str, int]
    """Pairs with a text that was truncated, is empty, ..."""
    hypothesis_notes: SegmentNotes
    """Numbers of the rows where something had to be decided."""
    reference_notes: SegmentNotes
    """Numbers of such columns."""
    distances: tuple[str, ...] = ()
    """Components that are better when they are lower, beside a main component that is not one of them."""

    def __post_init__(self) -> None:
        for values in self.components.values():
            values.flags.writeable = False
        object.__setattr__(self, "components", MappingProxyType(dict(self.components)))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __getstate__(self) -> dict[str, Any]:
        # The read-only views of mappings do not pickle; their content does.
        return self.__dict__ | {"components": dict(self.components), "counts": dict(self.counts)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def scores(self) -> NDArray[np.float64]:
        """The main component: a row per hypothesis, a column per reference."""
        return self.components[self.main]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of hypotheses and of references."""
        rows, columns = self.scores.shape
        return rows, columns

    def __len__(self) -> int:
        return len(self.scores)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.scores, dtype=dtype) if copy else np.asarray(self.scores, dtype=dtype)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self.components if name.isidentifier())})

    def __getattr__(self, name: str) -> NDArray[np.float64]:
        # Only called for names that are not fields: a component, or an honest error.
        components = self.__dict__.get("components", {})
        if name in components:
            values: NDArray[np.float64] = components[name]
            return values
        msg = f"{self.__dict__.get('metric', 'ScoreMatrix')} has no component {name!r}; it has {list(components)}"
        raise AttributeError(msg)

    def tables(self, form: str = "text") -> list[Table]:
        """The main component, a row per hypothesis; in a notebook the first rows and columns of a large matrix."""
        shown = self.scores[:_SHOWN, :_SHOWN] if form == "html" else self.scores
        notes = [f"{self.metric}, {self.main}: {' x '.join(map(str, self.shape))}", f"signature: {self.signature}"]
        rows: list[list[Cell]] = [[number, *row] for number, row in enumerate(shown.tolist())]
        return [Table(["hypothesis", *map(str, range(shown.shape[1]))], rows, notes=notes)]

    def flat_columns(self) -> dict[str, Any]:
        """A row per pair of texts, with their numbers."""
        rows, columns = np.indices(self.shape)
        values = {name: component.ravel() for name, component in self.components.items()}
        return {"hypothesis": rows.ravel(), "reference": columns.ravel(), **values}

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<{self.metric}: {self.main} of {rows} x {columns} pairs | {self.signature}>"


def count_pairs(a: Sequence[str], b: Sequence[str] | None = None) -> int:
    """Pairs of texts that `matrix` compares."""
    return len(a) * len(a if b is None else b)


def matrix(
    a: Iterable[str],
    b: Iterable[str] | None = None,
    metric: AnyMetric | None = None,
    **options: Unpack[PairKeywords],
) -> ScoreMatrix:
    """Score every text of `a` against every text of `b`; each text is encoded once.

    A number is that of `nlgauge.score([a[i]], [b[j]])`, to the bit, whatever else is in the lists. An idf that is
    counted on the texts at hand (`idf="refs"`) is that of `nlgauge.score` with references `b`: each text of `b` is a
    document, once (and each of `a` under `idf="both"`). A metric that scales scores over a corpus is refused.

    Args:
        a: Hypotheses: a row each.
        b: References, or sources for a metric that compares with them: a column each. Default: `a` itself.
        metric: As `nlgauge.score` has it. Default: BERTScore.
        options: As `nlgauge.score` has them, but for `alignments`.

    Memory: the arrays take 8 bytes per pair and component. Beside them and the model there is less than a
    gigabyte, whatever the number of texts: vectors that do not fit wait in a temporary file.

    >>> found = matrix(["The cat sat.", "It rains."], ["A cat sat.", "Rain fell.", "The cat sat."])
    >>> found.shape, found.scores.argmax(axis=1).tolist()
    ((2, 3), [2, 1])
    """
    recipes, run, check = resolved_call(one_metric(metric, function="matrix"), options)
    plan = _plan(a, b)
    if isinstance(recipes[0], CompositeMetric):
        return _joined(recipes[0], plan, run, check)
    return _scored(recipes[0], plan, run, check)


def _scored(recipe: Metric, plan: PairPlan, run: RunOptions, check: SignatureCheck) -> ScoreMatrix:
    comparer = PairComparer(prepare_pairs(recipe, plan, run, check))
    shape = len(plan.hypotheses), len(plan.references)
    components: dict[str, NDArray[np.float64]] = {}
    for part in comparer:
        for name, values in part.scores.items():
            if name not in components:
                components[name] = np.empty(shape)
            components[name][np.ix_(part.tile.rows, part.tile.columns)] = values
    return _signed(recipe, plan, components, comparer.finish())


def _joined(recipe: CompositeMetric, plan: PairPlan, run: RunOptions, check: SignatureCheck) -> ScoreMatrix:
    """The matrices of the members, which are encoded one after the other, joined."""
    members = [_scored(member, plan, run, lambda number, signature: None) for member in recipe.recipes]
    one = prepare_composite(recipe, (), [Signature(member.metric, member.signature.recipe) for member in members])
    check(0, one.signature)
    joined = recipe.combine([member.scores.ravel() for member in members], one.resolved).segments
    rows, columns = (
        joined_notes([getattr(member, side) for member in members])
        for side in ("hypothesis_notes", "reference_notes")
    )
    height, width = members[0].shape
    counts = {  # pairs of which a text is noted; convergence is a matter of pairs, and of the member with most
        kind: max(member.counts.get(kind, 0) for member in members)
        if kind == "unconverged"
        else height * width - (height - len(getattr(rows, kind))) * (width - len(getattr(columns, kind)))
        for kind in dict.fromkeys(kind for member in members for kind in member.counts)
    }
    return replace(
        members[0],
        hypothesis_notes=rows,
        reference_notes=columns,
        metric=recipe.name,
        components={name: values.reshape(members[0].shape) for name, values in joined.items()},
        main=recipe.main,
        higher_is_better=recipe.higher_is_better,
        signature=Signature(recipe.name, one.signature.recipe, count_fields(counts)),
        counts=counts,
        distances=(),
    )


def _plan(a: Iterable[str], b: Iterable[str] | None) -> PairPlan:
    hypotheses = checked_texts(a, "a")
    references = hypotheses if b is None else checked_texts(b, "b")
    for name, texts in (("a", hypotheses), ("b", references)):
        if not texts:
            msg = f"{name}: the list is empty, so there is nothing to score"
            raise InputError(msg)
    blocks = [Block(range(len(hypotheses)), range(len(references)))]
    name_b = (lambda at: f"a[{at}]") if b is None else (lambda at: f"b[{at}]")
    return PairPlan(hypotheses, references, blocks, lambda at: f"a[{at}]", name_b, same=b is None)


def _signed(
    recipe: Metric, plan: PairPlan, components: Mapping[str, NDArray[np.float64]], found: PairNotes
) -> ScoreMatrix:
    split = {kind: plan.split(at) for kind, at in found.texts.__dict__.items()}
    rows, columns = (
        SegmentNotes(**{kind: tuple(np.flatnonzero(sides[side]).tolist()) for kind, sides in split.items()})
        for side in (0, 1)
    )
    return ScoreMatrix(
        metric=recipe.name,
        components=components,
        main=recipe.main,
        higher_is_better=recipe.higher_is_better,
        signature=found.signature,
        counts=found.counts,
        hypothesis_notes=rows,
        reference_notes=columns,
        distances=tuple(name for name in components if name in recipe.distances),
    )
