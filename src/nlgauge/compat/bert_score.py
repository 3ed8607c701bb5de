"""`score` and `BERTScorer` of the bert-score package, by nlgauge: change the import line.

    from nlgauge.compat.bert_score import score, BERTScorer       (was: from bert_score import ...)

Arguments and returns are those of bert-score 0.3.13, and so are the numbers, to 1e-5 (`tests/parity`): P, R and F as
float32 tensors where torch is installed, as numpy arrays where it is not. What is better on purpose:

- the hash is the signature, which pins weights, tokenizer, idf and baseline by digest;
- a score does not depend on `batch_size`, nor on the other segments (unless idf is counted on them);
- a missing baseline is an error, and no raw score labelled rescaled; `baseline_path` takes one of nlgauge, too;
- several references go with `all_layers`;
- `model_type` also takes a name that nlgauge knows (`minilm`), and `num_layers` may be left out for its folder.

`nthreads` and `batch_size` are accepted and do not move a score. As in bert-score with transformers 4, models with a
tokenizer of RoBERTa or GPT-2 read each text with a space before it, and without one if `use_fast_tokenizer` is set;
for all others `use_fast_tokenizer` does not move a score.
`device=None` computes on the CPU (engine onnx); `device="cuda"` takes the engine torch.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlgauge.compat.bert_score_defaults import chosen_model, tuned_layer
from nlgauge.compat.bert_score_tables import baseline_of_csv, idf_of_dictionary, is_own_baseline
from nlgauge.compat.inputs import check_lengths, reference_groups, texts_of
from nlgauge.encoders import Encoder, load_encoder
from nlgauge.errors import BaselineError, InputError, ModelNotFoundError, RecipeError
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.recipes.defaults import chosen_layer
from nlgauge.scores import Score
from nlgauge.scoring import score_systems
from nlgauge.text import IdfTable, TextTokenizer

__all__ = ["BERTScorer", "score"]

_COMPONENTS = ("precision", "recall", "f1")


@dataclass(frozen=True, kw_only=True)
class _Recipe:
    """What a call of bert-score asks for, in the words of a recipe."""

    model: str
    layer: int | None
    device: str | None
    lang: str | None
    rescaled: bool
    baseline_path: str | Path | None
    all_layers: bool
    by_language: bool = False
    """Whether the model was chosen by its language."""
    fast: bool = False
    """Whether the fast tokenizer was asked for, which bert-score gives no space before a text."""

    def __post_init__(self) -> None:
        if self.rescaled and self.lang is None:
            msg = "rescale_with_baseline=True needs lang=, the language whose baseline is meant"
            raise RecipeError(msg)

    @property
    def run(self) -> dict[str, Any]:
        """Options of the run: engine and device."""
        if self.device is None or str(self.device).startswith("cpu"):
            return {}
        return {"engine": "torch", "device": str(self.device)}

    @property
    def encoder(self) -> Encoder:
        try:
            return load_encoder(self.model, **self.run)
        except ModelNotFoundError as error:
            if not self.by_language:
                raise
            msg = (
                f"{error}. As in bert-score, lang={self.lang!r} alone means {self.model}; for a model that needs no "
                "hub give model_type=, such as 'minilm' or 'mpnet' for English and 'muse' for 16 languages"
            )
            raise ModelNotFoundError(msg) from error

    @property
    def prefix_space(self) -> str:
        """The recipe's option; a space that tokenizer.json itself asks for is put by the fast tokenizer, too."""
        return "no" if self.fast and self.encoder.tokenizer.signed_prefix_space == "no" else "auto"

    @property
    def tokenizer(self) -> TextTokenizer:
        """What reads the texts."""
        return self.encoder.tokenizer.with_prefix_space(self.prefix_space, model=self.model)

    @property
    def chosen_layer(self) -> int:
        return chosen_layer(self.layer, self.encoder)

    def scores(
        self, cands: Iterable[str], refs: Iterable[Any], idf: bool | IdfTable, *, verbose: bool
    ) -> dict[int, Score]:
        """By layer, the score of all pairs."""
        texts, groups = texts_of(cands, "cands"), reference_groups(refs, "refs")
        check_lengths("cands", texts, "refs", groups)
        if not texts:
            msg = "cands: the list is empty, so there is nothing to score"
            raise InputError(msg)
        layers = range(self.encoder.layers + 1) if self.all_layers else [self.chosen_layer]
        with tempfile.TemporaryDirectory(prefix="nlgauge-compat-") as folder:
            options = self._options(idf, Path(folder))
            try:
                found = score_systems(
                    {"": texts},
                    groups,
                    metrics=[BERTScore(layer=layer, **options) for layer in layers],
                    empty="zero",  # two empty texts are nothing that bert-score would stop at
                    progress=verbose,
                    **self.run,
                )
            except BaselineError as error:
                raise BaselineError(str(error).replace("rescale=FILE", "baseline_path=FILE")) from error
        return dict(zip(layers, found, strict=True))

    def _options(self, idf: bool | IdfTable, folder: Path) -> dict[str, Any]:
        """Options of the recipe; tables that were given are written where it can name them."""
        options: dict[str, Any] = {"model": self.model, "multiref": "best-each", "unknown": "score"}
        options["prefix_space"] = self.prefix_space
        if isinstance(idf, IdfTable):
            idf.save(folder / "idf.json")
            options["idf"] = str(folder / "idf.json")
        elif idf:
            options["idf"] = "refs"
        if self.rescaled and self.lang is not None:
            options |= {"lang": self.lang, "rescale": "yes"}
            if self.baseline_path is not None and is_own_baseline(self.baseline_path):
                options["rescale"] = str(self.baseline_path)
            elif self.baseline_path is not None:
                baseline = baseline_of_csv(self.baseline_path, self.encoder, self.lang)
                (folder / "baseline.tsv").write_text(baseline.text(), encoding="utf-8")
                options["rescale"] = str(folder / "baseline.tsv")
        return options


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
    """`bert_score.score`: P, R and F per candidate, the best of each over several references.

    `((P, R, F), signature)` with `return_hash`. With `all_layers` each has a row per layer, the embeddings first.

    >>> P, R, F = score(["A cat sat."], ["A cat sat."], model_type="minilm")
    >>> round(float(F.mean()), 3)
    1.0
    """
    recipe = _recipe(
        model_type, num_layers, device, lang, rescale_with_baseline, baseline_path, all_layers, use_fast_tokenizer
    )
    table = idf_of_dictionary(idf, recipe.tokenizer) if isinstance(idf, Mapping) else bool(idf)
    found = recipe.scores(cands, refs, table, verbose=verbose)
    parts = _returned(found, all_layers)
    return (parts, str(found[recipe.chosen_layer].signature)) if return_hash else parts


class BERTScorer:
    """`bert_score.BERTScorer`: the model stays loaded, and idf is counted on sentences of one's own.

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
        self._recipe = _recipe(
            model_type, num_layers, device, lang, rescale_with_baseline, baseline_path, all_layers, use_fast_tokenizer
        )
        self.batch_size, self.nthreads, self.all_layers = batch_size, nthreads, all_layers
        self.device = device or "cpu"
        self.baseline_path = baseline_path
        self.use_custom_baseline = baseline_path is not None
        self.use_fast_tokenizer = use_fast_tokenizer
        self.model_type, self.lang, self.idf = self._recipe.model, lang, idf
        self.num_layers = self._recipe.chosen_layer
        self.rescale_with_baseline = rescale_with_baseline
        self._table: IdfTable | None = None
        self._signature: str | None = None
        if idf_sents is not None:
            self.compute_idf(idf_sents)

    def compute_idf(self, sents: Sequence[str]) -> None:
        """Count idf on sentences, each a document; they take the place of earlier ones."""
        self._table = IdfTable.count(texts_of(sents, "sents"), self._recipe.tokenizer)

    def score(
        self,
        cands: Sequence[str],
        refs: Sequence[str] | Sequence[Sequence[str]],
        verbose: bool = False,
        batch_size: int = 64,
        return_hash: bool = False,
    ) -> Any:
        """P, R and F as `bert_score.BERTScorer.score` returns them; with the signature if `return_hash`."""
        found = self._recipe.scores(cands, refs, self._idf(), verbose=verbose)
        self._signature = str(found[self.num_layers].signature)
        parts = _returned(found, self.all_layers)
        return (parts, self._signature) if return_hash else parts

    @property
    def hash(self) -> str:
        """The signature of the last call; before the first one, that of a pair with one reference."""
        if self._signature is not None:
            return self._signature
        found = self._recipe.scores(["a"], ["a"], self._idf(), verbose=False)
        return str(found[self.num_layers].signature)

    def _idf(self) -> bool | IdfTable:
        if not self.idf:
            return False
        if self._table is None:
            msg = "idf=True needs sentences to count: give idf_sents=, or call compute_idf() first"
            raise RecipeError(msg)
        return self._table

    def __repr__(self) -> str:
        return f"BERTScorer(hash={self.hash}, batch_size={self.batch_size}, nthreads={self.nthreads})"


def _recipe(
    model: str | None,
    layer: int | None,
    device: str | None,
    lang: str | None,
    rescaled: bool,
    baseline_path: str | Path | None,
    all_layers: bool,
    fast: bool,
) -> _Recipe:
    chosen = chosen_model(model, lang)
    return _Recipe(
        model=str(chosen),
        layer=tuned_layer(chosen) if layer is None else layer,
        device=device,
        lang=lang,
        rescaled=rescaled,
        baseline_path=baseline_path,
        all_layers=all_layers,
        by_language=model is None,
        fast=fast,
    )


def _returned(scores: Mapping[int, Score], all_layers: bool) -> tuple[Any, Any, Any]:
    """P, R and F: an array each, or with all layers a table each with a row per layer."""
    rows = {name: [one.segments[name] for one in scores.values()] for name in _COMPONENTS}
    p, r, f = (_tensor(np.array(rows[name] if all_layers else rows[name][0])) for name in _COMPONENTS)
    return p, r, f


def _tensor(values: NDArray[np.float64]) -> Any:
    """A float32 tensor where torch is installed, an array of the same numbers elsewhere."""
    single = values.astype(np.float32)
    if importlib.util.find_spec("torch") is None:
        return single
    import torch

    return torch.from_numpy(single)
