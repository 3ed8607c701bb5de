"""Whether a model was trained on a language, where its card says so."""

from __future__ import annotations

import warnings

from nlgauge.errors import LanguageWarning
from nlgauge.models.catalog import find_card

__all__ = ["warn_if_unsupported"]


def warn_if_unsupported(model: str, language: str, *, stacklevel: int = 2) -> None:
    """Warn of a language that a known multilingual model was not trained on; regions (`pt-BR`) do not count.

    A model of one language is not judged here: the other one that is named beside it, such as the source's, may be
    one that nobody reads. `stacklevel` is what the caller would give to `warnings.warn`.
    """
    card = find_card(model)
    if card is not None and len(card.languages) > 1 and not card.knows_language(language):
        msg = (
            f"model {card.name!r} was not trained on language {language!r}, so its vectors mean little there; "
            f"it knows: {', '.join(card.languages)}"
        )
        warnings.warn(msg, LanguageWarning, stacklevel=stacklevel + 1)
