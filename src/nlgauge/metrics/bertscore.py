"""BERTScore: each token is matched with the most similar token of the other text, by cosine.

What it computes
----------------

With unit vectors x_i of the hypothesis tokens and y_j of the reference tokens, all of one layer, and idf weights
(section 3 of the paper):

    P = sum_i idf(x_i) max_j x_i.y_j / sum_i idf(x_i)
    R = sum_j idf(y_j) max_i x_i.y_j / sum_j idf(y_j)        F = 2PR / (P + R)

Special tokens can be matched but have weight 0. By default there is no idf (all other tokens have weight 1), no
baseline and no stop-word list, and the layer is the one tuned for the model (MiniLM: 4).

- idf(w) = log((N + 1) / (df(w) + 1)), where df(w) of the N references contain w.
- With a baseline, each of P, R and F becomes (s - b) / (1 - b). b is the mean of that component over random pairs.
- With several references, the one with the best F counts.
- Stop words are removed after encoding, so the other vectors keep their context.
- A text without tokens, or with stop words only, scores 0 and is counted. F is 0 if P + R = 0.
- Parts of MoverScore can be used, as in appendix C: power means of the last five layers, each of unit length
  (`aggregation=pmeans`); first pieces of words, or their average (`subwords`); no punctuation (`punctuation`).

Worked example
--------------

The cosines of "a cat" (rows) and "the dog cat" (columns) are

             the   dog   cat
        a    .80   .00   .60           P = (.80 + 1.00) / 2        = .90
        cat  .96   .80  1.00           R = (.96 + .80 + 1.00) / 3  = .92

    >>> from nlgauge.testing import toy_scores
    >>> vectors = {"a": [1, 0], "cat": [0.6, 0.8], "dog": [0, 1], "the": [0.8, 0.6]}
    >>> toy_scores("bertscore", "a cat", "the dog cat", vectors=vectors)
    {'precision': [0.9], 'recall': [0.92], 'f1': [0.9099]}

Profiles and deviations
-----------------------

There are no profiles: the paper and the released code (bert-score 0.3.13) agree on the formula. RoBERTa and GPT-2
read a space before each text (footnote 5; `prefix_space`). Differences from the released code:

- A token whose cosines are all negative keeps its negative maximum. In the released code it scores 0 if a longer text
  in the batch adds padding.
- If idf gives all tokens of a text weight 0, the weights are uniform. The released code returns NaN (F: 0).
- P and R come from the reference with the best F. `multiref="best-each"` is the published rule.
- A missing baseline is an error. The released code returns a raw score that is labelled as rescaled.
- A token is a stop word if it starts a word and is spelt like a stop word; [UNK] is kept. With `subwords=average`,
  whole words are looked up. The code of Chen et al. (2022) looks up stop words as single pieces: a stop word of
  several pieces becomes [UNK], and then every [UNK] of the text is removed.

Relations
---------

- MoverScore replaces the best match of each token by an optimal transport plan, in which a token cannot be used
  twice.
- `sentsim:combine=bertscore` uses the same F as one of its parts.
- With mpnet, no other single-encoder metric was significantly better on WMT15 and WMT17 (segment-level Pearson .762
  and .738; MoverScore .736 and .723, BaryScore .758 and .734). With MiniLM this is undecided (.666 on WMT17;
  `moverscore:n=2,idf=none` .674). See docs/findings.

Citation
--------

Zhang, Kishore, Wu, Weinberger, Artzi: "BERTScore: Evaluating Text Generation with BERT", ICLR 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Int
from nlgauge.core.metric import Comparison, Pair, SystemResult
from nlgauge.core.options import option
from nlgauge.core.resources import StopwordList, idf_option
from nlgauge.core.tokens import TextView
from nlgauge.core.vector_metric import State, VectorMetric, resolve_layer
from nlgauge.encoders.base import Encoder
from nlgauge.metrics.parts import cite
from nlgauge.metrics.parts.baseline import BaselineChoice
from nlgauge.metrics.parts.layers import exponents_option, punctuation_option, subwords_option
from nlgauge.vectors.cloud import Alignment, Cloud
from nlgauge.vectors.greedy import best_similarities, greedy_match_points, greedy_scores
from nlgauge.vectors.points import Aggregation, Routing, TokenFilter
from nlgauge.vectors.transport import check_size

#: The filter that keeps all tokens.
_ALL = TokenFilter("all", "keep", stops="starts")


@dataclass(frozen=True, kw_only=True)
class BERTScore(VectorMetric[Cloud]):
    """Greedy cosine matching of token vectors of one layer.

    >>> BERTScore(layer=4, idf="refs")  # doctest: +ELLIPSIS
    BERTScore(model='minilm', ..., layer=4, idf='refs', multiref='best-f', rescale='no', stopwords='none', ...)
    """

    name: ClassVar[str] = "bertscore"
    title: ClassVar[str] = "BERTScore"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    main: ClassVar[str] = "f1"
    published_idf: ClassVar[str] = "refs"
    citation: ClassVar[str] = cite("zhang2020bertscore")

    layer: int | None = option(
        None, Int(0, word="default", note="the embeddings"), help="model layer; default: tuned per model"
    )
    idf: str = idf_option("none")
    multiref: str = option("best-f", Choice("best-f", "best-each", "mean"), help="how to combine several references")
    rescale: str = option(
        "no",
        BaselineChoice(),
        help="rescaling with a baseline; no: raw scores; yes: the one shipped for the model",
    )
    stopwords: str = option("none", StopwordList(), help="words to drop", optional=True)
    aggregation: str = option(
        "layer",
        Choice("layer", "pmeans"),
        help="vectors of one layer, or power means of the last five",
        optional=True,
    )
    exponents: str = exponents_option(optional=True)
    subwords: str = subwords_option("all", optional=True)
    punctuation: str = punctuation_option("keep", optional=True)

    @property
    def unused(self) -> Mapping[str, str]:
        """A layer, and its baseline, have no effect with power means; exponents only then."""
        reason = f"has no effect with aggregation={self.aggregation}"
        names = ("exponents",) if self.aggregation == "layer" else ("layer", "rescale")
        return dict(super().unused) | dict.fromkeys(names, reason)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        if self.aggregation == "layer":
            return (resolve_layer(self.layer, encoder),)
        return self._aggregate(0).layers(encoder)

    def _aggregate(self, layer: int) -> Aggregation:
        name = f"layer-{layer}" if self.aggregation == "layer" else self.aggregation
        return Aggregation(name, self.exponents, Routing(), unit_layers=self.aggregation != "layer")

    def represent(self, text: TextView, state: State) -> Cloud | None:
        by_word = self.subwords == "average"
        stops = "words" if by_word else "starts"
        keep = TokenFilter(self.subwords, self.punctuation, state["stopwords"].words, stops=stops)
        tokens = text.select(None if keep == _ALL else keep, specials_weigh=False)
        special = text.tokens.is_special[text.tokens.starts_word] if by_word else text.tokens.is_special
        if special[tokens.rows].all():
            return None
        if self.aggregation == "layer" and not by_word:
            points = text.unit(state.layers[0], None if keep == _ALL else keep)
        else:
            aggregation = self._aggregate(state.layers[0])
            points = text.token_points(aggregation, state.layers, by_word, floor=0.0).points[tokens.rows]
        return text.cloud(points, tokens, by_word=by_word, spelling="token_strings")

    def compare(self, x: Cloud, y: Cloud, state: State, *, align: bool) -> Pair:
        idf_x, idf_y = x.weights, y.weights
        if align:
            instead = "score the pair without an alignment, or align parts of it"
            check_size(len(x), len(y), what="an alignment", instead=instead)
            match = greedy_match_points(x.points, y.points, idf_x, idf_y)
            best_x, best_y = match.row_best, match.column_best
        else:
            best_x, best_y = best_similarities(x.points, y.points)  # max_j x_i.y_j by i, max_i x_i.y_j by j
        p = float(best_x @ idf_x / idf_x.sum())
        r = float(best_y @ idf_y / idf_y.sum())
        f = 2 * p * r / (p + r) if p + r != 0 else 0.0
        return Pair((p, r, f), Alignment.of(x, y, match) if align else None)

    # Same bits as `compare`, for many pairs at once.
    def compare_block(self, xs: Sequence[Cloud], ys: Sequence[Cloud], state: State) -> NDArray[np.float64]:
        return greedy_scores([(x.points, x.weights) for x in xs], [(y.points, y.weights) for y in ys])

    def finish_pairs(self, values: NDArray[np.float64], state: State) -> SystemResult:
        return SystemResult(self._rescale(dict(zip(self.components, values.T.copy(), strict=True)), state))

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        results = {system: self.joined(pairs, rule=self.multiref) for system, pairs in comparisons.items()}
        return {
            system: replace(result, segments=self._rescale(result.segments, state))
            for system, result in results.items()
        }

    def describe_empty(self) -> str:
        return super().describe_empty() + (" before rescaling" if self.rescale != "no" else "")

    def _rescale(
        self, segments: Mapping[str, NDArray[np.float64]], state: State
    ) -> Mapping[str, NDArray[np.float64]]:
        if "rescale" in self.unused or state["rescale"] is None:
            return segments
        baseline = zip(self.components, state["rescale"].row(state.layers[0]), strict=True)
        return {name: (segments[name] - b) / (1 - b) for name, b in baseline}
