"""The grids of the reproducibility study (Chen et al. 2022, section 5 and appendix A.5), by name.

stopwords                no list, and those of spaCy, stopwords-iso and NLTK that are installed
idf                      as published or none; as published or counted on random corpora; and on large ones
subwords                 first piece, all pieces, average of the pieces
punctuation              removed or kept
subwords-x-punctuation   all six cells of the two
layers                   each layer on its own
all                      each of the above, one factor at a time (without the cells of two)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nlgauge.encoders import load_encoder
from nlgauge.errors import RecipeError
from nlgauge.recipes.vector_metric import VectorMetric
from nlgauge.registry import parse_metric
from nlgauge.sensitivity.study import RELATIVE_LISTS, Study, Sweep

__all__ = ["DEFAULT_METRICS", "PRESETS", "preset", "published_sweep"]

PRESETS = ("stopwords", "idf", "subwords", "punctuation", "subwords-x-punctuation", "layers", "all")

#: The study's base recipes; its BERTScore counts idf on the references.
DEFAULT_METRICS = ("moverscore", "bertscore:idf=refs")

#: Random corpora of the published study.
_RANDOM = 4

_SUBWORDS = ("first", "all", "average")
_PUNCTUATION = ("drop-ascii", "keep")


def preset(
    name: str,
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    idf_corpora: Sequence[str] = (),
    random_corpora: int = _RANDOM,
    loading: Mapping[str, Any] | None = None,
) -> Study:
    """The study of that name. `idf_corpora` are text files (a document per line) to count idf on.

    `loading` are options of a run (`engine=`, ...) that models are loaded with where layers are counted.

    >>> [sweep.name for sweep in preset("idf", ["moverscore"]).sweeps]
    ['idf', 'idf-random']
    """
    if name not in PRESETS:
        msg = f"unknown preset {name!r}; there are: {', '.join(PRESETS)}"
        raise RecipeError(msg)
    if idf_corpora and name not in {"idf", "all"}:
        msg = f"corpora for idf belong to the presets 'idf' and 'all', not to {name!r}"
        raise RecipeError(msg)
    names = [name]
    if name in {"idf", "all"}:
        names = ["idf", *(["idf-random"] if random_corpora else []), *(["idf-large"] if idf_corpora else [])]
    if name == "all":
        names = ["stopwords", *names, "subwords", "punctuation", "layers"]
    sweeps, notes = [], []
    for one in names:
        if one != "layers":
            sweeps.append(published_sweep(one, idf_corpora=idf_corpora, random_corpora=random_corpora))
            continue
        layers = _layers(metrics, loading or {})
        if layers > 1:
            sweeps.append(Sweep({"layer": [str(layer) for layer in range(layers, 0, -1)]}, one))
            continue
        msg = f"sweep 'layers' needs a model of two layers or more; of {', '.join(metrics)} one has {layers}"
        if name == "layers":
            raise RecipeError(msg)
        notes.append(f"{msg}: left out")
    return Study(metrics, sweeps, name, tuple(notes))


def published_sweep(
    name: str,
    *,
    idf_corpora: Sequence[str] = (),
    random_corpora: int = _RANDOM,
    lists: Sequence[str] = RELATIVE_LISTS,
) -> Sweep:
    """The settings of a published grid, the first being as published; of idf there are three grids.

    >>> [setting.label for setting in published_sweep("idf").settings]
    ['original', 'none']
    """
    factors: dict[str, dict[str, Sequence[str]]] = {
        "stopwords": {"stopwords": ("none", *lists)},
        "idf": {"idf": ("original", "none")},
        "idf-random": {"idf": ("original", *(f"random-{number}" for number in range(1, random_corpora + 1)))},
        "idf-large": {"idf": ("original", *(f"corpus:{path}" for path in idf_corpora))},
        "subwords": {"subwords": _SUBWORDS},
        "punctuation": {"punctuation": _PUNCTUATION},
        "subwords-x-punctuation": {"subwords": _SUBWORDS, "punctuation": _PUNCTUATION},
    }
    return Sweep(factors[name], name)


def _layers(metrics: Sequence[str], loading: Mapping[str, Any]) -> int:
    """Layers that the models of all metrics have."""
    models = {one.model for one in map(parse_metric, metrics) if isinstance(one, VectorMetric)}
    return min((load_encoder(model, **loading).layers for model in models), default=0)
