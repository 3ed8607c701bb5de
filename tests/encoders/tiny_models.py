"""Tiny models on disk in the Hugging Face layout, so that the real loading code runs without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import models, normalizers, pre_tokenizers, processors

from nlgauge.encoders.graphs.families import encoder_graph, family_of

WORDS = "the a cat dog ferry storm sat ran was on of and in late early red blue 7 . , ! ? ##s ##ed ##ing un ##known"
SPECIAL = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
}
#: Positions in `SPECIAL` of the tokens around a text, and of the unknown one.
AROUND = {"bert": (2, 3, 1), "roberta": (0, 2, 3)}

TINY: dict[str, dict[str, Any]] = {
    "bert": {
        "model_type": "bert",
        "hidden_size": 24,
        "intermediate_size": 40,
        "num_attention_heads": 3,
        "num_hidden_layers": 4,
        "max_position_embeddings": 48,
        "vocab_size": 64,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
        "pad_token_id": 0,
    },
    "mpnet": {
        "model_type": "mpnet",
        "hidden_size": 32,
        "intermediate_size": 56,
        "num_attention_heads": 2,
        "num_hidden_layers": 3,
        "max_position_embeddings": 402,
        "vocab_size": 64,
        "relative_attention_num_buckets": 32,
        "layer_norm_eps": 1e-5,
        "hidden_act": "gelu",
        "pad_token_id": 1,
    },
}
_NAMES = {
    "bert": ("attention.self.{}", ("query", "key", "value"), "attention.output.dense", "attention.output.LayerNorm"),
    "mpnet": ("attention.attn.{}", ("q", "k", "v"), "attention.attn.o", "attention.LayerNorm"),
}


def write_tokenizer(folder: Path, *, style: str = "bert", max_length: float | None = 512) -> None:
    """A WordPiece tokenizer of a few words, with truncation and padding switched on as the real ones have them."""
    special = SPECIAL[style]
    start, end, unknown = (special[index] for index in AROUND[style])
    vocabulary = {token: number for number, token in enumerate([*special, *WORDS.split()])}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, vocabulary[start]), (end, vocabulary[end])]
    )
    tokenizer.enable_truncation(max_length=16)
    tokenizer.enable_padding(length=16)
    tokenizer.save(str(folder / "tokenizer.json"))
    limits = {} if max_length is None else {"model_max_length": max_length}
    (folder / "tokenizer_config.json").write_text(json.dumps(limits), encoding="utf-8")


def tiny_tensors(config: dict[str, Any], *, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Random weights under the names of a Hugging Face checkpoint."""
    kind, hidden, inner = config["model_type"], config["hidden_size"], config["intermediate_size"]
    random = np.random.default_rng(seed)
    tensors: dict[str, NDArray[np.float32]] = {}

    def add(name: str, *shape: int, around: float = 0.0) -> None:
        tensors[name] = (around + 0.3 * random.standard_normal(shape)).astype(np.float32)

    def linear(name: str, out: int, into: int) -> None:
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def norm(name: str) -> None:
        add(f"{name}.weight", hidden, around=1.0)
        add(f"{name}.bias", hidden)

    add("embeddings.word_embeddings.weight", config["vocab_size"], hidden)
    add("embeddings.position_embeddings.weight", config["max_position_embeddings"], hidden)
    if kind == "bert":
        add("embeddings.token_type_embeddings.weight", config["type_vocab_size"], hidden)
    else:
        add("encoder.relative_attention_bias.weight", 32, config["num_attention_heads"])
    norm("embeddings.LayerNorm")
    attention, parts, mix, norm1 = _NAMES[kind]
    for number in range(config["num_hidden_layers"]):
        index = f"encoder.layer.{number}."
        for part in parts:
            linear(index + attention.format(part), hidden, hidden)
        linear(index + mix, hidden, hidden)
        norm(index + norm1)
        linear(index + "intermediate.dense", inner, hidden)
        linear(index + "output.dense", hidden, inner)
        norm(index + "output.LayerNorm")
    return tensors


def graph_tensors(config: dict[str, Any], *, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Random weights of the names and shapes that a family's whole graph asks for."""
    family = family_of(config, model="tiny")
    shapes = encoder_graph(family, config, (config["num_hidden_layers"],)).parameters
    random = np.random.default_rng(seed)
    return {
        name: (("norm" in name.lower() and name.endswith("weight")) + 0.3 * random.standard_normal(shape)).astype(
            np.float32
        )
        for name, shape in shapes.items()
    }


def write_model(
    folder: Path,
    config: dict[str, Any],
    tensors: dict[str, NDArray[Any]] | None = None,
    *,
    max_length: float | None = 512,
) -> Path:
    """A model's folder; `tensors` are random ones unless given."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    style = "bert" if config["model_type"] in {"bert", "distilbert"} else "roberta"
    write_tokenizer(folder, style=style, max_length=max_length)
    # transformers wants to know which library wrote a safetensors file.
    save_file(tiny_tensors(config) if tensors is None else tensors, folder / "model.safetensors", {"format": "pt"})
    return folder
