"""How likely a language model finds a hypothesis: the fluency term of XMoverScore."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from nlgauge.corpus.views import TextView
from nlgauge.recipes.vector_metric import WindowTexts

if TYPE_CHECKING:
    from nlgauge.encoders.whole_text.language_model import LanguageModel

__all__ = ["fluency", "score_fluency"]


def score_fluency(
    texts: WindowTexts, model: LanguageModel, *, length_normalised_twice: bool, whole: bool = False
) -> None:
    """Ask the language model about every hypothesis of a window, each once; `whole`: what it would cut is refused."""
    from nlgauge.encoders.whole_text.language_model import twice_normalised

    key = _key(model, length_normalised_twice)
    new = [text for text in texts.hypotheses if key not in texts.encoded[text].text_features]
    if not new:
        return
    if whole:
        model.refuse_long(new)
    found = model.score(new)
    values = twice_normalised(found) if length_normalised_twice else found.log_likelihood
    for text, value in zip(new, values, strict=True):
        texts.encoded[text].text_features[key] = float(value)


def fluency(text: TextView, model: LanguageModel | None, *, length_normalised_twice: bool) -> float:
    """What `score_fluency` found; 0 without a model, and for what is no hypothesis."""
    if model is None or text.role.kind != "hypothesis":
        return 0.0
    found: float = text.features[_key(model, length_normalised_twice)]
    return found


def _key(model: LanguageModel, twice: bool) -> Hashable:
    return ("fluency", model.digest, twice)
