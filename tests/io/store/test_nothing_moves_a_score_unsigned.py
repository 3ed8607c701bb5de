"""Whatever of a model's folder or the environment is changed: another signature, or the same number.

A folder in the layout of all-MiniLM-L6-v2, with its files and their entries but with small weights, is changed entry
by entry. After each change the metrics either refuse in words, sign differently, or give the same bits.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from tests.encoders.tiny_models import TINY, write_model

import nlgauge
from nlgauge.encoders.load import load_encoder, release_models
from nlgauge.errors import BaselineError, InputError, NlgaugeError
from nlgauge.io.store.resolve import HARMLESS_KEYS, resolve
from nlgauge.metrics.parts.baseline import Baseline
from nlgauge.metrics.parts.scales import Bounds
from nlgauge.vectors.transforms import LanguageMeans

pytestmark = pytest.mark.slow

HYPS = ["the cat sat on the red ferry, and the storm was late."]
REFS = ["a dog ran on the blue ferry and the storm was early !"]
METRICS = [f"bertscore:layer={layer}" for layer in (1, 2)] + ["xmoverscore:unit=sentence,against=refs"]

#: What all-MiniLM-L6-v2 states beside the sizes.
CONFIG = TINY["bert"] | {
    "_name_or_path": "nreimers/MiniLM-L6-H384-uncased",
    "architectures": ["BertModel"],
    "attention_probs_dropout_prob": 0.1,
    "gradient_checkpointing": False,
    "hidden_dropout_prob": 0.1,
    "initializer_range": 0.02,
    "num_hidden_layers": 2,
    "position_embedding_type": "absolute",
    "transformers_version": "4.8.2",
    "use_cache": True,
}
SMALL_FILES: dict[str, Any] = {
    "config.json": CONFIG,
    "tokenizer_config.json": {
        "do_lower_case": True,
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "tokenize_chinese_chars": True,
        "strip_accents": None,
        "name_or_path": "nreimers/MiniLM-L6-H384-uncased",
        "do_basic_tokenize": True,
        "never_split": None,
        "tokenizer_class": "BertTokenizer",
        "model_max_length": 40,
    },
    "sentence_bert_config.json": {"max_seq_length": 30, "do_lower_case": False},
    "1_Pooling/config.json": {
        "word_embedding_dimension": 24,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    },
    "special_tokens_map.json": {"unk_token": "[UNK]", "sep_token": "[SEP]", "cls_token": "[CLS]"},
}
MODULES = [
    {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for number, (path, kind) in enumerate(
        [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    )
]

#: Tried for every entry, beside what is near the value that it has.
ODD: list[Any] = [None, True, False, 0, 1, 6, -1, 0.5, "other", "relu", "relative_key", "mpnet", [], {}]

Outcome = tuple[list[str], list[float]]


def write_folder(folder: Path, config: dict[str, Any] = CONFIG) -> Path:
    write_model(folder, config)
    for name, content in (SMALL_FILES | {"config.json": config, "modules.json": MODULES}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("NLGAUGE_CACHE", str(tmp_path / "cache"))
    yield write_folder(tmp_path / "tiny")
    release_models()


def outcome(folder: Path, **options: Any) -> Outcome | str:
    """Signatures and numbers of the metrics, or what an error of ours says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = nlgauge.score_systems({"": HYPS}, REFS, metric=METRICS, model=str(folder), threads=1, **options)
        except NlgaugeError as error:
            return str(error)
    return [score.signature.recipe_part for score in scores], [score.mean for score in scores]


def check(before: Outcome | str, after: Outcome | str, what: str) -> None:
    assert not isinstance(before, str), before
    if isinstance(after, str):
        return
    for old, new, old_number, new_number in zip(before[0], after[0], before[1], after[1], strict=True):
        assert old != new or old_number == new_number, f"{what}: {new_number} instead of {old_number} under {old}"


def others(value: Any) -> list[Any]:
    near = [value + 1, value - 1, value * 2, value // 2] if type(value) is int else []
    near += [value * 1e9, value / 3] if type(value) is float else []
    return [other for other in near + ODD if other != value or type(other) is not type(value)]


@pytest.mark.parametrize("name", SMALL_FILES)
def test_every_entry_of_a_small_file(folder: Path, name: str) -> None:
    before = outcome(folder)
    content = SMALL_FILES[name]
    for key, value in content.items():
        changed = [content | {key: other} for other in others(value)]
        changed.append({other: entry for other, entry in content.items() if other != key})
        for variant in changed:
            (folder / name).write_text(json.dumps(variant), encoding="utf-8")
            check(before, outcome(folder), f"{name}, {key}: {variant.get(key, 'absent')!r}")


def test_entries_that_a_file_does_not_have_yet(folder: Path) -> None:
    before = outcome(folder)
    new = {"is_decoder": True, "add_cross_attention": True, "attn_implementation": "eager", "dtype": "float16"}
    for key, value in new.items():
        (folder / "config.json").write_text(json.dumps(CONFIG | {key: value}), encoding="utf-8")
        check(before, outcome(folder), f"config.json, {key}")


def damaged_tokenizers(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    vocabulary = content["model"]["vocab"]
    swapped = vocabulary | {"cat": vocabulary["dog"], "dog": vocabulary["cat"]}
    beyond = vocabulary | {"cat": 64}
    yield "case", content | {"normalizer": content["normalizer"] | {"lowercase": False}}
    yield "no normaliser", content | {"normalizer": None}
    yield "no special tokens", content | {"post_processor": None}
    yield "two words swapped", content | {"model": content["model"] | {"vocab": swapped}}
    yield "an id that the model does not know", content | {"model": content["model"] | {"vocab": beyond}}
    yield "no truncation", content | {"truncation": None}
    yield "no padding", content | {"padding": None}
    yield "another added token", content | {"added_tokens": content["added_tokens"][:-1]}


def test_every_part_of_the_tokenizer(folder: Path) -> None:
    before = outcome(folder)
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for what, variant in damaged_tokenizers(content):
        (folder / "tokenizer.json").write_text(json.dumps(variant), encoding="utf-8")
        after = outcome(folder)
        check(before, after, what)
        if what.startswith("an id"):
            assert "gives token id 64, but the model has ids 0 to 63 only" in after


def test_the_modules_of_a_sentence_model(folder: Path) -> None:
    before = outcome(folder)
    for variant in (MODULES[:2], MODULES[:1], MODULES[1:], [], {}, [MODULES[0], MODULES[1], MODULES[1]], "text"):
        (folder / "modules.json").write_text(json.dumps(variant), encoding="utf-8")
        check(before, outcome(folder), f"modules.json: {variant}")


def test_files_beside_the_known_ones_and_those_that_are_gone(folder: Path) -> None:
    before = outcome(folder)
    for name in ("added_tokens.json", "vocab.txt", "generation_config.json", "config_sentence_transformers.json"):
        (folder / name).write_text('{"cat": 7, "prompts": {"query": "q: "}}', encoding="utf-8")
        check(before, outcome(folder), name)
        (folder / name).unlink()
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    for path in sorted(path for path in kept.rglob("*") if path.is_file()):
        name = path.relative_to(kept)
        (folder / name).unlink()
        check(before, outcome(folder), f"without {name}")
        shutil.copy(path, folder / name)


@pytest.mark.parametrize("key", sorted(HARMLESS_KEYS))
def test_what_moves_no_number_is_not_signed(folder: Path, key: str) -> None:
    before = resolve(str(folder)).digest
    (folder / "config.json").write_text(json.dumps(CONFIG | {key: "another"}), encoding="utf-8")
    assert resolve(str(folder)).digest == before


PROGRAM = """
import sys, nlgauge
sentences = "xmoverscore:unit=sentence,against=refs"
for metric in ("bertscore:layer=2", "moverscore:aggregation=layer-1,idf=both", sentences):
    found = nlgauge.score(sys.argv[2:4], sys.argv[4:6], metric=metric, model=sys.argv[1], threads=2)
    print(found.signature, found.mean.hex())
"""


def test_the_environment(folder: Path, tmp_path: Path) -> None:
    """Variables that this library, or what it computes with, reads."""
    first = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "LC_ALL": "C"}
    two = {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "true", "PYTHONHASHSEED": "7"}
    first |= {"NLGAUGE_OFFLINE": "1", "NLGAUGE_CACHE": str(tmp_path / "one"), "OMP_WAIT_POLICY": "ACTIVE"}
    two |= {"XDG_CACHE_HOME": str(tmp_path / "two"), "HF_HOME": str(tmp_path / "hub"), "PYTHONOPTIMIZE": "1"}
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("NLGAUGE", "OMP", "HF"))}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(folder), *HYPS, "the storm.", *REFS, "a cat ran"]
    messages = [subprocess.run(command, env=plain | extra, capture_output=True, text=True) for extra in (first, two)]
    assert messages[0].stdout.count("\n") == 3, messages[0].stderr
    assert messages[0].stdout == messages[1].stdout


def test_the_version_of_the_engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = outcome(folder)
    monkeypatch.setattr(onnxruntime, "__version__", "0.0.1")
    release_models()
    after = outcome(folder)
    assert "engine:onnxruntime-0.0.1-fp32" in after[0][0]
    assert before[0][0] != after[0][0]


def test_a_model_in_use_is_loaded_again_when_its_files_change(folder: Path) -> None:
    first = load_encoder(str(folder))
    assert load_encoder(str(folder)) is first
    (folder / "config.json").write_text(json.dumps(CONFIG | {"num_attention_heads": 4}), encoding="utf-8")
    assert load_encoder(str(folder)).config_digest != first.config_digest


@pytest.fixture
def two(folder: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The same weights in two configurations."""
    other = write_folder(tmp_path / "other" / folder.name, CONFIG | {"num_attention_heads": 4})
    assert resolve(str(folder)).weights_digest == resolve(str(other)).weights_digest
    return folder, other


def test_the_signature_of_one_configuration_is_refused_by_the_other(two: tuple[Path, Path]) -> None:
    first, second = (nlgauge.score(HYPS, REFS, model=str(item), layer=2) for item in two)
    assert first.mean != second.mean
    assert first.signature.recipe["weights"] == second.signature.recipe["weights"]
    with pytest.raises(nlgauge.errors.SignatureError, match="config: asked"):
        nlgauge.score(HYPS, REFS, metric=str(first.signature), model=str(two[1]))


def test_cached_vectors_are_not_taken_across(two: tuple[Path, Path], tmp_path: Path) -> None:
    apart = [nlgauge.score(HYPS, REFS, model=str(item), layer=2).mean for item in two]
    cached = [nlgauge.score(HYPS, REFS, model=str(item), layer=2, cache=str(tmp_path / "v")).mean for item in two]
    assert cached == apart


def test_baselines_and_means_are_not_taken_across(two: tuple[Path, Path], tmp_path: Path) -> None:
    encoders = [load_encoder(str(item)) for item in two]
    baseline = Baseline({"weights": encoders[0].digest, "model": "tiny"}, {2: (0.1, 0.1, 0.1)})
    baseline.check_fits(encoders[0], "", path="a.tsv")
    with pytest.raises(BaselineError, match="was made with model 'tiny'"):
        baseline.check_fits(encoders[1], "", path="a.tsv")
    vectors = {"en": [np.ones((3, 24), np.float32)]}
    LanguageMeans.fit(vectors, weights=encoders[0].digest, layer=2).save(tmp_path / "means.npz")
    options: dict[str, Any] = {"layer": 2, "transforms": str(tmp_path / "means.npz"), "lang": "en"}
    nlgauge.score(HYPS, REFS, model=str(two[0]), **options)
    with pytest.raises(InputError, match="were fitted on"):
        nlgauge.score(HYPS, REFS, model=str(two[1]), **options)


def test_bounds_are_not_taken_across(two: tuple[Path, Path], tmp_path: Path) -> None:
    hyps, refs = [*HYPS, "a cat", "the storm"], [*REFS, "the dog ran", "the storm was late"]
    made = nlgauge.score(hyps, refs, metric="sentsim:against=refs", model=str(two[0]), layer=2)
    Bounds.of_scores([made]).save(tmp_path / "bounds.json")
    options: dict[str, Any] = {"metric": "sentsim:against=refs", "layer": 2, "bounds": str(tmp_path / "bounds.json")}
    nlgauge.score(hyps, refs, model=str(two[0]), **options)
    with pytest.raises(InputError, match="was made with"):
        nlgauge.score(hyps, refs, model=str(two[1]), **options)


def test_bounds_without_a_configuration_are_refused() -> None:
    bounds = Bounds({"sss": (0.0, 1.0)}, {"refs": "1", "weights": "53aa51172d14"})
    with pytest.raises(InputError, match="config"):
        bounds.check(["sss"], {"refs": "1", "weights": "53aa51172d14", "config": "f90758c9ccb5"}, path="old.json")


@pytest.fixture
def minilm_elsewhere(tmp_path: Path) -> Callable[..., Path]:
    def make(**changes: Any) -> Path:
        real, folder = resolve("minilm").path, tmp_path / "mf"
        folder.mkdir()
        for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            (folder / name).symlink_to(real / name)
        config = json.loads((real / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(config | changes), encoding="utf-8")
        return folder

    return make


def test_a_known_model_in_a_folder_is_that_model(minilm_elsewhere: Callable[..., Path]) -> None:
    folder = minilm_elsewhere(_name_or_path="somewhere", transformers_version="5")
    known = nlgauge.score(HYPS, REFS, rescale=True, lang="en")
    result = nlgauge.score(HYPS, REFS, rescale=True, lang="en", model=str(folder))
    assert result.mean == known.mean, "its tuned layer and its shipped baseline"
    assert str(result.signature) == str(known.signature).replace("model:minilm", "model:mf")


def test_known_weights_in_another_configuration_are_another_model(minilm_elsewhere: Callable[..., Path]) -> None:
    folder = str(minilm_elsewhere(num_attention_heads=6))
    with pytest.raises(nlgauge.errors.RecipeError, match="model 'mf' has no default layer"):
        nlgauge.score(HYPS, REFS, model=folder)
    result, known = nlgauge.score(HYPS, REFS, model=folder, layer=4), nlgauge.score(HYPS, REFS)
    assert result.signature.recipe["weights"] == known.signature.recipe["weights"] == "53aa51172d14"
    assert result.signature.recipe["config"] != known.signature.recipe["config"] == "f90758c9ccb5"
    assert result.mean != known.mean


@pytest.mark.torch
def test_entries_that_only_transformers_reads(folder: Path) -> None:
    pytest.importorskip("torch")
    before = outcome(folder, engine="torch")
    new = [{"hidden_act": "relu"}, {"is_decoder": True}, {"layer_norm_eps": 0.1}, {"num_attention_heads": 4}]
    new += [{"_name_or_path": "x", "torch_dtype": "float16"}, {"hidden_dropout_prob": 0.9}, {"use_cache": False}]
    for changes in new:
        (folder / "config.json").write_text(json.dumps(CONFIG | changes), encoding="utf-8")
        check(before, outcome(folder, engine="torch"), f"config.json: {changes}")
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    assert "has an adapter" in outcome(folder, engine="torch")
