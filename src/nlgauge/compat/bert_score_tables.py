"""Tables of the bert-score package as those of nlgauge: idf dictionaries, and baselines in CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nlgauge.encoders import Encoder
from nlgauge.encoders.precision import vectors_digest
from nlgauge.errors import BaselineError, FileFormatError, InputError
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.text import IdfTable, TextTokenizer

__all__ = ["baseline_of_csv", "idf_of_dictionary", "is_own_baseline"]

#: A frequency that came from counting is whole but for rounding in the logarithm.
_WHOLE = 1e-3

#: How a baseline of nlgauge begins.
_OWN = "# nlgauge baseline "


def idf_of_dictionary(weights: Mapping[int, float], tokenizer: TextTokenizer) -> IdfTable:
    """Frequencies behind an idf dictionary, as `bert_score.utils.get_idf_dict` makes it.

    There idf(t) = ln((N + 1) / (df(t) + 1)), and the default of the dictionary is that of a token in no document,
    ln(N + 1); so N and every df follow from it.
    """
    factory = getattr(weights, "default_factory", None)
    if factory is None:
        msg = "idf: expected a defaultdict of get_idf_dict, whose default says the number of documents, got a dict"
        raise InputError(msg)
    documents = math.exp(factory()) - 1
    frequency = np.zeros(tokenizer.vocabulary_size, dtype=np.int64)
    for token, weight in weights.items():
        found = (documents + 1) / math.exp(weight) - 1
        if not 0 <= token < len(frequency) or abs(found - round(found)) > _WHOLE * max(1.0, found):
            msg = f"idf[{token}] = {weight} is no idf of {round(documents)} documents under this model's tokenizer"
            raise InputError(msg)
        frequency[token] = round(found)
    return IdfTable(round(documents), frequency, tokenizer.digest, "an idf dictionary of bert-score")


def is_own_baseline(path: str | Path) -> bool:
    """Whether a file was made by `nlgauge baseline build`, which messages advise."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(len(_OWN)) == _OWN
    except (OSError, UnicodeDecodeError):
        return False  # reading it as bert-score's says why


def baseline_of_csv(path: str | Path, encoder: Encoder, language: str) -> Baseline:
    """A baseline of bert-score (`LAYER,P,R,F`), said to be of this model: its files do not name one."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        msg = f"baseline file {str(path)!r} cannot be read: {error.strerror or error}"
        raise BaselineError(msg) from error
    if not rows or [name.strip().upper() for name in rows[0]] != ["LAYER", "P", "R", "F"]:
        msg = f"{str(path)!r} is no baseline of bert-score: its first line should be 'LAYER,P,R,F'"
        raise FileFormatError(msg)
    try:
        # bert-score goes by the number of the row, and does not read the column LAYER.
        values = {number: (float(p), float(r), float(f)) for number, (_, p, r, f) in enumerate(rows[1:])}
    except ValueError as error:
        msg = f"{str(path)!r}: expected a layer and three numbers in every row ({error})"
        raise FileFormatError(msg) from error
    header = {"model": encoder.model, "language": language, "weights": vectors_digest(encoder)}
    return Baseline(header, values)
