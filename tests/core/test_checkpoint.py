"""The checkpoint file of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs.write_schemas import FOLDER
from tests.core.corpora import small_corpus
from tests.extras import LazyModule

from nlgauge.core import compare as module
from nlgauge.core.compare import Checkpoint, Comparisons, compare, compare_with_checkpoint
from nlgauge.core.pipeline import finish
from nlgauge.core.prepare import Prepared, prepare
from nlgauge.core.registry import parse_metric
from nlgauge.core.run_options import RunOptions
from nlgauge.encoders import sentences
from nlgauge.errors import FileFormatError, NlgaugeWarning
from nlgauge.metrics.bertscore import BERTScore
from nlgauge.metrics.moverscore import MoverScore

jsonschema = LazyModule("jsonschema")

HEAD = '{"format": "nlgauge-checkpoint/1"}\n'


def prepared(*recipes: str, options: RunOptions | None = None) -> Prepared:
    return prepare([parse_metric(recipe) for recipe in recipes], small_corpus(), options or RunOptions())


def scores(ready: Prepared, checkpoint: Checkpoint, size: int = 4) -> list[list[float]]:
    ranges = [range(start, min(start + size, len(ready))) for start in range(0, len(ready), size)]
    result = Comparisons.join(compare_with_checkpoint(ready, part, checkpoint) for part in ranges)
    return [score.segments[score.main].tolist() for score in finish(ready, result)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.state"


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[range, set[int]]]:
    """What is computed, and not taken from the checkpoint."""
    calls: list[tuple[range, set[int]]] = []

    def counting(ready: Prepared, segments: range, *, only: Any = None) -> Comparisons:
        calls.append((segments, set(only)))
        return compare(ready, segments, only=only)

    monkeypatch.setattr(module, "compare", counting)
    return calls


def test_each_line_matches_the_schema(path: Path) -> None:
    scores(prepared("bertscore", "moverscore:idf=both"), Checkpoint(path))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    validator = jsonschema.Draft202012Validator(json.loads((FOLDER / "nlgauge-checkpoint-1.json").read_text()))
    for line in lines:
        validator.validate(line)
    assert not validator.is_valid({"format": "other"})
    assert not validator.is_valid({**lines[1], "systems": {"a": {}}})


def test_finished_ranges_are_not_computed_again(path: Path, compared: list[tuple[range, set[int]]]) -> None:
    ready = prepared("bertscore", "moverscore:idf=both", "xmoverscore:transforms=position-norm")
    first = scores(ready, Checkpoint(path), size=8)
    assert first == [s.segments[s.main].tolist() for s in finish(ready, compare(ready))]
    assert [segments for segments, _ in compared] == [range(8), range(8, 10)]
    kept = path.read_bytes()
    assert scores(ready, Checkpoint(path), size=8) == first
    assert len(compared) == 2
    assert path.read_bytes() == kept
    more = prepared("bertscore:layer=2", "bertscore")
    scores(more, Checkpoint(path), size=8)
    assert [only for _, only in compared[2:]] == [{0}, {0}], "only the new recipe"


def test_equal_recipes_are_computed_once(compared: list[tuple[range, set[int]]]) -> None:
    ready = prepared("bertscore", "bertscore:layer=default", "bertscore:layer=1")
    result = scores(ready, Checkpoint(), size=10)
    assert compared == [(range(10), {0, 2})]
    assert result[0] == result[2]


def test_line_with_changed_value_is_dropped_with_warning(path: Path) -> None:
    ready = prepared("bertscore")
    first = scores(ready, Checkpoint(path))
    lines = path.read_text(encoding="utf-8").splitlines()
    value = json.loads(lines[2])["systems"]["fluent"]["values"][0][0][2]
    lines[2] = lines[2].replace(repr(value), "0.6943")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.warns(NlgaugeWarning, match=r"run\.state': wrong checksum in line 3"):
        changed = Checkpoint(path)
    assert len(changed) == 2
    assert scores(ready, changed) == first
    assert scores(ready, Checkpoint(path)) == first, "the line is gone, and nothing is said any more"


@pytest.mark.parametrize("line", ['{"key": 3}', "[]", '{"sum": "0", "key": "0", "systems": {}}', "\x00"])
def test_damaged_line_is_dropped_with_warning(path: Path, line: str) -> None:
    path.write_text(f"{HEAD}{line}\n", encoding="utf-8")
    with pytest.warns(NlgaugeWarning, match=r"run\.state': wrong checksum in line 2"):
        assert len(Checkpoint(path)) == 0
    assert path.read_text(encoding="utf-8") == HEAD


def test_empty_file_or_unfinished_header_starts_new_checkpoint(path: Path) -> None:
    for content in ("", '{"form'):
        path.write_text(content, encoding="utf-8")
        assert len(Checkpoint(path)) == 0
        assert path.read_text(encoding="utf-8") == HEAD


@pytest.mark.parametrize("content", ["years of work\n", "years of work", '{"format": 1}\n', "[]\n"])
def test_file_of_other_format_is_refused_and_unchanged(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"run\.state"):
        Checkpoint(path)
    assert path.read_text(encoding="utf-8") == content


class Sentences:
    """A model of sentence vectors that can be another one under the same name."""

    name, engine = "second", "none"

    def __init__(self, digit: str) -> None:
        self.digest = digit * 64
        self.engine = "made-1"
        self._seed = int(digit)

    def encode(self, texts: list[str]) -> np.ndarray:
        rows = [np.random.default_rng([self._seed, len(text), *text.encode()]).normal(size=4) for text in texts]
        return np.array(rows, dtype=np.float32)


def test_key_contains_digest_of_second_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = []
    for model in (Sentences("1"), Sentences("2")):
        monkeypatch.setattr(sentences, "load_sentence_encoder", lambda _, model=model, **__: model)
        ready = prepared("sentsim:against=refs,model=minilm,sentence=second,combine=sss")
        result.append(scores(ready, Checkpoint(path)))
        assert result[-1] == scores(ready, Checkpoint())
    assert result[0] != result[1]


def test_key_contains_idf_of_each_system() -> None:
    """The texts of the first range are the same; those that idf is counted on are not."""
    checkpoint = Checkpoint()
    first = small_corpus(8)
    other = small_corpus(10)
    for corpus in (first, other):
        ready = prepare([MoverScore(idf="both"), BERTScore(idf="refs")], corpus, RunOptions())
        alone = [score.segments[score.main].tolist() for score in finish(ready, compare(ready))]
        assert scores(ready, checkpoint) == alone


def test_alignments_are_always_computed() -> None:
    ready = prepared("bertscore", options=RunOptions(alignments=True))
    checkpoint = Checkpoint()
    scored = finish(ready, compare_with_checkpoint(ready, ready.segments, checkpoint))
    assert scored[0].alignments is not None
    assert scored[0].alignments[0] is not None
    assert len(checkpoint) == 0
