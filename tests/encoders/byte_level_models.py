"""A tiny RoBERTa with a real byte-level BPE, the same bytes wherever it is written.

It needs numpy, tokenizers and safetensors and nothing of nlgauge, so that an environment with older packages can
write it, too (`tests/parity/record_prefix_space.py`). Merges are counted here, because versions of a
trainer may break ties differently.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import decoders, models, pre_tokenizers, processors

#: Pairs of sentences of which merges are counted, and which are scored.
PAIRS = [
    ("The ferry was called off because of the storm.", "The ferry was cancelled because of the storm."),
    (
        "She has been writing letters to her grandmother since March.",
        "She has been writing letters to her grandmother since March.",
    ),
    (
        "The committee is going to publish the report at the end of this week.",
        "The committee will publish its report at the end of the week.",
    ),
    (
        "Two out of three witnesses were unable to identify the driver.",
        "Two of the three witnesses could not identify the driver.",
    ),
    (
        "The corner bakery sells the best rye bread in the town.",
        "The bakery on the corner sells the best rye bread in town.",
    ),
    (
        "For the third year in a row, prices increased faster than wages.",
        "Prices rose faster than wages for the third year in a row.",
    ),
    (
        "He had forgotten his key and waited an hour on the stairs.",
        "He forgot the key and had to wait on the stairs for an hour.",
    ),
    (
        "The new bridge will make the trip twenty minutes shorter.",
        "The new bridge will shorten the journey by twenty minutes.",
    ),
    (
        "No one expected that the smaller team would win the final.",
        "Nobody expected the smaller team to win the final.",
    ),
    (
        "Please turn off your phone before the concert starts.",
        "Please switch off your telephone before the concert begins.",
    ),
    (
        "The museum keeps the picture in a windowless room.",
        "The museum keeps the painting in a room without windows.",
    ),
    (
        "Farmers worry because there has been no rain since April.",
        "Farmers are worried that it has not rained since April.",
    ),
]

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
_MERGES = 200

CONFIG: dict[str, Any] = {
    "architectures": ["RobertaModel"],
    "model_type": "roberta",
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 3,
    "num_hidden_layers": 3,
    "max_position_embeddings": 130,
    "vocab_size": len(SPECIAL) + 256 + _MERGES,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "hidden_act": "gelu",
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}


def count_merges(lines: list[str]) -> list[tuple[str, str]]:
    """Byte-pair merges of the words of lines: the most frequent pair first, of several the first in order."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=True)
    counts = Counter(word for line in lines for word, _ in split.pre_tokenize_str(line))
    words = {word: list(word) for word in counts}
    merges: list[tuple[str, str]] = []
    while len(merges) < _MERGES:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in words.items():
            for pair in itertools.pairwise(pieces):
                pairs[pair] += counts[word]
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, pieces in words.items():
            words[word] = _merged(pieces, best)
    return merges


def _merged(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    joined: list[str] = []
    index = 0
    while index < len(pieces):
        size = 2 if tuple(pieces[index : index + 2]) == pair else 1
        joined.append("".join(pieces[index : index + size]))
        index += size
    return joined


def write_byte_level_tokenizer(
    folder: Path, *, own_space: bool = False, tokenizer_class: str | None = "RobertaTokenizer"
) -> None:
    """As RoBERTa has it: tokenizer.json for fast tokenizers, vocab.json and merges.txt for slow ones."""
    merges = count_merges([text for pair in PAIRS for text in pair])
    spelt = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges)]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(spelt))}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=own_space)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=own_space
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    spelt_merges = "\n".join(" ".join(merge) for merge in merges)
    (folder / "merges.txt").write_text(f"#version: 0.2\n{spelt_merges}\n", encoding="utf-8")
    about = {} if tokenizer_class is None else {"tokenizer_class": tokenizer_class}
    roles = ("bos_token", "pad_token", "eos_token", "unk_token", "mask_token")
    names = dict(zip(roles, SPECIAL, strict=True))
    content = about | names | {"cls_token": "<s>", "sep_token": "</s>", "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(content), encoding="utf-8")


def roberta_tensors(*, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Random weights under the names of a Hugging Face checkpoint."""
    random = np.random.default_rng(seed)
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    tensors: dict[str, NDArray[np.float32]] = {}

    def add(name: str, *shape: int, around: float = 0.0, spread: float = 0.3) -> None:
        tensors[name] = (around + spread * random.standard_normal(shape)).astype(np.float32)

    def linear(name: str, out: int, into: int) -> None:
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def norm(name: str) -> None:
        add(f"{name}.weight", hidden, around=1.0)
        add(f"{name}.bias", hidden)

    add("embeddings.word_embeddings.weight", CONFIG["vocab_size"], hidden, spread=2.0)
    add("embeddings.position_embeddings.weight", CONFIG["max_position_embeddings"], hidden)
    add("embeddings.token_type_embeddings.weight", 1, hidden)
    norm("embeddings.LayerNorm")
    for number in range(CONFIG["num_hidden_layers"]):
        index = f"encoder.layer.{number}."
        for part in ("query", "key", "value"):
            linear(f"{index}attention.self.{part}", hidden, hidden)
        linear(f"{index}attention.output.dense", hidden, hidden)
        norm(f"{index}attention.output.LayerNorm")
        linear(f"{index}intermediate.dense", inner, hidden)
        linear(f"{index}output.dense", hidden, inner)
        norm(f"{index}output.LayerNorm")
    return tensors


def write_roberta(
    folder: Path, *, own_space: bool = False, tokenizer_class: str | None = "RobertaTokenizer", **config: Any
) -> Path:
    """A model's folder; `own_space`: tokenizer.json itself puts a space before each text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config), encoding="utf-8")
    write_byte_level_tokenizer(folder, own_space=own_space, tokenizer_class=tokenizer_class)
    save_file(roberta_tensors(), folder / "model.safetensors", {"format": "pt"})
    return folder
