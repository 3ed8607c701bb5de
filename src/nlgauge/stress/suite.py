"""The suite: all perturbations by name, and texts changed by them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from nlgauge.annotate import AnnotatedText, Annotator
from nlgauge.errors import DataWarning, InputError, RecipeError
from nlgauge.explain.annotation import annotate_each
from nlgauge.names import did_you_mean
from nlgauge.stress.meaning import MEANING
from nlgauge.stress.names import NAMES, names_of
from nlgauge.stress.perturbation import Context, Perturbation, drawn
from nlgauge.stress.surface import SURFACE
from nlgauge.stress.word_order import WORDS

__all__ = ["PERTURBATIONS", "PerturbedTexts", "chosen_perturbations", "perturb"]

#: By name: first those that change the meaning, then those that keep it.
PERTURBATIONS = {one.name: one for one in (*MEANING, *NAMES, *WORDS, *SURFACE)}


@dataclass(frozen=True)
class PerturbedTexts:
    """Texts under one perturbation."""

    perturbation: Perturbation
    texts: tuple[str, ...]
    """Changed, or as they were."""
    changed: tuple[bool, ...]

    @property
    def count(self) -> int:
        """Texts that could be changed."""
        return sum(self.changed)


def chosen_perturbations(
    names: Sequence[str] | None = None, *, lang: str = "en", annotator: bool = False
) -> tuple[Perturbation, ...]:
    """Perturbations by name; without names, all that the language and the lack of an annotator leave.

    >>> [one.name for one in chosen_perturbations(lang="de")]
    ['number', 'word-drop', 'word-swap', 'shuffle', 'typo', 'casing']
    """
    english = lang.partition("-")[0].lower() == "en"
    if names is None:
        usable = PERTURBATIONS.values()
        return tuple(one for one in usable if (english or not one.english) and (annotator or not one.needs_annotator))
    found = []
    for name in dict.fromkeys(names):
        if name not in PERTURBATIONS:
            hint = did_you_mean(name, PERTURBATIONS)
            msg = f"unknown perturbation {name!r}{hint}; there are: {', '.join(PERTURBATIONS)}"
            raise RecipeError(msg)
        one = PERTURBATIONS[name]
        if one.english and not english:
            others = ", ".join(other.name for other in PERTURBATIONS.values() if not other.english)
            msg = f"{name} has English rules, and the texts are in {lang!r}; for any language there are: {others}"
            raise RecipeError(msg)
        if one.needs_annotator and not annotator:
            msg = f"{name} needs an annotator that knows nouns; name one with annotator="
            raise RecipeError(msg)
        found.append(one)
    if not found:
        msg = f"no perturbation was named; there are: {', '.join(PERTURBATIONS)}"
        raise RecipeError(msg)
    return tuple(found)


def perturb(
    texts: Sequence[str],
    perturbations: Sequence[Perturbation],
    *,
    seed: int = 12345,
    annotator: Annotator | None = None,
) -> list[PerturbedTexts]:
    """The texts under each perturbation, from a seed.

    >>> (found,) = perturb(["The ferry was late.", "Rain."], [PERTURBATIONS["negation"]])
    >>> found.texts, found.count
    (('The ferry was not late.', 'Rain.'), 1)
    """
    listed = list(texts)
    if not listed:
        msg = "there is no text to perturb"
        raise InputError(msg)
    annotated: Sequence[AnnotatedText | None] = [None] * len(listed)
    names = names_of(listed)
    if annotator is not None:
        marked = _annotated(listed, annotator)
        annotated, names = marked, names_of(listed, marked)
    found = []
    for one in perturbations:
        made = [
            one.change(text, Context(drawn(seed, one.name, text), names, mark))
            for text, mark in zip(listed, annotated, strict=True)
        ]
        other = [new if new is not None and new != text else None for new, text in zip(made, listed, strict=True)]
        found.append(
            PerturbedTexts(
                one,
                tuple(text if new is None else new for new, text in zip(other, listed, strict=True)),
                tuple(new is not None for new in other),
            )
        )
    return found


def _annotated(texts: Sequence[str], annotator: Annotator) -> list[AnnotatedText]:
    """Of each text; one that the annotator refuses has no words, so that none of its nouns and names is moved."""
    found = annotate_each(annotator, texts)
    refused = [number for number, text in enumerate(texts) if found[text] is None]
    if refused:
        first = ", ".join(map(str, refused[:10])) + (", ..." if len(refused) > 10 else "")
        msg = f"{len(refused)} of {len(texts)} texts ({first}) have no annotation: their nouns and names stay"
        warnings.warn(msg, DataWarning, stacklevel=3)
    return [found[text] or AnnotatedText(text, ()) for text in texts]
