"""Drop-in replacement for `score` and `BERTScorer` of the bert-score package: change the import line.

    from nlgauge.apps.compat.bert_score import score, BERTScorer       (was: from bert_score import ...)

Arguments and return values are those of bert-score 0.3.13, and numbers agree to 1e-5 (`tests/parity`): P, R and F are
float32 tensors if torch is installed, else numpy arrays. Default models and layers are the same, and its idf
dictionaries and CSV baselines can be used. Intended differences:

- the hash is the signature, which pins weights, tokenizer, idf and baseline by digest;
- a score does not depend on `batch_size` or on the other segments (unless idf is counted on them);
- a missing baseline is an error, not a raw score labelled rescaled; `baseline_path` also takes a baseline of nlgauge;
- several references work with `all_layers`;
- `model_type` also takes a name of nlgauge (`minilm`), and `num_layers` is optional for the folder of such a model.

`nthreads` and `batch_size` are accepted and do not change a score. As in bert-score with transformers 4, models with
a tokenizer of RoBERTa or GPT-2 read each text with a leading space, unless `use_fast_tokenizer` is set; for all
others `use_fast_tokenizer` does not change a score. `device=None` computes on the CPU (engine onnx); `device="cuda"`
uses the engine torch.
"""

from __future__ import annotations

import importlib.util
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.apps.compat import check_lengths, reference_groups
from nlgauge.core.corpus import as_texts
from nlgauge.core.scoring import score_systems
from nlgauge.core.vector_metric import resolve_layer
from nlgauge.encoders.base import Encoder, vectors_digest
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import BaselineError, FileFormatError, InputError, ModelNotFoundError, RecipeError
from nlgauge.io.tables import csv_records, read_bytes
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.text.idf import IdfTable
from nlgauge.text.tokenizer import TextTokenizer

__all__ = ["BERTScorer", "score"]


#: `lang2model` of bert-score 0.3.13.
_MODELS = {
    "en": "roberta-large",
    "zh": "bert-base-chinese",
    "tr": "dbmdz/bert-base-turkish-cased",
    "en-sci": "allenai/scibert_scivocab_uncased",
}
_OTHER_LANGUAGES = "bert-base-multilingual-cased"


def model_of_language(language: str) -> str:
    """Default model of bert-score for a language.

    >>> model_of_language("EN")
    'roberta-large'
    """
    return _MODELS.get(language.lower(), _OTHER_LANGUAGES)


@cache
def layers_of_models() -> dict[str, int]:
    """`model2layers` of bert-score 0.3.13: the layer tuned by its authors, by model."""
    text = (files("nlgauge.apps.compat") / "bert_score_layers.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {model: int(layer) for model, layer in rows}


#: Tolerance for counted frequencies: whole numbers except for rounding in the logarithm.
_WHOLE = 1e-3

#: First bytes of a baseline of `nlgauge build baseline`, the command that messages recommend.
_OWN = b"# nlgauge baseline "


def idf_of_dictionary(weights: Mapping[int, float], tokenizer: TextTokenizer) -> IdfTable:
    """Recover document frequencies from an idf dictionary of `bert_score.utils.get_idf_dict`.

    There idf(t) = ln((N + 1) / (df(t) + 1)), and the default of the dictionary is ln(N + 1), the value of a token in
    no document; N and every df follow from these.
    """
    factory = getattr(weights, "default_factory", None)
    if factory is None:
        msg = "idf: expected the defaultdict of get_idf_dict, whose default contains the document count, got a dict"
        raise InputError(msg)
    documents = math.exp(factory()) - 1
    frequency = np.zeros(tokenizer.vocabulary_size, dtype=np.int64)
    for token, weight in weights.items():
        count = (documents + 1) / math.exp(weight) - 1
        if not 0 <= token < len(frequency) or abs(count - round(count)) > _WHOLE * max(1.0, count):
            msg = (
                f"idf[{token}] = {weight} is impossible for {round(documents)} documents with this model's tokenizer"
            )
            raise InputError(msg)
        frequency[token] = round(count)
    return IdfTable(round(documents), frequency, tokenizer.digest, "an idf dictionary of bert-score")


def baseline_of_csv(path: str | Path, encoder: Encoder, language: str) -> Baseline | None:
    """Read a baseline of bert-score (`LAYER,P,R,F`) for this model, which such files do not name.

    Returns None for a baseline of nlgauge.
    """
    try:
        data = read_bytes(str(path))
    except InputError as error:
        msg = f"cannot read baseline file {str(path)!r}: {error}"
        raise BaselineError(msg) from error
    if data.startswith(_OWN):
        return None
    rows = [fields for _, fields in csv_records(data, str(path))]
    if [name.strip().upper() for name in rows[0]] != ["LAYER", "P", "R", "F"]:
        msg = f"{str(path)!r} is not a baseline of bert-score: expected 'LAYER,P,R,F' in line 1"
        raise FileFormatError(msg)
    try:
        # bert-score uses the row number and does not read the column LAYER.
        values = {number: (float(p), float(r), float(f)) for number, (_, p, r, f) in enumerate(rows[1:])}
    except ValueError as error:
        msg = f"{str(path)!r}: expected a layer and three numbers in every row ({error})"
        raise FileFormatError(msg) from error
    header = {"model": encoder.model, "language": language, "weights": vectors_digest(encoder)}
    return Baseline(header, values)


def score(
    cands: Sequence[str],
    refs: Sequence[str] | Sequence[Sequence[str]],
    model_type: str | None = None,
    num_layers: int | None = None,
    verbose: bool = False,
    idf: bool | Mapping[int, float] = False,
    device: str | None = None,
    batch_size: int = 64,
    nthreads: int = 4,
    all_layers: bool = False,
    lang: str | None = None,
    return_hash: bool = False,
    rescale_with_baseline: bool = False,
    baseline_path: str | Path | None = None,
    use_fast_tokenizer: bool = False,
) -> Any:
    """Replacement for `bert_score.score`: P, R and F per candidate, the maximum of each over several references.

    Returns `((P, R, F), signature)` with `return_hash`. With `all_layers` each has a row per layer, embeddings first.

    >>> P, R, F = score(["A cat sat."], ["A cat sat."], model_type="minilm")
    >>> round(float(F.mean()), 3)
    1.0
    """
    scorer = BERTScorer(
        *(model_type, num_layers, batch_size, nthreads, all_layers, False, None, device, lang),
        *(rescale_with_baseline, baseline_path, use_fast_tokenizer),
    )
    table = idf_of_dictionary(idf, scorer._tokenizer) if isinstance(idf, Mapping) else bool(idf)
    return scorer._score(cands, refs, table, verbose=verbose, return_hash=return_hash)


class BERTScorer:
    """Replacement for `bert_score.BERTScorer`: the model stays loaded, and idf is counted on the given sentences.

    >>> scorer = BERTScorer(model_type="minilm", num_layers=4)
    >>> P, R, F = scorer.score(["A cat sat."], [["A dog ran.", "A cat sat."]])
    >>> round(float(F[0]), 3)
    1.0
    """

    def __init__(
        self,
        model_type: str | None = None,
        num_layers: int | None = None,
        batch_size: int = 64,
        nthreads: int = 4,
        all_layers: bool = False,
        idf: bool = False,
        idf_sents: Sequence[str] | None = None,
        device: str | None = None,
        lang: str | None = None,
        rescale_with_baseline: bool = False,
        baseline_path: str | Path | None = None,
        use_fast_tokenizer: bool = False,
    ) -> None:
        if model_type is None and lang is None:
            msg = "choose a model with model_type= or lang="
            raise RecipeError(msg)
        if rescale_with_baseline and lang is None:
            msg = "rescale_with_baseline=True needs lang=, the language of the baseline"
            raise RecipeError(msg)
        self.model_type = model_of_language(lang or "") if model_type is None else str(model_type)
        self.lang, self.idf, self.device = lang, idf, device or "cpu"
        self.batch_size, self.nthreads, self.all_layers = batch_size, nthreads, all_layers
        self.rescale_with_baseline, self.baseline_path = rescale_with_baseline, baseline_path
        self.use_custom_baseline = baseline_path is not None
        self.use_fast_tokenizer = use_fast_tokenizer
        on_cpu = str(self.device).startswith("cpu")
        self._run: dict[str, Any] = {} if on_cpu else {"engine": "torch", "device": str(device)}
        self._encoder = self._load(by_language=model_type is None)
        self._layer = layers_of_models().get(self.model_type) if num_layers is None else num_layers
        self._layers = range(self._encoder.layers + 1) if all_layers else [self.num_layers]
        tokenizer = self._encoder.tokenizer
        # The fast tokenizer also adds the leading space if tokenizer.json requires it.
        self._prefix_space = "no" if use_fast_tokenizer and tokenizer.signed_prefix_space == "no" else "auto"
        self._tokenizer = tokenizer.with_prefix_space(self._prefix_space, model=self.model_type)
        self._table: IdfTable | None = None
        self._signatures: Mapping[int, str] = {}
        if idf_sents is not None:
            self.compute_idf(idf_sents)

    def _load(self, *, by_language: bool) -> Encoder:
        try:
            return load_encoder(self.model_type, **self._run)
        except ModelNotFoundError as error:
            if not by_language:
                raise
            msg = (
                f"{error}. As in bert-score, lang={self.lang!r} selects {self.model_type}; for a model that works "
                "offline set model_type=, such as 'minilm' or 'mpnet' for English and 'muse' for 16 languages"
            )
            raise ModelNotFoundError(msg) from error

    @property
    def num_layers(self) -> int:
        """Layer of the scores: set by the caller, else the default of bert-score, else of nlgauge."""
        return resolve_layer(self._layer, self._encoder)

    def compute_idf(self, sents: Sequence[str]) -> None:
        """Count idf on sentences, each a document; replaces earlier counts."""
        self._table = IdfTable.count(as_texts(sents, "sents"), self._tokenizer)

    def score(
        self,
        cands: Sequence[str],
        refs: Sequence[str] | Sequence[Sequence[str]],
        verbose: bool = False,
        batch_size: int = 64,
        return_hash: bool = False,
    ) -> Any:
        """Compute P, R and F like `bert_score.BERTScorer.score`; with the signature if `return_hash`."""
        if self.idf and self._table is None:
            msg = "idf=True needs sentences to count: set idf_sents=, or call compute_idf() first"
            raise RecipeError(msg)
        idf = self._table if self.idf and self._table is not None else False
        return self._score(cands, refs, idf, verbose=verbose, return_hash=return_hash)

    @property
    def hash(self) -> str:
        """Signature of the last call; before the first call, that of a pair with one reference."""
        if not self._signatures:
            self.score(["a"], ["a"])
        return self._signatures[self.num_layers]

    def __repr__(self) -> str:
        return f"BERTScorer(hash={self.hash}, batch_size={self.batch_size}, nthreads={self.nthreads})"

    def _score(
        self, cands: Iterable[str], refs: Iterable[Any], idf: bool | IdfTable, *, verbose: bool, return_hash: bool
    ) -> Any:
        """Compute P, R and F: an array each, or with all layers a table each with a row per layer."""
        texts, groups = as_texts(cands, "cands"), reference_groups(refs, "refs")
        check_lengths("cands", texts, "refs", groups)
        if not texts:
            msg = "cands: the list is empty, so there is nothing to score"
            raise InputError(msg)
        with tempfile.TemporaryDirectory(prefix="nlgauge-compat-") as folder:
            options = self._options(idf, Path(folder))
            try:
                scores = score_systems(
                    {"": texts},
                    groups,
                    metric=[BERTScore(layer=layer, **options) for layer in self._layers],
                    empty="zero",  # bert-score accepts two empty texts
                    progress=verbose,
                    **self._run,
                )
            except BaselineError as error:
                raise BaselineError(str(error).replace("rescale=FILE", "baseline_path=FILE")) from error
        self._signatures = {layer: str(score.signature) for layer, score in zip(self._layers, scores, strict=True)}
        rows = ([score.segments[name] for score in scores] for name in ("precision", "recall", "f1"))
        parts = tuple(_tensor(np.array(row if self.all_layers else row[0])) for row in rows)
        return (parts, self._signatures[self.num_layers]) if return_hash else parts

    def _options(self, idf: bool | IdfTable, folder: Path) -> dict[str, Any]:
        """Options of the recipe; given tables are written to files that it can name."""
        options: dict[str, Any] = {"model": self.model_type, "multiref": "best-each", "unknown": "score"}
        options["prefix_space"] = self._prefix_space
        if isinstance(idf, IdfTable):
            idf.save(folder / "idf.json")
            options["idf"] = str(folder / "idf.json")
        elif idf:
            options["idf"] = "refs"
        if self.rescale_with_baseline and self.lang is not None:
            options |= {"lang": self.lang, "rescale": "yes"}
            if self.baseline_path is not None:
                baseline, path = baseline_of_csv(self.baseline_path, self._encoder, self.lang), self.baseline_path
                if baseline is not None:
                    path = folder / "baseline.tsv"
                    path.write_text(baseline.text(), encoding="utf-8")
                options["rescale"] = str(path)
        return options


def _tensor(values: NDArray[np.float64]) -> Any:
    """Convert to a float32 tensor if torch is installed, else to an array of the same numbers."""
    single = values.astype(np.float32)
    if importlib.util.find_spec("torch") is None:
        return single
    import torch

    return torch.from_numpy(single)
