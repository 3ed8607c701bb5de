"""What a recipe does to token vectors before a metric sees them, so that texts of two languages meet.

Steps are joined by `+` and work in this order:

    FILE            made by `nlgauge align fit` (CLP, UMD, ...) or by `nlgauge align means` (centring, standardising);
                    or an array that XMoverScore publishes (.BAM, .GBDD)
    position-norm   the published normalisation (spec 6.1, Eq. 4): mean and variance of the vectors at each position,
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
from nlgauge.transforms.language_means import LanguageNorm, position_norm
from nlgauge.transforms.remap import Remapping, Side, load_published

__all__ = ["POSITION_BATCH", "POSITION_NORM", "VectorSteps", "load_steps"]

POSITION_NORM = "position-norm"

#: Texts that the published normalisation looks at together.
POSITION_BATCH = 8

_Step: TypeAlias = Remapping | LanguageNorm | None
"""None stands for the published normalisation, which has nothing fitted."""


@dataclass(frozen=True, eq=False)
class VectorSteps:
    """Steps in order, with the language of each side there is (empty where nobody said)."""

    steps: tuple[_Step, ...]
    languages: Mapping[Side, str]

    @property
    def by_neighbours(self) -> bool:
        """Whether a text's vectors depend on its neighbours."""
        return None in self.steps

    @property
    def label(self) -> str:
        """How a signature names them: `clp[ab12cd34ef56]`, and with the languages whose means are meant
        `centre[ab12cd34ef56,de>en]`.
        """
        return "+".join(POSITION_NORM if step is None else self._named(step) for step in self.steps)

    def _named(self, step: Remapping | LanguageNorm) -> str:
        digest = short_digest(step.digest)
        if isinstance(step, Remapping):
            return f"{step.origin.method or 'map'}[{digest}]"
        return f"{step.mode}[{digest},{'>'.join(self.languages.values())}]"

    @cached_property
    def digest(self) -> str:
        """Names all that the vectors depend on beside the texts."""
        named = [POSITION_NORM if step is None else step.digest for step in self.steps]
        return text_digest(" ".join([*named, *(f"{side}={code}" for side, code in self.languages.items())]))

    def check(self, weights: str, *, layers: Sequence[int], width: int) -> None:
        """Refuse vectors that a step was not fitted on, before anything is encoded."""
        for step in self.steps:
            if isinstance(step, Remapping):
                self._check_languages(step)
            for layer in layers:
                if isinstance(step, Remapping):
                    step.check_model(weights, layer=layer, width=width)
                elif step is not None:
                    step.check_model(weights, layer=layer)
            if isinstance(step, LanguageNorm):
                for side, language in self.languages.items():
                    if language not in step.moments:
                        option = "src_lang" if side == "source" else "lang"
                        msg = (
                            f"the means are those of {', '.join(step.moments)}, and the {side}'s language is "
                            f"{language or 'not given'!r}; name it: {option}="
                        )
                        raise RecipeError(msg)

    def _check_languages(self, step: Remapping) -> None:
        """A re-mapping that names its languages does not move another one; where nobody named them, anything goes."""
        fitted, language = step.origin.source, self.languages.get("source", "")
        if fitted and language and language != fitted:
            msg = (
                f"the re-mapping was fitted for sources of language {fitted!r}, and these are of {language!r}; "
                "fit another with 'nlgauge align fit'"
            )
            raise RecipeError(msg)

    def apply(self, text: EncodedText, side: Side) -> EncodedText:
        """The text with its vectors moved; made once for all recipes that do the same."""
        return text.derived(("steps", self.digest, side), lambda: self._moved([text], side)[0])

    def apply_together(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        """The same for texts that the published normalisation looks at together."""
        return self._moved(texts, side)

    def move(self, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        """Vectors that stand for themselves, such as those of sentences."""
        for step in self.steps:
            if step is None:
                msg = f"{POSITION_NORM} looks at positions of tokens in texts, which these vectors do not tell"
                raise RecipeError(msg)
            rows = self._apply(step, rows, side)
        return rows

    def _apply(self, step: Remapping | LanguageNorm, rows: NDArray[np.float32], side: Side) -> NDArray[np.float32]:
        if isinstance(step, Remapping):
            return step.apply(rows, side=side)
        return step.apply(rows, self.languages[side])

    def _moved(self, texts: Sequence[EncodedText], side: Side) -> list[EncodedText]:
        layers = [dict(text.layers) for text in texts]
        full = [at for at, text in enumerate(texts) if not text.tokens.empty]
        for layer in layers[0] if full else ():
            rows: list[NDArray[np.float32]] = [layers[at][layer] for at in full]
            for step in self.steps:
                rows = position_norm(rows) if step is None else [self._apply(step, row, side) for row in rows]
            for at, row in zip(full, rows, strict=True):
                layers[at][layer] = row
        return [EncodedText(text.tokens, moved, facts=text.facts) for text, moved in zip(texts, layers, strict=True)]


def load_steps(choice: str, *, source: str | None, target: str) -> VectorSteps | None:
    """The steps that a recipe names (none: None), with the languages of the sides (None: there is no source)."""
    if choice == "none":
        return None
    steps = tuple(None if name == POSITION_NORM else _read(name) for name in choice.split("+"))
    sides: dict[Side, str] = {} if source is None else {"source": source}
    return VectorSteps(steps, sides | {"target": target})


def _read(name: str) -> Remapping | LanguageNorm:
    path = Path(name)
    if path.suffix.upper() in {".BAM", ".GBDD"}:
        return load_published([path])
    for kind in (Remapping, LanguageNorm):
        if stated_format(path) == kind.FORMAT:
            return kind.load(path)
    msg = (
        f"{path.name!r} is no step: expected {POSITION_NORM}, or a file made by 'nlgauge align fit' or "
        "'nlgauge align means'"
    )
    raise FileFormatError(msg)
