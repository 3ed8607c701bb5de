"""Small tables with the scores that one call gives, for tests of runs over many shards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.core.corpora import small_corpus
from tests.extras import LazyModule

import nlgauge
import nlgauge.apps.cluster as many
from nlgauge.core.corpus import Corpus

arrow = LazyModule("pyarrow")
parquet = LazyModule("pyarrow.parquet")

#: Roles of the columns of `corpus_table`.
COLUMNS = {"hyp": ["terse", "fluent"], "ref": "ref", "src": "src", "id": "id"}

ONE_SYSTEM = {"hyp": "fluent", "ref": "ref", "id": "id"}

TEXT_METRICS = ["chrf", "bleu"]

#: Marks of tests whose small texts and hashed vectors bring warnings that are not their subject.
QUIET = [
    pytest.mark.usefixtures("small_encoder"),
    *(
        pytest.mark.filterwarnings(f"ignore::nlgauge.errors.{name}")
        for name in (
            "TruncationWarning",
            "UnknownWordWarning",
            "LanguageWarning",
            "EmptyTextWarning",
            "ZeroWeightWarning",
        )
    ),
]


def corpus_rows(corpus: Corpus) -> dict[str, list[Any]]:
    """A corpus as columns; a row with one reference has a text, others a list."""
    return {
        "id": [f"row-{number}" for number in range(len(corpus))],
        **{name: list(texts) for name, texts in corpus.systems.items()},
        "ref": [list(group) for group in corpus.references],
        "src": list(corpus.sources or ()),
    }


def corpus_table(path: Path, count: int = 10, *, references: int = 1, **changed: Sequence[Any]) -> Corpus:
    """Write a corpus as Parquet, with columns that are changed; the corpus itself."""
    corpus = small_corpus(count, references=references)
    columns: dict[str, Any] = {**corpus_rows(corpus), **changed}
    parquet.write_table(arrow.table(columns), path)
    return corpus


def in_one_call(corpus: Corpus, metrics: Sequence[Any], **options: Any) -> list[nlgauge.Score]:
    """What one call of the library gives."""
    return nlgauge.score_systems(corpus.systems, corpus.references, sources=corpus.sources, metric=metrics, **options)


def as_bytes(scores: Sequence[nlgauge.Score]) -> str:
    """Everything about scores, signatures included."""
    return json.dumps([score.to_dict() for score in scores])


def merged_bytes(folder: Path) -> str:
    """The same of the parts in a folder."""
    return as_bytes(many.merge(folder).scores)


def run(table: Path, out: Path, **options: Any) -> many.Run:
    """A run of few rows a shard, of metrics that need no model."""
    given: dict[str, Any] = {"metric": TEXT_METRICS, "columns": COLUMNS, "shard_rows": 4, **options}
    return many.score(table, out, **given)
