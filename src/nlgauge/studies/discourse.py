"""Discourse features of documents, compared with those of their references (`nlgauge.discourse`).

Features are those of the DiscoScore paper, section 5 and Table 9:

    freq              mentions per focus, of foci that are mentioned more than once (FREQ)
    conn-u, conn-w    average of all entries of the adjacency matrix, unweighted and weighted (CONN)
    lc, rc            share of nouns that come again, and their mentions per noun, as released
    sentences, foci   how many there are
    repeated          foci that are mentioned more than once ("good foci" in print)

A focus is a noun; with word vectors, each feature of foci is also there for entities (`freq-entity`, ...). How well a
feature R tells hypotheses from references is its discriminativeness:

    D = |{(hyp, ref): R(ref) < R(hyp)}| / N        Eq. 4 of the paper

The paper's Table 11 reverses it: its "D > 0" is the share of pairs with R(ref) > R(hyp) (D6.10). Both shares are
given, by what they count. As in that table, pairs of equal texts are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge._version import __version__
from nlgauge.core.corpus import Corpus, References, make_corpus
from nlgauge.core.notes import TextNames, naming_documents, warn_about_nouns
from nlgauge.core.run_options import between_pairs
from nlgauge.encoders.engines.static import WordVectors, load_word_vectors
from nlgauge.errors import InputError, RecipeError, TooLongError
from nlgauge.io.formats import HtmlCell, html_table
from nlgauge.metrics.cohesion import Foci, connectivity, devices, foci_of, focus_frequency
from nlgauge.text.annotation import AnnotatedText, Annotator
from nlgauge.text.annotators import load_annotator

#: Without word vectors.
FEATURES = ("freq", "conn-u", "conn-w", "lc", "rc", "sentences", "foci", "repeated")

#: With word vectors, after these.
ENTITY_FEATURES = ("freq-entity", "conn-u-entity", "conn-w-entity")


def text_features(
    text: AnnotatedText, *, vectors: WordVectors | None = None, threshold: float = 0.8
) -> dict[str, float]:
    """All features of a text; those of a text without a noun are 0 but for its sentences."""
    try:
        return _features(text, vectors, threshold)
    except TooLongError as error:
        error.document = text.text
        raise


def _features(text: AnnotatedText, vectors: WordVectors | None, threshold: float) -> dict[str, float]:
    nouns, count = foci_of(text), len(text.sentences)
    repeats = devices(text)
    found = _of_foci(nouns, count) | {
        "lc": repeats.cohesion,
        "rc": repeats.repetition,
        "sentences": float(count),
        "foci": float(len(nouns)),
        "repeated": float(repeats.lemmas),
    }
    if vectors is not None:
        entities = _of_foci(foci_of(text, vectors, threshold), count)
        found |= {f"{name}-entity": value for name, value in entities.items()}
    return found


def _of_foci(foci: Foci, sentences: int) -> dict[str, float]:
    return {
        "freq": focus_frequency(foci),
        "conn-u": connectivity(foci, sentences),
        "conn-w": connectivity(foci, sentences, weighted=True),
    }


class Separation(NamedTuple):
    """Shares of pairs of a hypothesis and a reference, by which of the two has more of a feature."""

    hypothesis_higher: float
    """D of Eq. 4; "D < 0" of Table 11."""
    equal: float
    reference_higher: float
    """"D > 0" of Table 11."""
    pairs: int
    identical: int = 0
    """Pairs of equal texts, which are left out."""


def separate(pairs: Iterable[tuple[float, float]], *, identical: int = 0) -> Separation | None:
    """The shares over pairs of a feature's values, the hypothesis first; None where there is no pair.

    >>> separate([(2, 1), (3, 1), (0, 1), (1, 1)])
    Separation(hypothesis_higher=0.5, equal=0.25, reference_higher=0.25, pairs=4, identical=0)
    """
    values = list(pairs)
    if not values:
        return None
    count = len(values)
    higher = sum(ours > theirs for ours, theirs in values)
    lower = sum(ours < theirs for ours, theirs in values)
    return Separation(higher / count, (count - higher - lower) / count, lower / count, count, identical)


#: What messages call the texts.
_DOCUMENTS = TextNames("document")

#: Documents that are annotated before whoever watches may have a look.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False, repr=False)
class Discourse:
    """Features of the documents of systems, beside those of their references."""

    features: tuple[str, ...]
    hypotheses: Mapping[str, Mapping[str, NDArray[np.float64]]]
    """By system and feature, one value per document."""
    references: Mapping[str, tuple[NDArray[np.float64], ...]] | None
    """By feature, for each document the values of its references."""
    separations: Mapping[str, Mapping[str, Separation]]
    """By system and feature; none without references, or where all pairs are of equal texts."""
    no_noun: Mapping[str, tuple[int, ...]]
    """By system, documents without a noun."""
    references_without_noun: tuple[int, ...]
    """Documents with a reference that has none."""
    settings: str
    """Annotator, rules and versions behind the numbers, in one line."""

    def __repr__(self) -> str:
        beside = "" if self.references is None else " beside references"
        return (
            f"<Discourse: {len(self.features)} features, {len(self.systems)} systems x {len(self)} documents{beside}>"
        )

    def _repr_html_(self) -> str:
        beside = self.references is not None
        rows: list[list[HtmlCell]] = []
        for system in self.systems:
            for feature in self.features:
                one = self.separations.get(system, {}).get(feature)
                more: list[HtmlCell] = [self.reference_mean(feature), None if one is None else one.hypothesis_higher]
                rows.append([system, feature, self.mean(system, feature), *(more if beside else [])])
        columns = ["system", "feature", "mean", *(["references", "D"] if beside else [])]
        return html_table(columns, rows, caption="discourse features", notes=[f"settings: {self.settings}"])

    def __len__(self) -> int:
        first = next(iter(self.hypotheses.values()))
        return len(first[self.features[0]])

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.hypotheses)

    def mean(self, system: str, feature: str) -> float:
        """The mean of a feature over the documents of a system."""
        return float(self.hypotheses[system][feature].mean())

    def reference_mean(self, feature: str) -> float | None:
        """The mean over documents of the mean over their references; None without references."""
        if self.references is None:
            return None
        return float(np.mean([values.mean() for values in self.references[feature]]))

    def to_dict(self, *, segments: bool = False) -> dict[str, Any]:
        """Plain values, ready for JSON; with `segments` those of every document too."""
        found: dict[str, Any] = {
            "settings": self.settings,
            "systems": {name: self._system(name, segments=segments) for name in self.systems},
        }
        if self.references is not None:
            found["references_without_noun"] = list(self.references_without_noun)
            found["references"] = {
                feature: {"mean": self.reference_mean(feature)}
                | ({"documents": [values.tolist() for values in self.references[feature]]} if segments else {})
                for feature in self.features
            }
        return found

    def _system(self, name: str, *, segments: bool) -> dict[str, Any]:
        described: dict[str, Any] = {}
        for feature in self.features:
            own: dict[str, Any] = {"mean": self.mean(name, feature)}
            if feature in self.separations.get(name, {}):
                own["separation"] = self.separations[name][feature]._asdict()
            if segments:
                own["documents"] = self.hypotheses[name][feature].tolist()
            described[feature] = own
        return {"features": described, "no_noun": list(self.no_noun[name])}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Discourse:
        """Features from what `to_dict(segments=True)` made of them; JSON between the two changes nothing."""
        try:
            systems = {name: one["features"] for name, one in record["systems"].items()}
            features = tuple(next(iter(systems.values())))
            beside = record.get("references")
            return cls(
                features,
                {
                    name: {feature: np.array(one["documents"]) for feature, one in own.items()}
                    for name, own in systems.items()
                },
                None
                if beside is None
                else {name: tuple(map(np.array, beside[name]["documents"])) for name in features},
                {}
                if beside is None
                else {
                    name: {
                        feature: Separation(**one["separation"])
                        for feature, one in own.items()
                        if "separation" in one
                    }
                    for name, own in systems.items()
                },
                {name: tuple(one["no_noun"]) for name, one in record["systems"].items()},
                tuple(record.get("references_without_noun", ())),
                record["settings"],
            )
        except (KeyError, TypeError, StopIteration) as error:
            msg = f"the dict is not one of Discourse.to_dict(segments=True): {error!r}"
            raise InputError(msg) from error


def discourse(
    systems: Mapping[str, Iterable[str]] | Iterable[str],
    refs: References | None = None,
    *,
    ref_streams: Iterable[Iterable[str]] | None = None,
    annotator: str = "spacy-en",
    sentences: str = "rules",
    vectors: str | PathLike[str] | None = None,
    threshold: float = 0.8,
) -> Discourse:
    """Discourse features of documents, beside those of their references where there are any.

    `systems` maps a system's name to its documents; a plain list is one system. `annotator` and `sentences` are those
    of metrics on documents. With a file of word `vectors`, features of foci are also there for entities: nouns whose
    cosine is above the `threshold`.
    """
    if not -1 <= threshold < 1:
        msg = f"threshold must be a number from -1, below 1, got {threshold!r}"
        raise RecipeError(msg)
    named = systems if isinstance(systems, Mapping) else {"": systems}
    corpus = make_corpus(named, refs, ref_streams=ref_streams, alone=True)
    tagger = load_annotator(annotator, sentences=sentences)
    words = None if vectors is None else load_word_vectors(fspath(vectors))
    with naming_documents(corpus, _DOCUMENTS):
        found = _features_of_texts(corpus, tagger, words, threshold)
    names = FEATURES if words is None else (*FEATURES, *ENTITY_FEATURES)
    beside = any(corpus.references)
    no_noun = {
        system: tuple(at for at, text in enumerate(texts) if not found[text]["foci"])
        for system, texts in corpus.systems.items()
    }
    beside_no_noun = tuple(
        at for at, group in enumerate(corpus.references) if any(not found[text]["foci"] for text in group)
    )
    noted = (at for places in (*no_noun.values(), beside_no_noun) for at in places)
    warn_about_nouns(noted, "each feature of nouns", _DOCUMENTS)
    return Discourse(
        names,
        {
            system: {name: np.array([found[text][name] for text in texts]) for name in names}
            for system, texts in corpus.systems.items()
        },
        {
            name: tuple(np.array([found[text][name] for text in group]) for group in corpus.references)
            for name in names
        }
        if beside
        else None,
        {system: _separations(texts, corpus, found, names) for system, texts in corpus.systems.items()}
        if beside
        else {},
        no_noun,
        beside_no_noun,
        _settings(tagger, sentences, words, threshold),
    )


def _features_of_texts(
    corpus: Corpus, tagger: Annotator, vectors: WordVectors | None, threshold: float
) -> dict[str, dict[str, float]]:
    """By text; each distinct one is annotated once."""
    outputs = (text for texts in corpus.systems.values() for text in texts)
    texts = list(dict.fromkeys([*outputs, *(text for group in corpus.references for text in group)]))
    found = {}
    for start in range(0, len(texts), _AT_ONCE):
        between_pairs()
        part = texts[start : start + _AT_ONCE]
        for text, one in zip(part, tagger.annotate(part), strict=True):
            found[text] = text_features(one, vectors=vectors, threshold=threshold)
    return found


def _separations(
    texts: Sequence[str], corpus: Corpus, found: Mapping[str, Mapping[str, float]], names: Sequence[str]
) -> dict[str, Separation]:
    pairs = [(text, other) for text, group in zip(texts, corpus.references, strict=True) for other in group]
    unequal = [(text, other) for text, other in pairs if text.strip() != other.strip()]
    by_name = {
        name: separate(
            ((found[text][name], found[other][name]) for text, other in unequal), identical=len(pairs) - len(unequal)
        )
        for name in names
    }
    return {name: one for name, one in by_name.items() if one is not None}


def _settings(tagger: Annotator, sentences: str, vectors: WordVectors | None, threshold: float) -> str:
    fields = {"annotator": tagger.label, "sentences": sentences}
    if vectors is not None:
        fields |= {"vectors": vectors.label, "threshold": f"{threshold:g}"}
    return "|".join(
        ["discourse", *(f"{name}:{value}" for name, value in (fields | {"nlgauge": __version__}).items())]
    )
