"""A small encoder of two invented languages, made on disk, and texts that translate each other word by word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from nlgauge.studies.alignment.joint_texts import Bitext
from nlgauge.studies.alignment.word_aligner import Links

#: Words of either language; word n of one is word n of the other. Odd ones are two pieces.
WORDS = 24
_LETTERS = "bcdfgklmnprstvwz"


def word(language: str, number: int) -> str:
    """`ubd`, `abd`: the first letter is that of the language."""
    return language + _LETTERS[number // 16] + _LETTERS[number % 16] + ("e" if number % 2 else "")


def bitext(count: int, *, seed: int = 0, links: bool = True) -> Bitext:
    """Texts of five to eight words; translations have the last two words in the other order."""
    chance = np.random.default_rng(seed)
    sides: tuple[list[str], list[str]] = ([], [])
    result: list[Links] = []
    for _ in range(count):
        numbers = chance.permutation(WORDS)[: chance.integers(5, 9)].tolist()
        size = len(numbers)
        order = [*range(size - 2), size - 1, size - 2]
        sides[0].append(" ".join(word("u", number) for number in numbers))
        sides[1].append(" ".join(word("a", numbers[place]) for place in order))
        result.append(tuple((place, order.index(place)) for place in range(size)))
    return Bitext(*sides, result if links else None)


def _pieces() -> list[str]:
    stems = [language + _LETTERS[n // 16] + _LETTERS[n % 16] for language in "ua" for n in range(WORDS)]
    return list(dict.fromkeys(stems))


def _tokenizer(kind: str) -> tokenizers.Tokenizer:
    letters = sorted({"e", *_LETTERS, "u", "a"})
    if kind == "xlm-r":
        special = ["<s>", "<pad>", "</s>", "<unk>"]
        scored = [(name, 0.0) for name in special] + [(f"\u2581{piece}", -2.0) for piece in _pieces()]
        unigram = models.Unigram([*scored, *((letter, -6.0) for letter in [*letters, "\u2581"])], unk_id=3)
        tokenizer = tokenizers.Tokenizer(unigram)
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        first, last = ("<s>", 0), ("</s>", 2)
    else:
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        entries = [*special, *_pieces(), *letters, *(f"##{letter}" for letter in letters)]
        vocabulary = {token: index for index, token in enumerate(entries)}
        tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        first, last = ("[CLS]", 2), ("[SEP]", 3)
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first[0]} $A {last[0]}", special_tokens=[first, last]
    )
    return tokenizer


def write_encoder(folder: Path, kind: str = "xlm-r", *, weight: float | None = None) -> Path:
    """The model's folder as transformers leaves it; with `weight`, one number of it is that."""
    import torch
    import transformers

    tokenizer = _tokenizer(kind)
    sizes: dict[str, Any] = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 64,
    }
    torch.manual_seed(1)
    if kind == "xlm-r":
        network = transformers.XLMRobertaModel(transformers.XLMRobertaConfig(**sizes, pad_token_id=1))
    else:
        network = transformers.BertModel(transformers.BertConfig(**sizes))
    if weight is not None:
        with torch.no_grad():
            network.embeddings.LayerNorm.weight[0] = weight
    network.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 60}), encoding="utf-8")
    return folder
