"""What a metric makes of the texts of a window, each once per role."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from nlgauge.corpus.views import Role, TextView
from nlgauge.encoders import EncodedText
from nlgauge.engine.notes import naming_documents
from nlgauge.engine.prepare import PreparedMetric
from nlgauge.recipes.vector_metric import WindowTexts
from nlgauge.transforms.base import Transforms
from nlgauge.transforms.position_norm import POSITION_BATCH
from nlgauge.transforms.remap import Side

__all__ = ["Representations", "run_text_models"]


def run_text_models(prepared: PreparedMetric, segments: range, encoded: Mapping[str, EncodedText]) -> None:
    """Let the metric's further models read the texts of the segments; what they find stays with each text."""
    corpus = prepared.corpus
    hypotheses = dict.fromkeys(texts[index] for index in segments for texts in corpus.systems.values())
    references = dict.fromkeys(text for index in segments for text in corpus.references[index])
    if prepared.counted_empty:
        hypotheses[""] = references[""] = None
    with naming_documents(corpus):
        prepared.metric.run_text_models(WindowTexts(encoded, list(hypotheses), list(references)), prepared.state)


class Representations:
    """Made when they are asked for, and kept as long as the window is."""

    def __init__(self, prepared: PreparedMetric, encoded: Mapping[str, EncodedText]) -> None:
        self._prepared = prepared
        self._encoded = encoded
        self._made: dict[Hashable, Any] = {}
        self._batches: dict[tuple[str | None, int], list[EncodedText]] = {}

    def hypothesis(self, system: str, index: int) -> Any:
        """Of a system's output."""
        return self._of(self._prepared.corpus.systems[system][index], system, index)

    def references(self, index: int) -> list[Any]:
        """Of all that the output is compared with."""
        return [self._of(text, None, index) for text in self._prepared.corpus.references[index]]

    def empty(self, system: str | None) -> Any:
        """Of a text without a token, in the place of a system's output (None: of a reference)."""
        metric, state, role = self._prepared.metric, self._prepared.state, self._role(system)
        if metric.empty_value is not None:
            return None
        return metric.represent(TextView(self._encoded[""], role, state.encoder.tokenizer), state)

    def _of(self, text: str, system: str | None, index: int) -> Any:
        metric, state, near = self._prepared.metric, self._prepared.state, self._prepared.uses_neighbours
        role = self._role(system)
        key: Hashable = (system, index, text) if near else (text, role)
        if key not in self._made:
            encoded = self._encoded[text]
            if state.transforms is not None:
                side = self._language_side(system)
                near_by = partial(self._among_neighbours, state.transforms, system, index)
                encoded = near_by() if near else state.transforms.apply(encoded, side)
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
