"""What a recipe does to token vectors before a metric sees them, so that texts of two languages meet.

Transforms are joined by `+` and work in this order:

    FILE            made by `nlgauge align fit` (CLP, UMD, flows) or `nlgauge align means` (centring, standardising);
                    or an array that XMoverScore publishes (.BAM, .GBDD)
    position-norm   the published normalisation (Eq. 4, D9.4): mean and variance of the vectors at each position,
                    over eight texts that follow each other. A text's vectors then depend on its neighbours and their
                    order, which the recipe says by naming it.

A re-mapping moves the source's vectors to the target (what it removes from both sides, from both); a reference and a
hypothesis are the target. Means belong to a language, so they need the language of each side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders import EncodedText
from nlgauge.errors import FileFormatError, RecipeError
from nlgauge.files.digests import short_digest, text_digest
from nlgauge.files.frozen import stated_format
from nlgauge.transforms.flow import FlowMap
from nlgauge.transforms.language_means import LanguageMeans
from nlgauge.transforms.position_norm import POSITION_NORM, PositionNorm, position_norm
from nlgauge.transforms.remap import Remapping, Side, load_published
from nlgauge.transforms.tanh_network import TanhNetwork

__all__ = ["FittedTransform", "Transform", "Transforms", "load_map", "load_transforms"]

#: What leads from one language's vectors to another's, each in a file of its own format.
FittedTransform: TypeAlias = Remapping | FlowMap | TanhNetwork
Transform: TypeAlias = FittedTransform | LanguageMeans | PositionNorm


@dataclass(frozen=True, eq=False)
class Transforms:
    """Transforms in order, with the language of each side there is (empty where nobody said)."""

    transforms: tuple[Transform, ...]
    languages: Mapping[Side, str]

    @property
    def uses_neighbours(self) -> bool:
        """Whether a text's vectors depend on its neighbours."""
        return any(isinstance(transform, PositionNorm) for transform in self.transforms)

    @property
    def label(self) -> str:
        """How a signature names them: `clp[ab12cd34ef56]`, and with the languages whose means are meant
        `centre[ab12cd34ef56,de>en]`.
        """
        return "+".join(self._named(transform) for transform in self.transforms)

    def _named(self, transform: Transform) -> str:
        digest = short_digest(transform.digest)
        if isinstance(transform, PositionNorm):
            return transform.label
        if isinstance(transform, FittedTransform):
            return f"{transform.origin.method or 'map'}[{digest}]"
        return f"{transform.mode}[{digest},{'>'.join(self.languages.values())}]"

    @cached_property
    def digest(self) -> str:
        """Names all that the vectors depend on beside the texts."""
        named = [transform.digest for transform in self.transforms]
        return text_digest(" ".join([*named, *(f"{side}={code}" for side, code in self.languages.items())]))

    def check(self, weights: str, *, layers: Sequence[int], width: int) -> None:
        """Refuse vectors that a transform was not fitted on, before anything is encoded."""
        for transform in self.transforms:
            if isinstance(transform, FittedTransform):
                self._check_languages(transform)
            for layer in layers:
                if isinstance(transform, FittedTransform):
                    transform.check_model(weights, layer=layer, width=width)
                elif isinstance(transform, LanguageMeans):
                    transform.check_model(weights, layer=layer)
            if isinstance(transform, LanguageMeans):
                for side, language in self.languages.items():
                    if language not in transform.moments:
                        option = "src_lang" if side == "source" else "lang"
                        msg = (
                            f"the means are those of {', '.join(transform.moments)}, and the {side}'s language is "
                            f"{language or 'not given'!r}; name it: {option}="
                        )
                        raise RecipeError(msg)

    def _check_languages(self, transform: FittedTransform) -> None:
        """A re-mapping that names its languages does not move another one; where nobody named them, anything goes."""
        fitted, language = transform.origin.source, self.languages.get("source", "")
        if fitted and language and language != fitted:
            msg = (
                f"the re-mapping was fitted for sources of language {fitted!r}, and these are of {language!r}; "
                "fit another with 'nlgauge align fit'"
            )
            raise RecipeError(msg)

    def apply(self, text: EncodedText, side: Side) -> EncodedText:
        """The text with its vectors moved; made once for all recipes that do the same."""
        return text.derived(("transforms", self.digest, side), lambda: self._moved([text], side)[0])

    def apply_together(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        """The same for texts that the published normalisation looks at together."""
        return self._moved(texts, side)

    def move(self, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        """Vectors that stand for themselves, such as those of sentences."""
        for transform in self.transforms:
            if isinstance(transform, PositionNorm):
                msg = f"{POSITION_NORM} looks at positions of tokens in texts, which these vectors do not tell"
                raise RecipeError(msg)
            rows = self._apply(transform, rows, side)
        return rows

    def _apply(
        self, transform: FittedTransform | LanguageMeans, rows: NDArray[np.float32], side: Side
    ) -> NDArray[np.float32]:
        if isinstance(transform, FittedTransform):
            return transform.apply(rows, side=side)
        return transform.apply(rows, self.languages[side])

    def _moved(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        layers = [dict(text.layers) for text in texts]
        full = [at for at, text in enumerate(texts) if not text.tokens.empty]
        for layer in layers[0] if full else ():
            rows: list[NDArray[np.float32]] = [layers[at][layer] for at in full]
            for transform in self.transforms:
                if isinstance(transform, PositionNorm):
                    rows = position_norm(rows)
                else:
                    rows = [self._apply(transform, row, side) for row in rows]
            for at, row in zip(full, rows, strict=True):
                layers[at][layer] = row
        return [
            EncodedText(text.tokens, moved, text_features=text.text_features)
            for text, moved in zip(texts, layers, strict=True)
        ]


def load_transforms(choice: str, *, source: str | None, target: str) -> Transforms | None:
    """The transforms that a recipe names (none: None), with the languages of the sides (None: there is no source)."""
    if choice == "none":
        return None
    transforms = tuple(PositionNorm() if name == POSITION_NORM else _read(name) for name in choice.split("+"))
    sides: dict[Side, str] = {} if source is None else {"source": source}
    return Transforms(transforms, sides | {"target": target})


def load_map(path: Path) -> FittedTransform:
    """A map that `nlgauge align fit` wrote, of whichever kind."""
    kinds: dict[str, type[FittedTransform]] = {kind.FORMAT: kind for kind in (Remapping, FlowMap, TanhNetwork)}
    return kinds.get(stated_format(path), Remapping).load(path)


def _read(name: str) -> FittedTransform | LanguageMeans:
    path = Path(name)
    if path.suffix.upper() in {".BAM", ".GBDD"}:
        return load_published([path])
    for kind in (Remapping, LanguageMeans, FlowMap, TanhNetwork):
        if stated_format(path) == kind.FORMAT:
            return kind.load(path)
    msg = (
        f"{path.name!r} is not a transform: expected {POSITION_NORM}, or a file made by 'nlgauge align fit' or "
        "'nlgauge align means'"
    )
    raise FileFormatError(msg)
