"""BERTScore (Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR 2020).

With unit token vectors x of the hypothesis and y of the reference, and idf weights (equations of section 3):

    P = sum_i idf(x_i) max_j x_i.y_j / sum_i idf(x_i)
    R = sum_j idf(y_j) max_i x_i.y_j / sum_j idf(y_j)        F = 2PR / (P + R)

and with a baseline b, the score of random pairs:  (s - b) / (1 - b)  for each of P, R, F on its own.

As in the released implementation (bert-score 0.3.13): special tokens can be matched but weigh 0; idf comes
from the references, each a document; the F of several references is the highest. Where it and this file
differ: a token whose cosines are all negative keeps its negative maximum here, while there padding of a
longer neighbour lets it score 0; a text that idf leaves without weight gets uniform weights here, and NaN
(F: 0) there;
P and R come from the reference with the best F unless `multiref="best-each"` asks for the published rule;
a missing baseline is an error here, and a raw score labelled rescaled there.

Stop words are removed after encoding, so the other vectors keep their context (Chen et al. 2022, who vary them).
The code of that study looks words up as single pieces: a stop word of several pieces becomes [UNK], and all [UNK]
tokens of a text go with it. Here a token goes if it starts a word and is spelt like a stop word, as in MoverScore,
and [UNK] stays. A text of nothing but stop words scores 0, and is counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from nlgauge.clouds.alignments import Alignment
from nlgauge.clouds.cloud import Cloud, idf_weights, unit_rows
from nlgauge.clouds.filters import TokenFilter, kept_tokens
from nlgauge.corpus.idf_tables import IdfBySide, counts_idf, idf_by_side, idf_side
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.encoders import EncodedText, Encoder
from nlgauge.errors import RecipeError
from nlgauge.files.digests import short_digest
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.recipes.defaults import default_layer
from nlgauge.recipes.metric import CloudMetric, Comparison, Finished, number_or, option
from nlgauge.recipes.run_options import RunOptions
from nlgauge.text import StopWords, TextTokenizer, Tokens, load_stopwords
from nlgauge.transport import GreedyMatch, greedy_match

__all__ = ["BERTScore"]

MULTIREF_RULES = ("best-f", "best-each", "mean")

#: Before the language of a baseline that comes with the library, in a signature.
_SHIPPED = "shipped-"


@dataclass(frozen=True, eq=False)
class BERTScoreState:
    """What a run of BERTScore fixed before the first pair."""

    layer: int
    idf: IdfBySide
    baseline: Baseline | None
    baseline_origin: str
    tokenizer: TextTokenizer
    stopwords: StopWords
    filter: TokenFilter


@dataclass(frozen=True, kw_only=True)
class BERTScore(CloudMetric[BERTScoreState, Cloud]):
    """Greedy cosine matching of token vectors: precision, recall, F.

    >>> BERTScore(layer=4, idf="refs")  # doctest: +ELLIPSIS
    BERTScore(model='minilm', ..., layer=4, idf='refs', multiref='best-f', rescale='no', stopwords='none')
    """

    name: ClassVar[str] = "bertscore"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    main: ClassVar[str] = "f1"
    higher_is_better: ClassVar[bool] = True
    signature_fields: ClassVar[tuple[str, ...]] = ("layer", "idf", "multiref", "rescale", "stopwords")
    citation: ClassVar[str] = """\
@inproceedings{zhang2020bertscore,
  title     = {{BERTScore}: Evaluating Text Generation with {BERT}},
  author    = {Zhang, Tianyi and Kishore, Varsha and Wu, Felix and Weinberger, Kilian Q. and Artzi, Yoav},
  booktitle = {International Conference on Learning Representations},
  year      = {2020},
  url       = {https://openreview.net/forum?id=SkeHuCVFDr}
}"""

    layer: int | None = option(
        None,
        parse=number_or("default", int),
        help="a layer's number (0 is the embeddings), or 'default' for the model's",
    )
    idf: str = option(
        "none", parse=str, help="none, refs, both (each side's own), or a file made by 'nlgauge idf build'"
    )
    multiref: str = option("best-f", parse=str, help="rule for several references: best-f, best-each or mean")
    rescale: str = option(
        "no", parse=str, help="no, yes (the shipped baseline), or a baseline file made by 'nlgauge baseline build'"
    )

    stopwords: str = option("none", parse=str, help="none, spacy-LANG, iso-LANG, nltk-LANG, or a file of words")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rescale, bool):  # rescale=True reads well in Python
            object.__setattr__(self, "rescale", "yes" if self.rescale else "no")
        if self.multiref not in MULTIREF_RULES:
            msg = f"multiref must be one of {', '.join(MULTIREF_RULES)}, got {self.multiref!r}"
            raise RecipeError(msg)
        if self.layer is not None:
            whole = isinstance(self.layer, int | np.integer) and not isinstance(self.layer, bool)
            if not whole or self.layer < 0:
                msg = f"layer is a whole number from 0 (the embeddings) upwards, got {self.layer!r}"
                raise RecipeError(msg)
            object.__setattr__(self, "layer", int(self.layer))
        for name in ("idf", "rescale", "stopwords"):
            if isinstance(getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(getattr(self, name)))
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                msg = (
                    f"option {name!r} does not take {getattr(self, name)!r}: {self.options()[name].metadata['help']}"
                )
                raise RecipeError(msg)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return (self._resolved_layer(encoder),)

    @property
    def published_idf(self) -> str:
        """What the published evaluation counts idf on."""
        return "refs"

    @property
    def counts_idf(self) -> bool:
        """Whether idf is that of the texts at hand."""
        return counts_idf(self.idf)

    def side(self, system: str | None) -> str:
        return idf_side(self.idf, system)

    def prepare(self, corpus: TokenizedCorpus, options: RunOptions) -> BERTScoreState:
        encoder = corpus.encoder
        layer = self._resolved_layer(encoder)
        idf = idf_by_side(self.idf, corpus)
        baseline, baseline_origin = None, "no"
        if self.rescale == "yes":
            baseline = Baseline.shipped(encoder, self.lang)
            baseline_origin = _SHIPPED + baseline.language
        elif self.rescale != "no":
            baseline, baseline_origin = Baseline.load(Path(self.rescale)), "file"
            baseline.check_fits(encoder, self.lang, path=self.rescale)
        if baseline is not None:
            baseline.row(layer)  # a missing layer is an error before hours of work, not after
        stopwords = load_stopwords(self.stopwords)
        keep = TokenFilter("all", "keep", stopwords.words, stops="starts")
        return BERTScoreState(layer, idf, baseline, baseline_origin, encoder.tokenizer, stopwords, keep)

    def represent(self, text: EncodedText, state: BERTScoreState, side: str) -> Cloud:
        tokens, empty = text.tokens, text.tokens.empty
        points = text.derived(("unit", state.layer), lambda: unit_rows(text.layers[state.layer]))
        if state.stopwords.words and not empty:
            kept = kept_tokens(text, state.filter, state.tokenizer)
            tokens, points = tokens.take(kept), points[kept]
            if tokens.empty:
                return Cloud(points, np.zeros(len(tokens)), tokens, zero_weight=True)
        weights, zero = idf_weights(tokens, state.idf.of(side))
        return Cloud(points, weights, tokens, zero and not empty)

    def compare(
        self, hypothesis: Cloud, references: Sequence[Cloud], state: BERTScoreState, *, align: bool
    ) -> Comparison:
        values = np.zeros((len(references), 3))
        alignments: list[Alignment | None] = []
        zero = False
        for row, reference in enumerate(references):
            if hypothesis.tokens.empty or reference.tokens.empty:
                zero = zero or any(side.zero_weight and side.tokens.empty for side in (hypothesis, reference))
                alignments.append(None)
                continue  # one side empty: 0, as published
            match = greedy_match(hypothesis.points @ reference.points.T, hypothesis.weights, reference.weights)
            values[row] = match.precision, match.recall, match.f1
            zero = zero or hypothesis.zero_weight or reference.zero_weight
            if align:
                alignments.append(_alignment(row, hypothesis, reference, match, state.tokenizer.token_strings))
        return Comparison(values, tuple(alignments) if align else None, zero)

    def finish(self, comparisons: Sequence[Comparison], state: BERTScoreState) -> Finished:
        f1 = self.components.index("f1")
        best = np.array([int(c.values[:, f1].argmax()) for c in comparisons], dtype=np.int64)
        if self.multiref == "best-f":
            rows = [c.values[at] for c, at in zip(comparisons, best, strict=True)]
        elif self.multiref == "best-each":
            rows = [c.values.max(axis=0) for c in comparisons]
        else:
            rows = [c.values.mean(axis=0) for c in comparisons]
        table = np.array(rows)
        if state.baseline is not None:
            base = np.array(state.baseline.row(state.layer))
            table = (table - base) / (1 - base)
        segments = {name: table[:, column].copy() for column, name in enumerate(self.components)}
        return Finished(segments, best)

    def describe(self, state: BERTScoreState) -> dict[str, str]:
        return {
            "layer": str(state.layer),
            "idf": state.idf.label,
            "multiref": self.multiref,
            "rescale": _with_digest(state.baseline_origin, state.baseline),
        } | ({"stopwords": state.stopwords.label} if state.stopwords.words else {})

    def describe_run(self, state: BERTScoreState, system: str) -> dict[str, str]:
        return state.idf.run_fields(self.side(system))

    @classmethod
    def options_from_signature(cls, recipe: Mapping[str, str]) -> dict[str, str]:
        options = {key: recipe[key] for key in ("model", *cls.signature_fields) if key in recipe}
        for key in {"idf", "rescale", "stopwords"} & options.keys():
            options[key] = options[key].partition("[")[0]
        if options.get("rescale", "").startswith(_SHIPPED):
            options |= {"lang": options["rescale"].removeprefix(_SHIPPED), "rescale": "yes"}
        return options

    def _resolved_layer(self, encoder: Encoder) -> int:
        layer = default_layer(encoder) if self.layer is None else self.layer
        if layer > encoder.layers:
            msg = f"layer {layer} asked for, but model {encoder.model!r} has layers 0 to {encoder.layers}"
            raise RecipeError(msg)
        return layer


def _alignment(
    index: int, hypothesis: Cloud, reference: Cloud, match: GreedyMatch, strings: Callable[[Tokens], tuple[str, ...]]
) -> Alignment:
    return Alignment(
        reference_index=index,
        hypothesis_tokens=strings(hypothesis.tokens),
        reference_tokens=strings(reference.tokens),
        hypothesis_match=match.row_partner,
        reference_match=match.column_partner,
        hypothesis_similarity=match.row_best.astype(np.float64),
        reference_similarity=match.column_best.astype(np.float64),
        hypothesis_weight=hypothesis.weights,
        reference_weight=reference.weights,
    )


def _with_digest(origin: str, table: Baseline | None) -> str:
    return origin if table is None else f"{origin}[{short_digest(table.digest)}]"
