"""The same numbers as the bert-score package 0.3.13, on texts that the golden file does not hold.

bert-score pads a batch and multiplies what is masked by 0, so a token whose cosines are all negative scores 0
beside a longer neighbour. Hence `batch_size=1` here, which gives each pair a batch of its own; the last tests
show the difference.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.encoders.byte_level_models import write_roberta

import nlgauge
from nlgauge.apps.compat import bert_score as drop_in
from nlgauge.core.signature import BertScoreHash, is_bert_score_hash
from nlgauge.encoders.load import load_encoder
from nlgauge.io.store.resolve import resolve
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.text.idf import IdfTable
from nlgauge.vectors.greedy import greedy_match

pytestmark = [
    pytest.mark.torch,
    # Some texts are in scripts and signs that the models do not know, on purpose.
    pytest.mark.filterwarnings("ignore::nlgauge.errors.UnknownWordWarning"),
    pytest.mark.filterwarnings("ignore::nlgauge.errors.LanguageWarning"),
]

torch = pytest.importorskip("torch")
bert_score = pytest.importorskip("bert_score")
transformers = pytest.importorskip("transformers")

TOLERANCE = 1e-5
COMPONENTS = ("precision", "recall", "f1")

LONG = "The committee met again in the windowless room, and nobody could say why it was still snowing . "

#: Hypothesis and reference.
PAIRS = [
    ("The ferry was cancelled.", "The ferry was cancelled."),  # identical
    ("The ferry was cancelled.", "They called the ferry off because of the storm."),  # a hypothesis again
    ("They called the ferry off because of the storm.", "The ferry was cancelled."),  # ... and turned round
    ("bread", "butter"),
    ("bread", "The museum guards' wages rose by twenty per cent, which surprised nobody who had read the letter."),
    ("of of of of of of", "of"),
    ("...", "?!"),
    ("!", "This ends without a mark"),
    ("naïve café in Ōsaka", "naive cafe in Osaka"),
    ("東京は晴れです", "今日は雨でした。"),
    ("good 🙂🙂 morning", "good morning 🌧"),
    ("Привет, мир", "hello, world"),
    ("I don't know; it's 3.14 (about $2,000.50) -- e.g. U.S.A.", "i do not know: it is 3,14, about 2000 dollars"),
    ("antidisestablishmentarianism", "floccinaucinihilipilification"),
    ("Hello [SEP] world [UNK]", "Hello world"),  # special tokens spelt out: weighed by id
    ("a </s> b <s> c [CLS]", "a b c"),
    ("  white   space \t around\n", "white space around"),
    ("x" * 150, "one word of more than a hundred letters is unknown"),
    (LONG * 2, LONG),
    (LONG * 40, LONG * 15 + "It was April."),  # over the limit against nearly at it
    ("storm " * 600, "bread " * 700),  # over the limit on both sides
]
HYPS, REFS = [hyp for hyp, _ in PAIRS], [ref for _, ref in PAIRS]
MODELS = [("minilm", 4), ("minilm", 6), ("mpnet", 9)]

truncation_expected = pytest.mark.filterwarnings("ignore::nlgauge.errors.TruncationWarning")
#: bert-score makes a tensor of what pandas 3 hands out read-only; it does not write to it.
read_only_table = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")


@pytest.fixture
def empty_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives bert-score back what it calls for an empty text, which transformers 5 no longer has."""
    original = bert_score.utils.sent_encode

    def sent_encode(tokenizer: Any, sentence: str) -> Any:
        if not sentence.strip():
            return [tokenizer.cls_token_id, tokenizer.sep_token_id]  # build_inputs_with_special_tokens([])
        return original(tokenizer, sentence)

    monkeypatch.setattr(bert_score.utils, "sent_encode", sent_encode)


def theirs(hyps: list[str], refs: Any, model: str, layer: int, **options: Any) -> NDArray[np.float64]:
    """Precision, recall and F by bert-score, a row each."""
    result = bert_score.score(
        hyps,
        refs,
        model_type=str(resolve(model).path),
        num_layers=layer,
        device="cpu",
        batch_size=1,
        nthreads=0,
        **options,
    )
    return np.array([part.numpy() for part in result], dtype=np.float64)


def ours(hyps: list[str], refs: Any, model: str, layer: int, **options: Any) -> NDArray[np.float64]:
    score = nlgauge.score(hyps, refs, model=model, layer=layer, multiref="best-each", unknown="score", **options)
    return np.array([score.segments[name] for name in COMPONENTS])


def assert_same(left: NDArray[np.float64], right: NDArray[np.float64]) -> None:
    assert left.shape == right.shape
    assert np.isfinite(right).all()
    difference = np.abs(left - right)
    index = np.unravel_index(difference.argmax(), difference.shape)
    assert difference[index] < TOLERANCE, (
        f"{COMPONENTS[index[0]]} of segment {index[1]}: {left[index]} and {right[index]}"
    )


# Scores


@truncation_expected
@pytest.mark.parametrize("idf", [False, True], ids=["no idf", "idf"])
@pytest.mark.parametrize(("model", "layer"), MODELS)
def test_all_kinds_of_pairs(model: str, layer: int, idf: bool) -> None:
    expected = theirs(HYPS, REFS, model, layer, idf=idf)
    assert_same(ours(HYPS, REFS, model, layer, idf="refs" if idf else "none"), expected)


@truncation_expected
def test_the_torch_engine_has_the_same_numbers() -> None:
    expected = theirs(HYPS, REFS, "minilm", 4, idf=True)
    assert_same(ours(HYPS, REFS, "minilm", 4, idf="refs", engine="torch", device="cpu", threads=1), expected)


@pytest.mark.parametrize("layer", [0, 1])
def test_the_lowest_layers(layer: int) -> None:
    assert_same(ours(HYPS[:12], REFS[:12], "minilm", layer), theirs(HYPS[:12], REFS[:12], "minilm", layer))


@pytest.mark.parametrize("idf", [False, True], ids=["no idf", "idf"])
def test_several_references(idf: bool) -> None:
    hyps = HYPS[:6]
    refs = [REFS[:2], REFS[1:4], REFS[3:4], [REFS[4], HYPS[3], REFS[4]], ["of of", "bread"], REFS[5:7]]
    expected = theirs(hyps, refs, "minilm", 4, idf=idf)
    assert_same(ours(hyps, refs, "minilm", 4, idf="refs" if idf else "none"), expected)


@pytest.mark.filterwarnings("ignore::nlgauge.errors.EmptyTextWarning")
@pytest.mark.parametrize("idf", [False, True], ids=["no idf", "idf"])
@pytest.mark.usefixtures("empty_texts")
def test_an_empty_side_scores_0(idf: bool, capsys: pytest.CaptureFixture[str]) -> None:
    hyps, refs = ["", "bread", " \n", "The ferry sank."], ["butter", "", "storm", "The ferry sank."]
    expected = theirs(hyps, refs, "minilm", 4, idf=idf)
    assert "Empty candidate sentence" in capsys.readouterr().err
    assert_same(ours(hyps, refs, "minilm", 4, idf="refs" if idf else "none"), expected)
    assert not expected[:, :3].any()


def test_the_idf_of_another_corpus(tmp_path: Path) -> None:
    corpus = [REFS[1], REFS[1], HYPS[4], REFS[4], LONG, "bread of the ferry", "Привет"]
    folder = str(resolve("minilm").path)
    table = bert_score.utils.get_idf_dict(corpus, bert_score.utils.get_tokenizer(folder), nthreads=0)
    tokenizer = load_encoder("minilm").tokenizer
    IdfTable.build(
        tokenizer.encode(corpus), vocabulary_size=tokenizer.vocabulary_size, tokenizer=tokenizer.digest
    ).save(tmp_path / "idf.json")
    expected = theirs(HYPS[:14], REFS[:14], "minilm", 4, idf=table)
    assert_same(ours(HYPS[:14], REFS[:14], "minilm", 4, idf=str(tmp_path / "idf.json")), expected)


@read_only_table
def test_rescaling_with_a_baseline_of_ones_own(tmp_path: Path) -> None:
    encoder = load_encoder("minilm")
    rows = {
        layer: (0.2 + 0.05 * layer, 0.21 + 0.04 * layer, 0.19 + 0.045 * layer) for layer in range(encoder.layers + 1)
    }
    (tmp_path / "ours.tsv").write_text(Baseline({"weights": encoder.weights_digest}, rows).text(), encoding="utf-8")
    lines = ["LAYER,P,R,F", *(f"{layer},{p:.6f},{r:.6f},{f:.6f}" for layer, (p, r, f) in rows.items())]
    (tmp_path / "theirs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    hyps, refs = HYPS[:8], [[REFS[index], REFS[index + 1]] for index in range(8)]
    for layer in (4, 6):
        expected = theirs(
            hyps,
            refs,
            "minilm",
            layer,
            lang="en",
            rescale_with_baseline=True,
            baseline_path=str(tmp_path / "theirs.csv"),
        )
        result = ours(hyps, refs, "minilm", layer, rescale=str(tmp_path / "ours.tsv"))
        assert_same(result, expected)
        assert np.abs(result - ours(hyps, refs, "minilm", layer)).max() > 0.1


# The hash string


@read_only_table
@pytest.mark.parametrize(
    ("options", "idf", "rescaled", "fast"),
    [
        ({}, False, "no", False),
        ({"idf": True, "use_fast_tokenizer": True}, True, "no", True),
        # No baseline has the name of a folder, and bert-score keeps the label all the same.
        ({"rescale_with_baseline": True, "lang": "en"}, False, "shipped", False),
        ({"rescale_with_baseline": True, "lang": "en", "baseline_path": "FILE"}, False, "custom", False),
    ],
)
def test_its_hash_is_read(tmp_path: Path, options: dict[str, Any], idf: bool, rescaled: str, fast: bool) -> None:
    if "baseline_path" in options:
        path = tmp_path / "baseline.csv"
        path.write_text("LAYER,P,R,F\n" + "".join(f"{layer},.1,.1,.1\n" for layer in range(7)), encoding="utf-8")
        options = options | {"baseline_path": str(path)}
    folder = str(resolve("minilm").path)
    _, text = bert_score.score(
        ["bread"], ["butter"], model_type=folder, num_layers=4, nthreads=0, return_hash=True, **options
    )
    assert is_bert_score_hash(text)
    assert BertScoreHash.parse(text) == BertScoreHash(
        model=folder,
        layer=4,
        idf=idf,
        version=bert_score.__version__,
        transformers=transformers.__version__,
        rescaled=rescaled,
        fast_tokenizer=fast,
    )


# A space before each text of RoBERTa


@pytest.fixture
def roberta(tmp_path: Path, own_cache: Path) -> str:
    """The model whose scores were recorded."""
    return str(write_roberta(tmp_path / "roberta"))


@pytest.mark.parametrize(("call", "fast"), [("slow", False), ("fast", True)])
def test_the_drop_in_reads_roberta_as_the_package_did_with_transformers_4(
    roberta: str, roberta_space: dict[str, Any], call: str, fast: bool
) -> None:
    hyps, refs = map(list, zip(*roberta_space["pairs"], strict=True))
    layer = roberta_space["layer"]
    parts = drop_in.score(hyps, refs, model_type=roberta, num_layers=layer, use_fast_tokenizer=fast)
    for part, expected in zip(parts, roberta_space["scores"][call], strict=True):
        assert isinstance(part, torch.Tensor)
        np.testing.assert_allclose(part.numpy(), expected, atol=TOLERANCE)


def test_the_package_with_transformers_5_reads_no_space(roberta: str, roberta_space: dict[str, Any]) -> None:
    if int(transformers.__version__.partition(".")[0]) < 5:
        pytest.skip("transformers 5 is not installed")
    hyps, refs = map(list, zip(*roberta_space["pairs"], strict=True))
    layer = roberta_space["layer"]
    theirs, text = bert_score.score(
        hyps, refs, model_type=roberta, num_layers=layer, nthreads=0, batch_size=1, return_hash=True
    )
    assert BertScoreHash.parse(text.replace(roberta, "roberta")).prefix_space == "no"
    for engine in ("onnx", "torch"):
        ours = nlgauge.score(
            hyps, refs, metric=f"bertscore:layer={layer},prefix_space=no", model=roberta, engine=engine
        )
        for part, name in zip(theirs, COMPONENTS, strict=True):
            np.testing.assert_allclose(ours.segments[name], part.numpy(), atol=TOLERANCE)


@pytest.mark.long
def test_the_recorded_numbers_come_out_again(roberta_space: dict[str, Any], tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    python = root / ".venv-bertscore" / "bin" / "python"
    if not python.exists():
        pytest.skip("make test-long makes .venv-bertscore, with transformers 4")
    made = tmp_path / "again.json"
    subprocess.run([python, "-m", "tests.parity.record_prefix_space", made], cwd=root, check=True, timeout=900)
    again = json.loads(made.read_text(encoding="utf-8"))
    for call, expected in roberta_space["scores"].items():
        np.testing.assert_allclose(again["scores"].pop(call), expected, atol=2e-6)
    assert again == {**roberta_space, "scores": {}}


# Greedy matching alone, where cosines are negative


def unit_vectors(random: np.random.Generator, count: int, *, opposite: bool = False) -> NDArray[np.float32]:
    """Unit vectors around one direction, or around its opposite."""
    vectors = 0.5 * random.standard_normal((count, 8))
    vectors[:, 0] += -4 if opposite else 4
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def their_match(pairs: list[tuple[Any, Any, Any, Any]]) -> NDArray[np.float64]:
    """`greedy_cos_idf` on one batch of (hypothesis, reference, weights, weights), padded as the package does."""
    from torch.nn.utils.rnn import pad_sequence

    def pad(arrays: list[Any], value: float) -> Any:
        return pad_sequence([torch.from_numpy(array.copy()) for array in arrays], True, value)

    hyps, refs, hyp_weights, ref_weights = zip(*pairs, strict=True)
    sides = []
    for points, weights in ((refs, ref_weights), (hyps, hyp_weights)):
        mask = pad([np.ones(len(point), dtype=np.float32) for point in points], 0.0)
        sides += [pad(list(points), 2.0), mask, pad([weight.astype(np.float32) for weight in weights], 0.0)]
    return np.array([part.numpy() for part in bert_score.utils.greedy_cos_idf(*sides)], dtype=np.float64).T


def our_match(hyp: Any, ref: Any, hyp_weights: Any, ref_weights: Any) -> tuple[float, float, float]:
    match = greedy_match(hyp @ ref.T, hyp_weights, ref_weights)
    return match.precision, match.recall, match.f1


@pytest.mark.parametrize("opposite", [False, True], ids=["near", "all cosines negative"])
@pytest.mark.parametrize("seed", range(5))
def test_greedy_matching_of_equal_lengths(seed: int, opposite: bool) -> None:
    random = np.random.default_rng(seed)
    pairs = []
    for _ in range(4):  # one batch, where equal lengths need no padding
        hyp, ref = unit_vectors(random, 5), unit_vectors(random, 7, opposite=opposite)
        assert (hyp @ ref.T < 0).all() == opposite
        pairs.append((hyp, ref, random.random(5) + 0.1, random.random(7) + 0.1))
    for result, expected in zip((our_match(*pair) for pair in pairs), their_match(pairs), strict=True):
        assert result == pytest.approx(expected, abs=TOLERANCE)


def test_a_longer_neighbour_changes_their_score_and_not_ours() -> None:
    random = np.random.default_rng(0)
    pair = (unit_vectors(random, 4), unit_vectors(random, 4, opposite=True), np.ones(4), np.ones(4))
    neighbour = (unit_vectors(random, 9), unit_vectors(random, 9), np.ones(9), np.ones(9))
    alone, beside = their_match([pair])[0], their_match([pair, neighbour])[0]
    assert alone[0] < -0.5
    assert beside[0] == 0  # padding, multiplied by 0, beats every negative cosine
    assert our_match(*pair) == pytest.approx(alone, abs=TOLERANCE)
