"""BERTScore (Zhang et al., "BERTScore: Evaluating Text Generation with BERT", ICLR 2020).

With unit token vectors x of the hypothesis and y of the reference, and idf weights (equations of section 3):

    P = sum_i idf(x_i) max_j x_i.y_j / sum_i idf(x_i)
    R = sum_j idf(y_j) max_i x_i.y_j / sum_j idf(y_j)        F = 2PR / (P + R)

and with a baseline b, the score of random pairs:  (s - b) / (1 - b)  for each of P, R, F on its own.

As in the released implementation (bert-score 0.3.13): special tokens can be matched but weigh 0; idf comes
from the references, each a document; the F of several references is the highest; RoBERTa and GPT-2 read a space
before each text (footnote 5; `prefix_space`). Where it and this file
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
from nlgauge.core.vector_metric import State, VectorMetric, chosen_layer
from nlgauge.encoders.base import Encoder
from nlgauge.metrics.parts.baseline import BaselineChoice
from nlgauge.metrics.parts.citations import cite
from nlgauge.vectors.cloud import Alignment, Cloud
from nlgauge.vectors.greedy import greedy_match_points, greedy_scores, greedy_values
from nlgauge.vectors.points import TokenFilter
from nlgauge.vectors.transport import check_size


@dataclass(frozen=True, kw_only=True)
class BERTScore(VectorMetric[Cloud]):
    """Greedy cosine matching of token vectors of one layer.

    >>> BERTScore(layer=4, idf="refs")  # doctest: +ELLIPSIS
    BERTScore(model='minilm', ..., layer=4, idf='refs', multiref='best-f', rescale='no', stopwords='none')
    """

    name: ClassVar[str] = "bertscore"
    components: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1")
    main: ClassVar[str] = "f1"
    published_idf: ClassVar[str] = "refs"
    citation: ClassVar[str] = cite("zhang2020bertscore")

    layer: int | None = option(
        None, Int(0, word="default", note="the embeddings"), help="layer whose vectors are compared", short="l"
    )
    idf: str = idf_option("none")
    multiref: str = option(
        "best-f", Choice("best-f", "best-each", "mean"), help="rule for several references", short="mr"
    )
    rescale: str = option("no", BaselineChoice(), help="rescaling with a baseline; yes: the shipped one", short="rs")
    stopwords: str = option("none", StopwordList(), help="words that are dropped", short="st", optional=True)

    def layers(self, encoder: Encoder) -> tuple[int, ...]:
        return (chosen_layer(self.layer, encoder),)

    def represent(self, text: TextView, state: State) -> Cloud | None:
        layer, stopwords = state.layers[0], state["stopwords"].words
        keep = TokenFilter("all", "keep", stopwords, stops="starts") if stopwords else None
        kept, x = text.select(keep, specials_weigh=False), text.unit(layer)
        if text.tokens.is_special[kept.rows].all():
            return None
        if keep is not None:  # once per text: identical texts are then compared as one and the same matrix
            x = text.encoded.derived(("unit", layer, keep), lambda: text.unit(layer)[kept.rows])
        return text.cloud(x, kept, spelling="token_strings")

    def compare(self, x: Cloud, y: Cloud, state: State, *, align: bool) -> Pair:
        if not align:
            return Pair(greedy_values(x.points, y.points, x.weights, y.weights))  # P, R, F of section 3
        check_size(len(x), len(y), what="an alignment", instead="score the pair without one, or align parts of it")
        match = greedy_match_points(x.points, y.points, x.weights, y.weights)
        return Pair((match.precision, match.recall, match.f1), Alignment.of(x, y, match))

    def compare_block(self, xs: Sequence[Cloud], ys: Sequence[Cloud], state: State) -> NDArray[np.float64]:
        return greedy_scores([(x.points, x.weights) for x in xs], [(y.points, y.weights) for y in ys])

    def finish_pairs(self, values: NDArray[np.float64], state: State) -> SystemResult:
        return SystemResult(self._rescaled(dict(zip(self.components, values.T.copy(), strict=True)), state))

    def finish(self, comparisons: Mapping[str, Sequence[Comparison]], state: State) -> dict[str, SystemResult]:
        joined = {system: self.joined(pairs, rule=self.multiref) for system, pairs in comparisons.items()}
        return {
            system: replace(result, segments=self._rescaled(result.segments, state))
            for system, result in joined.items()
        }

    def _rescaled(
        self, segments: Mapping[str, NDArray[np.float64]], state: State
    ) -> Mapping[str, NDArray[np.float64]]:
        if state["rescale"] is None:
            return segments
        baseline = zip(self.components, state["rescale"].row(state.layers[0]), strict=True)
        return {name: (segments[name] - b) / (1 - b) for name, b in baseline}
