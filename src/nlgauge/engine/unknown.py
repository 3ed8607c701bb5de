"""Texts of nothing but unknown tokens: found, refused, or scored as if they were empty.

To a model all such texts look alike ([UNK] [UNK]), so that two that have nothing to do with each other would be a
perfect match. Two equal texts are one, whatever their tokens, and are scored like any other pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.engine.notes import SEGMENTS, TextNames
from nlgauge.errors import UnknownTextError
from nlgauge.recipes.defaults import offer_multilingual
from nlgauge.text.scripts import count_scripts

__all__ = ["UnknownPairs", "refuse_unknown"]

#: Segments named one by one in an error before a count stands for the rest.
_MAX_NAMED_SEGMENTS = 10

_Side = Literal["hypothesis", "reference"]


@dataclass(frozen=True, eq=False)
class UnknownPairs:
    """Segments with pairs of different texts, one of which holds nothing but unknown tokens."""

    pairs: Mapping[tuple[str, int], Sequence[_Side | None]] = field(default_factory=dict)
    """By system and segment, for each reference the text that counts as empty; None where neither does."""
    texts: Sequence[str] = ()
    """The texts of nothing but unknown tokens."""

    @classmethod
    def find(cls, tokenized: TokenizedCorpus) -> UnknownPairs:
        """Of all systems; white space around a text is not part of it."""
        tokens = tokenized.tokens
        found: dict[tuple[str, int], list[_Side | None]] = {}
        texts: dict[str, None] = {}
        for system, hypotheses in tokenized.corpus.systems.items():
            for at, (hypothesis, references) in enumerate(zip(hypotheses, tokenized.corpus.references, strict=True)):
                if not any(tokens[text].only_unknown for text in (hypothesis, *references)):
                    continue
                sides = [_blank_side(hypothesis, reference, tokenized) for reference in references]
                if any(sides):
                    found[system, at] = sides
                    chosen = zip(sides, references, strict=True)
                    texts |= dict.fromkeys(
                        hypothesis if side == "hypothesis" else text for side, text in chosen if side
                    )
        return cls(found, tuple(texts))

    def refuse(self, model: str, names: TextNames = SEGMENTS) -> None:
        """An error that names all of these segments, where there are any."""
        refuse_unknown([names.place(system, at) for system, at in self.pairs], self.texts, model)


def refuse_unknown(names: Sequence[str], texts: Sequence[str], model: str) -> None:
    """An error that names the places of texts of nothing but unknown tokens, where there are any."""
    if not names:
        return
    rest = len(names) - _MAX_NAMED_SEGMENTS
    listed = "; ".join(names[:_MAX_NAMED_SEGMENTS]) + (f"; and {rest} more" if rest > 0 else "")
    scripts = _scripts(texts)
    written = f" ({', '.join(scripts)} script)" if scripts else ""
    msg = (
        f"{listed}: a text holds nothing but tokens that model {model!r} does not know{written}, and all such "
        f"texts look alike to it; {offer_multilingual(scripts, model=model)}, or score these pairs 0 "
        "(unknown='zero') or as they are (unknown='score')"
    )
    raise UnknownTextError(msg)


def _blank_side(hypothesis: str, reference: str, tokenized: TokenizedCorpus) -> _Side | None:
    """Which text of a pair counts as empty. Of two the hypothesis: two empty texts would be at distance 0."""
    left, right = tokenized.tokens[hypothesis], tokenized.tokens[reference]
    if left.empty or right.empty or hypothesis.strip() == reference.strip():
        return None
    return "hypothesis" if left.only_unknown else "reference" if right.only_unknown else None


def _scripts(texts: Iterable[str]) -> list[str]:
    """The script of most letters of each text, each once."""
    return list(dict.fromkeys(script for text in texts for script in list(count_scripts(text))[:1]))
