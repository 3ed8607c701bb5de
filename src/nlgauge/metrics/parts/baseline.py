"""Baselines for rescaling: the mean scores of unrelated pairs.

A baseline is BERTScore of random pairs from a corpus, at every layer, from one encoding (`build_baseline`). It is a
small text file per model and language, with a row per layer. The header records how it was made. It contains the
model's digest, with the precision unless that is fp32, so the file cannot be used with another model.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nlgauge._version import __version__
from nlgauge.core.corpus import make_corpus
from nlgauge.core.pipeline import run_metrics
from nlgauge.core.resources import LoadContext, Loaded, Resource
from nlgauge.core.run_options import RunOptions
from nlgauge.core.vector_metric import name_selecting_language
from nlgauge.encoders.base import (
    DEFAULT_PRECISION,
    Encoder,
    differing_precisions,
    format_vectors_digest,
    signed_precision,
    vectors_digest,
)
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import (
    BaselineError,
    DataWarning,
    FileFormatError,
    InputError,
    ModelNotFoundError,
    RecipeError,
    refuse_word,
)
from nlgauge.io.storage import check_digest, short_digest
from nlgauge.text.languages import language_code
from nlgauge.text.tokenizer import base_language

#: Prefix of the language of a shipped baseline in a signature.
_SHIPPED = "shipped-"

_TITLE = "# nlgauge baseline 1"
_COLUMNS = "layer\tprecision\trecall\tf1"
_COMMAND = "nlgauge build baseline"

#: Sentences are paired within blocks of this size, so a window encodes each of them once.
_BLOCK = 500

#: With fewer sentences or pairs, the mean varies in the third decimal from sample to sample.
_ENOUGH = 1000


@dataclass(frozen=True, eq=False)
class Baseline:
    """Mean precision, recall and F of random pairs, by layer."""

    header: Mapping[str, str]
    rows: Mapping[int, tuple[float, float, float]]

    @property
    def language(self) -> str:
        """Language of the corpus."""
        return self.header.get("language", "")

    @cached_property
    def digest(self) -> str:
        """sha256 of the model's digest and the numbers, without the rest of the header."""
        return hashlib.sha256((self.header.get("weights", "") + _format_table(self.rows)).encode()).hexdigest()

    def row(self, layer: int) -> tuple[float, float, float]:
        """The baseline of a layer."""
        if layer not in self.rows:
            msg = f"the baseline has no row for layer {layer}; its layers: {sorted(self.rows)}"
            raise BaselineError(msg)
        return self.rows[layer]

    def check_fits(self, encoder: Encoder, language: str, *, path: str) -> None:
        """Refuse a baseline for other weights, another precision or another language."""
        if language and base_language(language) != base_language(self.language):
            msg = f"baseline {path!r} is for language {self.language!r}, not for lang={language!r}"
            raise BaselineError(msg)
        expected, actual = self.header.get("weights", ""), vectors_digest(encoder)
        precisions = differing_precisions(expected, actual)
        if precisions is not None:
            msg = (
                f"baseline {path!r} was made in {precisions[0]}, but these scores are in {precisions[1]}, "
                f"and different precisions are not comparable; {_build_hint(precisions[1])}"
            )
            raise BaselineError(msg)
        if expected != actual:
            msg = (
                f"baseline {path!r} was made with model {self.header.get('model')!r} "
                f"({format_vectors_digest(expected)}), not with {encoder.model!r} "
                f"({format_vectors_digest(actual)}); build one with 'nlgauge build baseline'"
            )
            raise BaselineError(msg)

    def text(self) -> str:
        """The content of the file."""
        header = "".join(
            f"# {key}: {value}\n" for key, value in (dict(self.header) | {"digest": self.digest}).items()
        )
        return f"{_TITLE}\n{header}{_format_table(self.rows)}"

    @classmethod
    def parse(cls, text: str, *, source: str) -> Baseline:
        """Read the content of a file."""
        lines = text.splitlines()
        if not lines or lines[0] != _TITLE:
            msg = f"{source!r} is not a baseline file: its first line should be {_TITLE!r}"
            raise FileFormatError(msg)
        comments = [line[2:].partition(": ") for line in lines[1:] if line.startswith("# ")]
        table = [line for line in lines[1:] if not line.startswith("#")]
        rows = {}
        for number, line in enumerate(table[1:], start=1):
            cells = line.split("\t")
            try:
                layer, precision, recall, f1 = int(cells[0]), *map(float, cells[1:])
            except ValueError as error:
                msg = f"{source!r}, row {number}: expected a layer and three numbers, got {line!r}"
                raise FileFormatError(msg) from error
            if not all(-1 <= value < 1 for value in (precision, recall, f1)):  # NaN fails too
                msg = f"{source!r}, row {number}: a baseline is a mean cosine below 1, got {line!r}"
                raise FileFormatError(msg)
            if layer in rows:
                msg = f"{source!r}, row {number}: layer {layer} appears twice"
                raise FileFormatError(msg)
            rows[layer] = (precision, recall, f1)
        if not table or table[0] != _COLUMNS or not rows:
            msg = f"{source!r}: expected the columns {_COLUMNS.split()} and a row per layer"
            raise FileFormatError(msg)
        header = {key: value for key, _, value in comments}
        baseline = cls(header, rows)
        check_digest(baseline.digest, header.get("digest"), kind="baseline file", name=source, command=_COMMAND)
        return baseline

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """Read a file."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            msg = (
                f"baseline file {str(path)!r} does not exist; make one with "
                f"'nlgauge build baseline --corpus SENTENCES -o {path}'"
            )
            raise BaselineError(msg) from error
        except (OSError, UnicodeDecodeError) as error:
            why = "it is not a text file" if isinstance(error, UnicodeDecodeError) else error.strerror or error
            msg = f"baseline file {str(path)!r} cannot be read: {why}"
            raise FileFormatError(msg) from error
        return cls.parse(text, source=str(path))

    @classmethod
    def shipped(cls, encoder: Encoder, language: str) -> Baseline:
        """The shipped baseline for these weights, or an error.

        bert-score warns instead and labels raw scores as rescaled.
        """
        shipped = [baseline for baseline in _load_shipped() if baseline.header.get("weights") == encoder.digest]
        precision = signed_precision(encoder.engine)
        if shipped and precision != DEFAULT_PRECISION:
            msg = (
                f"the baselines shipped for model {encoder.model!r} were made in {DEFAULT_PRECISION}, but these "
                f"scores are in {precision}, and different precisions are not comparable; {_build_hint(precision)} "
                "and pass rescale=FILE"
            )
            raise BaselineError(msg)
        matches = [baseline for baseline in shipped if not language or baseline.language == base_language(language)]
        if len(matches) == 1:
            return matches[0]
        if len(matches) > 1:
            languages = ", ".join(baseline.language for baseline in matches)
            msg = f"model {encoder.model!r} has a baseline for each of {languages}; choose one with lang="
            raise BaselineError(msg)
        languages = ", ".join(baseline.language for baseline in shipped) or "none"
        wanted = f"language {language!r}" if language else "its language"
        msg = (
            f"no baseline is shipped for model {encoder.model!r} and {wanted} (available languages: {languages}); "
            "build one with 'nlgauge build baseline --corpus SENTENCES -o FILE' and pass rescale=FILE"
        )
        raise BaselineError(msg)


class BaselineChoice(Resource):
    """The baseline that scores are rescaled with."""

    def __init__(self) -> None:
        super().__init__("no", "yes", file="a file made by 'nlgauge build baseline'")

    def check(self, value: Any) -> str:
        """Accept True and False in Python; as text they would name a file."""
        text = super().check({True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value)
        if text.lower() in {"true", "false", "on", "off"}:
            raise ValueError
        return text

    def load(self, value: str, context: LoadContext) -> Loaded:
        """The baseline, checked to have a row for each layer, or None."""
        encoder, language = context.corpus.encoder, context.metric.lang
        if value == "no":
            return Loaded("no", None)
        if value == "yes":
            baseline = Baseline.shipped(encoder, language)
            origin = _SHIPPED + baseline.language
        else:
            refuse_word("rescale", value, ("no", "yes"), file="a file made by 'nlgauge build baseline'")
            baseline, origin = Baseline.load(Path(value)), "file"
            baseline.check_fits(encoder, language, path=value)
        for layer in context.layers:
            baseline.row(layer)  # fail on a missing layer before encoding, not after
        return Loaded(f"{origin}[{short_digest(baseline.digest)}]", baseline)

    def read(self, name: str, text: str) -> dict[str, str]:
        """Read the option back; the language selects a shipped baseline."""
        chosen = text.partition("[")[0]
        if chosen.startswith(_SHIPPED):
            return {name: "yes", "lang": chosen.removeprefix(_SHIPPED)}
        return {name: chosen}


def _build_hint(precision: str) -> str:
    name = precision.partition("@")[0]
    return f"build one with 'nlgauge build baseline --corpus SENTENCES --precision {name} -o FILE'"


def _load_shipped() -> Sequence[Baseline]:
    folder = files("nlgauge.metrics.parts") / "baselines"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".tsv")), key=lambda e: e.name)
    return [Baseline.parse(entry.read_text(encoding="utf-8"), source=entry.name) for entry in entries]


def _format_table(rows: Mapping[int, tuple[float, float, float]]) -> str:
    # Six decimals are far below the sampling error, and give the same text on every platform.
    lines = ["\t".join([str(layer), *(f"{value:.6f}" for value in rows[layer])]) for layer in sorted(rows)]
    return "\n".join([_COLUMNS, *lines]) + "\n"


def build_baseline(
    sentences: Sequence[str],
    *,
    model: str = "minilm",
    language: str = "en",
    pairs: int = 10_000,
    seed: int = 12345,
    corpus: str = "",
    options: RunOptions | None = None,
) -> Baseline:
    """Mean P, R and F of `pairs` random pairs of distinct sentences, for every layer of the model.

    Each sentence of a seeded sample is a hypothesis once and a reference once, with different partners.
    """
    from nlgauge.metrics.bertscore import BERTScore  # here, because it imports this module

    if pairs < 1 or seed < 0:
        msg = f"a baseline needs pairs >= 1 and seed >= 0, got pairs={pairs!r}, seed={seed!r}"
        raise RecipeError(msg)
    options = options or RunOptions()
    language = language_code(language)
    try:
        encoder = load_encoder(model, **options.loading)
    except ModelNotFoundError as error:
        raise name_selecting_language(error, model, [language]) from error
    distinct = sorted({text.strip() for text in sentences})
    tokens = encoder.tokenizer.encode(distinct)
    distinct = [text for text, its in zip(distinct, tokens, strict=True) if not (its.empty or its.only_unknown)]
    if len(distinct) < 2:
        msg = f"a baseline needs at least 2 different sentences, got {len(distinct)}"
        raise InputError(msg)
    if min(len(distinct), pairs) < _ENOUGH:
        msg = (
            f"a baseline from {len(distinct)} sentences and {pairs} pairs is imprecise, and so are all scores "
            f"rescaled with it; use at least {_ENOUGH} of each"
        )
        warnings.warn(msg, DataWarning, stacklevel=2)
    hypotheses, references = random_pairs(distinct, pairs, seed)
    recipes = [BERTScore(model=model, layer=layer) for layer in range(encoder.layers + 1)]
    scores = run_metrics(recipes, make_corpus({"": hypotheses}, references), options)
    header = {
        "model": encoder.model,
        "weights": vectors_digest(encoder),
        "language": language,
        "corpus": " ".join(corpus.split()) or "not stated",
        "pairs": f"{len(hypotheses)} random pairs of {len(distinct)} distinct sentences, seed {seed}",
        "made with": f"nlgauge {__version__}, {encoder.engine}",
    }
    rows = {
        layer: (score.means["precision"], score.means["recall"], score.means["f1"])
        for layer, score in enumerate(scores)
    }
    return Baseline.parse(Baseline(header, rows).text(), source="baseline")


def random_pairs(sentences: Sequence[str], pairs: int, seed: int) -> tuple[list[str], list[str]]:
    """Pair different sentences: in seeded permutations, each sentence with its successor in a block."""
    rng = np.random.default_rng(seed)
    hypotheses: list[str] = []
    references: list[str] = []
    while len(hypotheses) < pairs:
        order = rng.permutation(len(sentences))
        for start in range(0, len(order), _BLOCK):
            block = order[start : start + _BLOCK]
            if len(block) < 2:
                continue
            hypotheses += [sentences[number] for number in block]
            references += [sentences[number] for number in np.roll(block, 1)]
    return hypotheses[:pairs], references[:pairs]
