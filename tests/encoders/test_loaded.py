"""Models that stay in memory: few, shared by threads, and gone when asked."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.encoders.test_run_context import Noting
from tests.encoders.tiny_models import TINY, WORDS, tiny_tensors, write_model
from tests.samples import write_dated

import nlgauge
from nlgauge.core.run_options import RunOptions
from nlgauge.encoders.engines.graph_engines import OnnxEncoder, Run
from nlgauge.encoders.graphs.builder import Graph
from nlgauge.encoders.load import LoadedModels, load_encoder, release_models
from nlgauge.encoders.run_context import run_context
from nlgauge.errors import ModelError
from nlgauge.studies.meta.score_judgements import tune_layer
from nlgauge.studies.published.agreement import PublishedRun
from nlgauge.studies.published.load import find_paper_table
from nlgauge.studies.published.reproduce import Request


def test_the_one_used_longest_ago_goes_first() -> None:
    models: LoadedModels[object] = LoadedModels(2)
    first = models.get("a", object)
    models.get("b", object)
    assert models.get("a", object) is first
    models.get("c", object)
    assert len(models) == 2
    assert models.get("a", object) is first, "b was used longest ago"


def test_threads_that_ask_at_once_share_one() -> None:
    models: LoadedModels[object] = LoadedModels(2)
    made, result = [], []

    def load() -> object:
        made.append(None)
        time.sleep(0.05)
        return object()

    threads = [threading.Thread(target=lambda: result.append(models.get("a", load))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(set(map(id, result)))) == (1, 1)


def test_a_model_that_cannot_be_loaded_leaves_nothing_behind() -> None:
    models: LoadedModels[object] = LoadedModels(2)
    with pytest.raises(ZeroDivisionError):
        models.get("a", lambda: 1 / 0)
    assert len(models) == 0


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that the ONNX engine loads, in order."""
    result: list[str] = []
    original = OnnxEncoder.__init__

    def counted(self: OnnxEncoder, *args: object, **options: object) -> None:
        original(self, *args, **options)  # type: ignore[arg-type]
        result.append(self.model)

    monkeypatch.setattr(OnnxEncoder, "__init__", counted)
    release_models()
    return result


def test_models_can_be_let_go(tmp_path: Path, own_cache: Path, loads: list[str]) -> None:
    folder = str(write_model(tmp_path / "tiny", TINY["bert"]))
    assert load_encoder(folder) is load_encoder(folder)
    assert loads == ["tiny"]
    release_models()
    load_encoder(folder)
    assert loads == ["tiny", "tiny"]


def test_a_table_in_print_looks_its_model_up_with_the_options_of_the_run(
    tmp_path: Path, own_cache: Path, loads: list[str]
) -> None:
    folder = str(write_model(tmp_path / "tiny", TINY["bert"]))
    table = find_paper_table("table3")
    assert PublishedRun(Request(table=table, model=folder, run=RunOptions(threads=1))).model_is_here()
    load_encoder(folder, threads=1)
    assert loads == ["tiny"]


@pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning", "ignore::nlgauge.errors.LanguageWarning")
def test_tuning_a_layer_loads_a_model_once(tmp_path: Path, own_cache: Path, loads: list[str]) -> None:
    from tests.studies.meta.test_evaluation import table

    folder = str(write_model(tmp_path / "tiny", TINY["bert"]))
    judged = table()
    known = tuple(
        " ".join(WORDS.split()[: 2 + row % 3]) for row in range(len(judged))
    )  # the tiny model knows no others
    tune_layer(
        replace(judged, hypothesis=known, references=tuple((text,) for text in known)), model=folder, threads=1
    )
    assert loads == ["tiny"]


# --- files replaced by others of the same size and date -----------------------------------------------

VECTORS = b"cat 1.0 0.0 0.0\nsat 0.0 1.0 0.0\nran 0.0 0.9 0.4\nthe 0.1 0.1 0.9\ndog 0.5 0.5 0.0\n"
OTHER_VECTORS = b"cat 1.0 0.0 0.0\nsat 0.0 1.0 0.0\nran 0.9 0.0 0.4\nthe 0.1 0.1 0.9\ndog 0.9 0.1 0.0\n"
HYPS, REFS = ["the cat sat", "the dog ran"], ["the dog ran", "the cat sat"]


def test_replaced_vector_file_has_its_own_signature(tmp_path: Path, own_cache: Path) -> None:
    path = tmp_path / "vectors.txt"

    def weights_and_score(content: bytes) -> tuple[str, float]:
        write_dated(path, content)
        score = nlgauge.score(HYPS, REFS, metric="moverscore:idf=none", model=str(path))
        return dict(score.signature.recipe)["weights"], score.system_score

    before, after = weights_and_score(VECTORS), weights_and_score(OTHER_VECTORS)
    # The first digits of what sha256sum prints for the two files.
    assert (before[0], after[0]) == ("70a5e4b5af40", "72e069b82b55")
    assert before[1] != after[1]


def write_dated_model(folder: Path, seed: int) -> str:
    """A tiny BERT whose weights depend on the seed, and its size and dates do not."""
    write_model(folder, TINY["bert"], tiny_tensors(TINY["bert"], seed=seed))
    for file in folder.iterdir():
        write_dated(file, file.read_bytes())
    return str(folder)


def test_replaced_model_folder_has_its_own_signature(tmp_path: Path, own_cache: Path) -> None:
    def weights_and_score(seed: int) -> tuple[str, float]:
        folder = write_dated_model(tmp_path / "tiny", seed)
        score = nlgauge.score(HYPS, REFS, metric="bertscore:layer=2", model=folder)
        return dict(score.signature.recipe)["weights"], score.system_score

    before, after = weights_and_score(0), weights_and_score(1)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert weights_and_score(0) == before


def test_model_replaced_in_use_gives_no_layers_of_the_other_one(tmp_path: Path, own_cache: Path) -> None:
    folder = write_dated_model(tmp_path / "tiny", 0)
    with run_context(encoder_pool=Noting()):
        first = nlgauge.score(HYPS, REFS, metric="bertscore:layer=2", model=folder)
        write_dated_model(tmp_path / "tiny", 1)
        assert nlgauge.score(HYPS, REFS, metric="bertscore:layer=2", model=folder).to_dict() == first.to_dict()
        with pytest.raises(ModelError, match=r"model 'tiny' in .* were replaced while the model was in use"):
            nlgauge.score(HYPS, REFS, metric="bertscore:layer=3", model=folder)


@pytest.mark.parametrize("engine", ["onnx", "openvino"])
def test_vectors_do_not_change_with_a_file_that_is_written_over(tmp_path: Path, own_cache: Path, engine: str) -> None:
    """A session that has started holds weights of its own: no array is left that is mapped to the file."""
    encoder = load_encoder(write_dated_model(tmp_path / "tiny", 0), engine=engine)
    write_dated_model(tmp_path / "other", 1)
    ids = np.arange(8).reshape(2, 4)
    before = encoder.encode(ids, (2,))
    weights = tmp_path / "tiny" / "model.safetensors"
    inode = weights.stat().st_ino
    weights.write_bytes((tmp_path / "other" / "model.safetensors").read_bytes())
    assert weights.stat().st_ino == inode
    assert np.array_equal(encoder.encode(ids, (2,)), before)
    release_models()
    assert not np.array_equal(load_encoder(str(tmp_path / "tiny"), engine=engine).encode(ids, (2,)), before)


@pytest.mark.parametrize("fails", [False, True])
def test_weights_that_change_while_a_session_starts_are_not_used(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    encoder = load_encoder(write_dated_model(tmp_path / "tiny", 0))
    start = OnnxEncoder._session

    def start_late(self: OnnxEncoder, graph: Graph, values: dict[str, NDArray[Any]]) -> Run:
        write_dated_model(tmp_path / "tiny", 1)
        if fails:
            raise RuntimeError
        return start(self, graph, values)

    monkeypatch.setattr(OnnxEncoder, "_session", start_late)
    with pytest.raises(ModelError, match=r"model 'tiny' in .* were replaced while the model was in use"):
        encoder.encode(np.arange(8).reshape(2, 4), (2,))
