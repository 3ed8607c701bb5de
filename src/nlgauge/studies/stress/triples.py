"""Adversarial triples: a text A, a paraphrase B with few words of A, and a lookalike C with many.

A metric of meaning should score (A, B) above (A, C). A is the reference, and a tie is not a win:

    share = |{ m(A, B) > m(A, C) }| / n

Triples come from a data set in the format of `paws` (each A in two rows, one of them a paraphrase), from a file with
columns `anchor`, `paraphrase` and `lookalike`, or are generated:

    permute_nouns    C is A with its singular common nouns permuted (as published: tokens tagged NN, at least two)
    paws_triples     from the labelled pairs of PAWS: B is the paraphrase with the least overlap, C the lookalike with
                     the most; B must have less overlap than C, each sentence is used once, and the triples with the
                     largest gap are kept (D14)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Float, Int
from nlgauge.core.metric import reads_sources
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Result
from nlgauge.core.scoring import Metrics, metric_list, metric_text, recipes_and_run, score_systems
from nlgauge.core.short_signature import format_signature
from nlgauge.core.signature import Signature
from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import FileFormatError, InputError
from nlgauge.io.canvas import WIDEST, finish_figure, legend_entries, new_panels, panel_grid, series_styles, shorten
from nlgauge.io.storage import short_digest, text_digest, write_atomic
from nlgauge.io.table import LINE, Cell, Table
from nlgauge.io.tables import check_header, parse_table, read_bytes, read_tsv
from nlgauge.stats.numeric import orient
from nlgauge.stats.resampling import bootstrap_mean
from nlgauge.studies.factors.columns import bleu1
from nlgauge.studies.stress.perturbations import permuted
from nlgauge.text.annotation import Annotator, annotate_each
from nlgauge.text.words import treebank_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from nlgauge.core.keywords import TripleKeywords

#: Columns of a file of triples.
COLUMNS = ("anchor", "paraphrase", "lookalike")


class Triple(NamedTuple):
    """Three texts."""

    anchor: str
    """A."""
    paraphrase: str
    """B: the same meaning, in other words."""
    lookalike: str
    """C: many words of A, another meaning."""

    @property
    def overlaps(self) -> tuple[float, float]:
        """Share of A's words in B, and in C: BLEU-1 with A as the hypothesis, with case."""
        words = treebank_words(self.anchor)
        of_b, of_c = (bleu1(treebank_words(other), words) for other in (self.paraphrase, self.lookalike))
        return of_b, of_c


@dataclass(frozen=True, eq=False)
class Triples:
    """Triples of one origin, in order."""

    name: str
    triples: tuple[Triple, ...]
    released: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Scores in the data, by metric: a row of m(A, B) and one of m(A, C)."""
    skipped: int = 0
    """Texts that could not be made into a triple."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "triples", tuple(self.triples))
        if not self.triples:
            msg = f"{self.name} contains no triples"
            raise InputError(msg)
        for number, triple in enumerate(self.triples):
            empty = [name for name, text in zip(COLUMNS, triple, strict=True) if not text.strip()]
            if empty:
                msg = f"{self.name}, triple {number}: {', '.join(empty)} must not be empty"
                raise InputError(msg)

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def label(self) -> str:
        """Name, number and digest of the texts, for signatures."""
        return f"{self.name}[{len(self)},{short_digest(text_digest(repr(self.triples)))}]"

    @property
    def overlaps(self) -> NDArray[np.float64]:
        """Overlap of A with B (first row) and with C (second row)."""
        return np.array([triple.overlaps for triple in self.triples]).T


def triples_of_table(table: JudgementTable) -> Triples:
    """Collect the triples of a data set in the format of `paws`: a topic is an A, judged 1 with B and 0 with C."""
    gold = table.gold("paraphrase")
    topics = table.topic
    if topics is None:
        msg = f"{table.name} has no topics, which triples need (see data set 'paws')"
        raise InputError(msg)
    places: dict[str, dict[float, int]] = {}
    for row, topic in enumerate(topics):
        if gold[row] in places.setdefault(topic, {}):
            msg = f"{table.name}: {topic!r} has two rows judged {gold[row]:g}; expected one row with 1 and one with 0"
            raise InputError(msg)
        places[topic][gold[row]] = row
    incomplete = [topic for topic, pair in places.items() if len(pair) < 2]
    complete = [(pair[1.0], pair[0.0]) for pair in places.values() if len(pair) == 2]
    rows = np.array(complete, dtype=np.intp).T
    return Triples(
        table.name,
        tuple(Triple(topics[b], table.hypothesis[b], table.hypothesis[c]) for b, c in complete),
        {name: values[rows] for name, values in table.released.items()} if complete else {},
        len(incomplete),
    )


def load_triples(path: str | os.PathLike[str]) -> Triples:
    """Read triples from a .tsv or .jsonl file with the columns anchor, paraphrase and lookalike."""
    name = os.fspath(path)
    suffix = Path(name).suffix.lower()
    if suffix not in (".tsv", ".jsonl"):
        msg = (
            f"cannot read triples from {name!r}; give a .tsv or .jsonl file with the columns {', '.join(COLUMNS)}, "
            "or a set (freitag, paws)"
        )
        raise FileFormatError(msg)
    header, rows = parse_table(read_bytes(name), name, "tsv" if suffix == ".tsv" else "jsonl")
    check_header(header, COLUMNS, name)
    return Triples(Path(name).name, tuple(Triple(*(row.text(column) for column in COLUMNS)) for row in rows))


def save_triples(triples: Triples, path: str | os.PathLike[str]) -> None:
    """Write the triples as a .tsv file for `load_triples`; tabs and line ends in texts become spaces."""
    rows = ("\t".join(" ".join(text.split()) for text in triple) for triple in triples.triples)
    lines = ["\t".join(COLUMNS), *rows]
    write_atomic(Path(path), ("\n".join(lines) + "\n").encode())


#: The published seed.
_SEED = 42


class LabelledPair(NamedTuple):
    """Two sentences with a label: paraphrase or not."""

    first: str
    second: str
    paraphrase: bool


def permute_nouns(
    anchors: Sequence[str], paraphrases: Sequence[str], annotator: Annotator, *, seed: int = _SEED
) -> Triples:
    """Make triples whose lookalike is the anchor with its nouns permuted.

    Anchors with fewer than two nouns, or that the annotator refuses, are left out and counted. The order depends only
    on the seed and the anchor. The published lookalikes are words joined by spaces; here only the nouns move (D14).
    """
    if len(anchors) != len(paraphrases):
        msg = f"each anchor needs a paraphrase, got {len(anchors)} anchors and {len(paraphrases)} paraphrases"
        raise InputError(msg)
    annotated = annotate_each(annotator, anchors)
    triples = []
    for anchor, paraphrase in zip(anchors, paraphrases, strict=True):
        text = annotated[anchor]
        lookalike = None if text is None else permuted(text, seed=seed)
        if lookalike is not None:
            triples.append(Triple(anchor, paraphrase, lookalike))
    if not triples:
        msg = f"none of the {len(anchors)} anchors has two different nouns to permute"
        raise InputError(msg)
    return Triples(f"nouns[seed {seed},{annotator.label}]", tuple(triples), skipped=len(anchors) - len(triples))


def load_paws_pairs(path: str | os.PathLike[str]) -> list[LabelledPair]:
    """Read labelled pairs from a PAWS file: `id`, `sentence1`, `sentence2` and `label`, with a header."""
    name = os.fspath(path)
    rows = read_tsv(name, needed=("sentence1", "sentence2", "label"))
    return [
        LabelledPair(row.text("sentence1"), row.text("sentence2"), row.integer("label", low=0, high=1) == 1)
        for row in rows
    ]


def paws_triples(pairs: Iterable[LabelledPair], *, most: int = 300, name: str = "paws") -> Triples:
    """Make triples from labelled pairs, sorted by the gap between the two overlaps.

    For a sentence A, lookalikes are the second sentences of pairs (A, C) with label 0, and paraphrases the first
    sentences of pairs (B, A) with label 1, as in the released code.
    """
    listed = list(pairs)
    paraphrases: dict[str, list[str]] = {}
    lookalikes: dict[str, list[str]] = {}
    for pair in listed:
        if pair.paraphrase:
            paraphrases.setdefault(pair.second, []).append(pair.first)
        else:
            lookalikes.setdefault(pair.first, []).append(pair.second)
    candidates: list[tuple[float, Triple]] = []
    used: set[str] = set()
    for anchor in lookalikes:
        if anchor in used or anchor not in paraphrases:
            continue
        chosen = _nearest_and_farthest(anchor, paraphrases[anchor], lookalikes[anchor], used)
        if chosen is not None:
            used |= set(chosen[1])
            candidates.append(chosen)
    if not candidates:
        msg = f"no sentence of the {len(listed)} pairs has a paraphrase with less overlap than one of its lookalikes"
        raise InputError(msg)
    best = sorted(candidates, key=lambda candidate: -candidate[0])[:most]
    return Triples(name, tuple(triple for _, triple in best), skipped=len(lookalikes) - len(candidates))


def _nearest_and_farthest(
    anchor: str, paraphrases: Sequence[str], lookalikes: Sequence[str], used: set[str]
) -> tuple[float, Triple] | None:
    words = treebank_words(anchor)

    def overlap(text: str) -> float:
        return bleu1(words, treebank_words(text))

    of_b = [text for text in paraphrases if text not in used]
    of_c = [text for text in lookalikes if text not in used]
    if not of_b or not of_c:
        return None
    b, c = min(of_b, key=overlap), max(of_c, key=overlap)
    gap = overlap(c) - overlap(b)
    return (gap, Triple(anchor, b, c)) if gap > 0 and b != c else None


@dataclass(frozen=True, kw_only=True)
class DrawOptions(OptionSet):
    """Options of bootstrap confidence intervals."""

    called: ClassVar[str] = "options of intervals"

    seed: int = seed_option()
    level: float = option(0.95, Float(above=0, below=1), help="confidence level", metavar="P", hidden=True)
    resamples: int = option(1000, Int(1), help="bootstrap resamples for intervals", hidden=True, limit=10_000)

    @property
    def drawing(self) -> dict[str, Any]:
        """Keyword arguments of resampling functions."""
        return {"level": self.level, "resamples": self.resamples, "seed": self.seed}

    @property
    def signed_intervals(self) -> dict[str, str]:
        """Fields of the signature."""
        return {"interval": f"{self.level:g}", "resamples": str(self.resamples)}


@dataclass(frozen=True, eq=False)
class TripleWins:
    """One metric on all triples."""

    computed: ClassVar[tuple[str, ...]] = ("share", "ties", "mean_paraphrase", "mean_lookalike", "effect")

    metric: str
    paraphrase: NDArray[np.float64]
    """m(A, B)."""
    lookalike: NDArray[np.float64]
    """m(A, C)."""
    higher_is_better: bool = True
    signature: str = ""
    interval: tuple[float, float] | None = None
    """Confidence interval of the share; None for a single triple."""

    @property
    def differences(self) -> NDArray[np.float64]:
        """m(A, B) - m(A, C), negated for distances: above 0 the paraphrase wins."""
        return orient(self.paraphrase - self.lookalike, higher_is_better=self.higher_is_better)

    @property
    def share(self) -> float:
        """Share of triples whose paraphrase wins."""
        return float(np.mean(self.differences > 0))

    @property
    def ties(self) -> float:
        """Share of triples with equal scores."""
        return float(np.mean(self.differences == 0))

    @property
    def mean_paraphrase(self) -> float:
        """Mean of m(A, B)."""
        return float(self.paraphrase.mean())

    @property
    def mean_lookalike(self) -> float:
        """Mean of m(A, C)."""
        return float(self.lookalike.mean())

    @property
    def effect(self) -> float:
        """Mean difference in standard deviations of the metric's scores, comparable between metrics."""
        spread = float(np.concatenate([self.paraphrase, self.lookalike]).std())
        return float(self.differences.mean()) / spread if spread > 0 else 0.0

    def with_interval(self, options: DrawOptions) -> TripleWins:
        """Add the confidence interval of the share."""
        if len(self.differences) < 2:
            return self
        drawn = bootstrap_mean((self.differences > 0).astype(np.float64), **options.drawing)
        return replace(self, interval=(max(0.0, drawn.low), min(1.0, drawn.high)))

    def draw(self, axes: Any, colours: Sequence[str]) -> None:
        """Both distributions, with lines at their means."""
        both = np.concatenate([self.paraphrase, self.lookalike])
        low, high = float(both.min()), float(both.max())
        edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
        for values, colour in zip((self.paraphrase, self.lookalike), colours, strict=True):
            share = np.full(len(values), 1 / len(values))
            axes.hist(values, bins=edges, weights=share, color=colour, alpha=0.55)
            axes.axvline(float(values.mean()), color=colour, linestyle="--", linewidth=1.2)
        within = "" if self.interval is None else " ({:.0%} to {:.0%})".format(*self.interval)
        axes.set_title(f"{shorten(self.metric)}: B wins {self.share:.1%}{within}", loc="left", fontsize=8)
        axes.tick_params(labelsize=7)


#: Legend and bins of a figure.
_SERIES, _BINS = ("paraphrase: m(A, B)", "lookalike: m(A, C)"), 30


class Overlap(NamedTuple):
    """Mean share of A's words in the other texts of a triple."""

    paraphrase: float
    lookalike: float


@dataclass(frozen=True, eq=False)
class TripleStudy(Result):
    """Results of all metrics on one set of triples."""

    format = "nlgauge-triple-study-1"
    decimals = 3
    line = LINE

    name: str
    """Name of the set."""
    signature: Signature
    """Signature of the study; each metric also has a signature."""
    triples: int
    """Number of triples."""
    skipped: int
    """Texts that could not be made into a triple."""
    overlap: Overlap
    metrics: tuple[TripleWins, ...]

    @classmethod
    def of(cls, triples: Triples, metrics: Iterable[TripleWins], options: DrawOptions) -> TripleStudy:
        """Make the study of metrics on triples."""
        intervals = options.signed_intervals | {"seed": str(options.seed)}
        fields = {"texts": triples.label, "reference": "anchor", **intervals}
        return cls(
            triples.name,
            Signature("triples", fields),
            len(triples),
            triples.skipped,
            Overlap(*triples.overlaps.mean(axis=1).tolist()),
            tuple(wins.with_interval(options) for wins in metrics),
        )

    @property
    def level(self) -> float:
        """Confidence level of the intervals."""
        return float(self.signature.recipe["interval"])

    def tables(self, form: str = "text") -> list[Table]:
        """A row per metric."""
        rows: list[list[Cell]] = []
        for wins in self.metrics:
            means = [wins.mean_paraphrase, wins.mean_lookalike]
            rows.append([wins.metric, wins.share, *(wins.interval or (None, None)), wins.ties, *means, wins.effect])
        skipped = f"; {self.skipped} texts left out (no triple possible)" * bool(self.skipped)
        notes = [
            f"signature: {format_signature(self.signature)}",
            f"{self.triples} triples; overlap of A with paraphrases B {self.overlap.paraphrase:.3f}, "
            f"with lookalikes C {self.overlap.lookalike:.3f}{skipped}",
            f"B wins: share of triples with m(A, B) above m(A, C); low, high: {self.level:.0%} interval",
            "effect: mean of m(A, B) - m(A, C) in standard deviations; below 0 the metric prefers lookalikes",
            *(f"{wins.metric}: {format_signature(wins.signature)}" for wins in self.metrics if wins.signature),
        ]
        columns = ["metric", "B wins", "low", "high", "ties", "m(A,B)", "m(A,C)", "effect"]
        return [Table(columns, rows, f"adversarial triples: {self.name}", notes)]

    def figure(self) -> Any:
        """A panel for each metric: both distributions, with lines at their means."""
        rows, columns = panel_grid(len(self.metrics), most_columns=3)
        figure, panels = new_panels(rows, columns, width=min(WIDEST, 3.6 * columns), height=2.3)
        styles = series_styles(_SERIES)
        for axes, wins in zip(panels, self.metrics, strict=False):
            wins.draw(axes, [style.colour for style in styles.values()])
        for axes in panels[len(self.metrics) :]:
            axes.set_visible(False)
        finish_figure(
            figure,
            title=f"{self.name}: scores of paraphrases (low overlap) and lookalikes (high overlap)",
            caption=f"{self.triples} triples. Bars: share of triples per bin; dashed: means. In parentheses: "
            f"{self.level:.0%} intervals of the share (bootstrap, seed {self.signature.recipe['seed']}).",
            legend=(legend_entries(styles, kind="bar"), list(styles)),
        )
        return figure


def released_wins(triples: Triples, metric: str | Sequence[str] | None = None, **options: Any) -> TripleStudy:
    """Make the study from scores in the data, of all metrics or some; options are `DrawOptions`."""
    names = list(triples.released) if metric is None else [metric] if isinstance(metric, str) else list(metric)
    for name in names:
        if name not in triples.released:
            available = ", ".join(triples.released) or "none"
            msg = f"{triples.name} has no released scores of {name!r}; it has {available}"
            raise InputError(msg)
    scores = {name: triples.released[name] for name in names}
    wins = [TripleWins(name, own[0], own[1], signature="released") for name, own in scores.items()]
    return TripleStudy.of(triples, wins, DrawOptions.of(options))


def score_triples(triples: Triples, metric: Metrics | None = None, **options: Unpack[TripleKeywords]) -> TripleStudy:
    """Score B and C against A; options are `DrawOptions` and those of `nlgauge.score`.

    A is the reference, or the source for metrics that compare with sources. Idf is counted on the anchors, as on any
    references.
    """
    keywords: dict[str, Any] = dict(options)
    own = DrawOptions.take(keywords)
    metrics = metric_list(metric)
    recipes, _ = recipes_and_run(metrics, keywords)
    anchors = [entry.anchor for entry in triples.triples]
    systems = {
        "paraphrase": [entry.paraphrase for entry in triples.triples],
        "lookalike": [entry.lookalike for entry in triples.triples],
    }
    with_source = reads_sources(recipes)
    scores = score_systems(systems, anchors, metrics, sources=anchors if with_source else None, **keywords)
    wins = []
    for number, text in enumerate(map(metric_text, metrics)):
        b, c = scores[2 * number : 2 * number + 2]
        values = b.segments[b.main], c.segments[c.main]
        wins.append(TripleWins(text, *values, b.higher_is_better, b.signature.recipe_part))
    return TripleStudy.of(triples, wins, own)
