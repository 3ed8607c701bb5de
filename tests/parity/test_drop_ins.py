"""The drop-ins beside the packages they stand for: bert-score 0.3.13, torchmetrics 1.9, evaluate 0.4."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nlgauge
import nlgauge.apps.compat.evaluate
from nlgauge.apps.compat import bert_score as ours
from nlgauge.apps.compat.bert_score import layers_of_models
from nlgauge.apps.compat.torchmetrics import TextScore
from nlgauge.io.store.resolve import resolve

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning"),
]

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("bert_score")

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
TOLERANCE = 1e-5

#: Of unequal lengths, and neither list in the order of its lengths nor in an order that is its own inverse.
CANDS = [
    "The train to Leeds leaves at noon from platform four.",
    "A cat.",
    "He bought bread, milk and three apples.",
    "Nobody knew the answer.",
    "Rain is expected in the north tomorrow, with some snow on the hills.",
    "They left early.",
]
REFS = [
    "At noon.",
    "There was a cat on the mat in front of the old stove.",
    "He purchased bread.",
    "No one at all knew what the answer to it was.",
    "Rain and snow tomorrow.",
    "They left the house before it was light.",
]
GROUPS = [[ref, other] for ref, other in zip(REFS, [*REFS[1:], REFS[0]], strict=True)]


@pytest.fixture(scope="module")
def minilm() -> str:
    return str(resolve("minilm").path)


def assert_same(left: Any, right: Any) -> None:
    assert len(left) == len(right) == 3
    for first, other in zip(left, right, strict=True):
        assert type(first) is type(other) is torch.Tensor
        assert (first.dtype, first.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(first.numpy(), other.numpy(), atol=TOLERANCE, rtol=0)


# bert-score


def test_tables_of_layers_are_the_same() -> None:
    assert layers_of_models() == theirs.utils.model2layers


@pytest.mark.parametrize("refs", [REFS, GROUPS], ids=["one reference", "several"])
@pytest.mark.parametrize("options", [{}, {"idf": True}, {"num_layers": 6}], ids=str)
def test_score(minilm: str, refs: Any, options: dict[str, Any]) -> None:
    options = {"num_layers": 4, "batch_size": 1, "nthreads": 0, "device": "cpu"} | options
    assert_same(ours.score(CANDS, refs, minilm, **options), theirs.score(CANDS, refs, minilm, **options))


def test_all_layers(minilm: str) -> None:
    options = {"num_layers": 6, "batch_size": 1, "nthreads": 0, "all_layers": True}
    assert_same(ours.score(CANDS, REFS, minilm, **options), theirs.score(CANDS, REFS, minilm, **options))


def test_a_scorer_with_idf_and_a_baseline(minilm: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.csv"
    path.write_text("LAYER,P,R,F\n" + "".join(f"{n},.1,.2,.{n + 1}\n" for n in range(7)), encoding="utf-8")
    options: dict[str, Any] = {
        "model_type": minilm,
        "num_layers": 4,
        "nthreads": 0,
        "idf": True,
        "idf_sents": [*REFS, "bread and milk"],
        "lang": "en",
        "rescale_with_baseline": True,
        "baseline_path": str(path),
    }
    here, there = ours.BERTScorer(**options), theirs.BERTScorer(**options)
    assert_same(here.score(CANDS, GROUPS, batch_size=1), there.score(CANDS, GROUPS, batch_size=1))
    for name in ("lang", "idf", "model_type", "num_layers", "rescale_with_baseline", "use_fast_tokenizer"):
        assert getattr(here, name) == getattr(there, name)


def test_an_idf_dictionary_of_the_package(minilm: str) -> None:
    weights = theirs.utils.get_idf_dict([*REFS, *CANDS], theirs.utils.get_tokenizer(minilm), nthreads=0)
    options = {"num_layers": 4, "batch_size": 1, "nthreads": 0, "idf": weights}
    assert_same(ours.score(CANDS, REFS, minilm, **options), theirs.score(CANDS, REFS, minilm, **options))


# torchmetrics


def test_torchmetrics_misorders_pairs_and_we_do_not(minilm: str) -> None:
    """Its BERTScore sorts both sides by length and undoes that with the sorting order instead of its inverse."""
    torchmetrics = pytest.importorskip("torchmetrics.functional.text.bert")

    def f_of(cands: list[str], refs: list[str]) -> Any:
        options = {
            "model_name_or_path": minilm,
            "num_layers": 4,
            "truncation": True,
            "num_threads": 0,
            "device": "cpu",
        }
        return torchmetrics.bert_score(cands, refs, **options)["f1"].numpy()

    together = f_of(CANDS, REFS)
    alone = np.array([float(f_of([cand], [ref])) for cand, ref in zip(CANDS, REFS, strict=True)])
    assert np.abs(together - alone).max() > 0.05  # a segment's score depends on its neighbours
    # Alone, each is near bert-score; special tokens cannot be matched there, so it is not the same.
    expected = theirs.score(CANDS, REFS, minilm, num_layers=4, batch_size=1, nthreads=0)[2].numpy()
    assert np.abs(alone - expected).max() < 0.02
    assert np.abs(together - expected).max() > 0.05
    metric = TextScore("bertscore", model=minilm, layer=4)
    metric.update(CANDS[:4], REFS[:4])
    metric.update(CANDS[4:], REFS[4:])
    np.testing.assert_allclose(metric.compute()["f1"].numpy(), expected, atol=TOLERANCE, rtol=0)


def test_update_forward_compute_and_reset() -> None:
    pytest.importorskip("torchmetrics")
    metric = TextScore("bertscore", model="minilm", average=True)
    batch = metric(CANDS[:2], REFS[:2])  # forward: the batch's own score
    assert float(batch["f1"]) == pytest.approx(nlgauge.score(CANDS[:2], REFS[:2]).system_score, abs=1e-6)
    metric.update(CANDS[2:], GROUPS[2:])
    whole = nlgauge.score(CANDS, [*([ref] for ref in REFS[:2]), *GROUPS[2:]])
    assert float(metric.compute()["f1"]) == pytest.approx(whole.system_score, abs=1e-6)
    assert metric.result is not None
    assert metric.result.signature == whole.signature
    metric.reset()
    assert metric.result is None
    metric.update(CANDS[:1], REFS[:1])
    assert float(metric.compute()["f1"]) == pytest.approx(nlgauge.score(CANDS[:1], REFS[:1]).system_score, abs=1e-6)


def test_copies_collections_and_trackers() -> None:
    torchmetrics = pytest.importorskip("torchmetrics")
    metric = TextScore("chrf", average=True)
    metric.update(CANDS[:2], REFS[:2])
    for copy in (pickle.loads(pickle.dumps(metric)), metric.clone()):
        copy.update(CANDS[2:], REFS[2:])
        expected = nlgauge.score(CANDS, REFS, metric="chrf").system_score
        assert float(copy.compute()["chrf"]) == pytest.approx(expected, rel=1e-6)
    assert float(metric.compute()["chrf"]) == pytest.approx(
        nlgauge.score(CANDS[:2], REFS[:2], metric="chrf").system_score, rel=1e-6
    )
    # Two recipes whose states are the same texts share them in a collection, and score them each by its own.
    both = {layer: TextScore("bertscore", model="minilm", idf="refs", layer=layer, average=True) for layer in (2, 4)}
    collection = torchmetrics.MetricCollection({f"layer{layer}": value for layer, value in both.items()})
    for cand, ref in zip(CANDS, REFS, strict=True):
        collection.update([cand], [ref])
    result = collection.compute()
    for layer in both:
        expected = nlgauge.score(CANDS, REFS, idf="refs", layer=layer).system_score
        assert float(result[f"layer{layer}_f1"]) == pytest.approx(expected, abs=1e-6)
    assert TextScore("chrf").higher_is_better
    assert not TextScore("baryscore").higher_is_better
    tracker = torchmetrics.MetricTracker(TextScore("chrf", average=True))
    for hyps in (CANDS, REFS):
        tracker.increment()
        tracker.update(hyps, REFS)
    assert tracker.maximize
    assert float(tracker.compute_all()["chrf"][1]) == pytest.approx(100)


def test_what_looks_at_the_corpus_is_scored_as_one_corpus() -> None:
    pytest.importorskip("torchmetrics")
    metric = TextScore("bertscore", model="minilm", idf="refs")
    for cand, ref in zip(CANDS, REFS, strict=True):
        metric.update([cand], [ref])
    np.testing.assert_allclose(metric.compute()["f1"], nlgauge.score(CANDS, REFS, idf="refs").f1, atol=1e-6)
    with pytest.raises(nlgauge.errors.InputError, match="got 2 and 1"):
        metric.update(CANDS[:2], REFS[:2], positions=[1])


def test_odd_batches() -> None:
    pytest.importorskip("torchmetrics")
    metric = TextScore("chrf")
    metric.update("A cat sat.", "The cat sat.")  # one text is a batch of one
    metric.update([], [])  # and no text is none
    metric.update((text for text in CANDS[:2]), iter(GROUPS[:2]))
    expected = nlgauge.score(["A cat sat.", *CANDS[:2]], ["The cat sat.", *GROUPS[:2]], metric="chrf")
    np.testing.assert_allclose(metric.compute()["chrf"], expected.segments["chrf"], rtol=1e-6)
    for preds, target, message in (
        (["a"], ["a", "b"], "preds and target must have the same length, got 1 and 2"),
        (["a", "b"], "ab", "preds and target must have the same length, got 2 and 1"),
        ([None], ["a"], r"preds\[0\]: expected a string, got None"),
        (["a"], [None], r"target\[0\]: expected a text"),
        (["a"], None, "nothing to compare with"),
    ):
        with pytest.raises(nlgauge.errors.InputError, match=message):
            metric.update(preds, target)
    with (
        pytest.warns(UserWarning, match="before"),
        pytest.raises(nlgauge.errors.InputError, match="nothing to compute"),
    ):
        TextScore("chrf").compute()


_WORKER = """
import json, sys, torch
from nlgauge.apps.compat.torchmetrics import TextScore
rank, folder, cands, refs = int(sys.argv[1]), sys.argv[2], *map(json.loads, sys.argv[3:])
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
found = {}
blocks = TextScore("chrf")
for at in ((0, 1), (2, 3, 4, 5))[rank]:
    blocks.update([cands[at]], [refs[at]])
found["blocks"] = blocks.compute()["chrf"].tolist()
dealt = TextScore("chrf")
for at in ((0, 2, 4, 0), (1, 3, 5, 1))[rank]:  # in turns, the first ones again to fill the round
    dealt.update([cands[at]], [refs[at]], positions=[at])
found["dealt"] = dealt.compute()["chrf"].tolist()
idle = TextScore("chrf")
if rank == 1:
    idle.update(cands, refs)
idle.update_called or setattr(idle, "_update_count", 1)  # torchmetrics warns of a process that has nothing
found["idle"] = idle.compute()["chrf"].tolist()
print(json.dumps(found))
torch.distributed.destroy_process_group()
"""


def test_processes_gather_all_segments_in_order(tmp_path: Path) -> None:
    pytest.importorskip("torchmetrics")
    texts = [json.dumps(CANDS), json.dumps(REFS)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _WORKER, str(rank), str(tmp_path), *texts], stdout=subprocess.PIPE, text=True
        )
        for rank in (0, 1)
    ]
    printed = [process.communicate(timeout=300)[0] for process in processes]
    expected = nlgauge.score(CANDS, REFS, metric="chrf").segments["chrf"]
    for text in printed:
        result = json.loads(text.splitlines()[-1])
        for name in ("blocks", "dealt", "idle"):
            np.testing.assert_allclose(result[name], expected, rtol=1e-6)


# evaluate


def test_the_folder_for_a_space_is_loaded_by_evaluate_offline(tmp_path: Path) -> None:
    """In a process of its own: evaluate reads where its caches are, and that it is offline, when it is imported."""
    pytest.importorskip("evaluate")
    folder = ROOT / "examples" / "evaluate-space" / "nlgauge_bertscore"
    program = """
import json, sys, evaluate
folder, cands, refs = sys.argv[1], *map(json.loads, sys.argv[2:])
metric = evaluate.load(folder)
metric.add(prediction=cands[0], reference=refs[0])
metric.add_batch(predictions=cands[1:], references=refs[1:])
print(json.dumps(metric.compute(model_type="minilm", num_layers=4)))
"""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), json.dumps(CANDS), json.dumps(REFS)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    expected = nlgauge.apps.compat.evaluate.load("bertscore").compute(
        predictions=CANDS, references=REFS, model_type="minilm", num_layers=4
    )
    assert json.loads(done.stdout.splitlines()[-1]) == expected
    assert sorted(expected) == ["f1", "hashcode", "precision", "recall"]


def test_a_data_set_gets_columns_by_map() -> None:
    datasets = pytest.importorskip("datasets")
    from nlgauge.apps.compat import BatchScorer

    datasets.disable_progress_bars()
    table = datasets.Dataset.from_dict({"mt": CANDS, "ref": REFS})
    scored = table.map(BatchScorer(hyp="mt", ref="ref"), batched=True, batch_size=2, load_from_cache_file=False)
    np.testing.assert_array_equal(scored["bertscore_f1"], nlgauge.score(CANDS, REFS).f1)
