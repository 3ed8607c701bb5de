"""XLM-R and mBERT: tiny random models on disk in the Hugging Face layout, each with the kind of tokenizer it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

import nlgauge
from nlgauge.encoders.load import load_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.torch

SOURCES = ["Die Katze schlief.", "Ein Sturm kam auf, spät."]
HYPS = ["The cat slept.", "A storm came late."]
PIECES = [
    "Die",
    "Katze",
    "schlief",
    "Ein",
    "Sturm",
    "kam",
    "auf",
    "spät",
    "The",
    "cat",
    "slept",
    "A",
    "storm",
    "came",
    "late",
    ".",
    ",",
]
LAYER = 2


def unigram() -> tokenizers.Tokenizer:
    """SentencePiece's kind, as XLM-R has it: white space is part of a piece."""
    special = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    words = [(f"\u2581{piece}", -2.0) for piece in PIECES]
    letters = [(letter, -6.0) for letter in sorted({letter for piece in PIECES for letter in piece} | {"\u2581"})]
    tokenizer = tokenizers.Tokenizer(models.Unigram([*special, *words, *letters], unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([name for name, _ in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def wordpiece() -> tokenizers.Tokenizer:
    """Cased WordPiece, as multilingual BERT has it."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = sorted({letter for piece in PIECES for letter in piece})
    vocabulary = {
        token: index for index, token in enumerate([*special, *PIECES, *(f"##{letter}" for letter in letters)])
    }
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def write(folder: Path, kind: str) -> Any:
    """The model's folder as `save_pretrained` leaves it; returns the network."""
    tokenizer = unigram() if kind == "xlm-r" else wordpiece()
    sizes = {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": 24,
        "intermediate_size": 40,
        "num_attention_heads": 3,
        "num_hidden_layers": 3,
        "max_position_embeddings": 64,
    }
    torch.manual_seed(1)
    if kind == "xlm-r":
        network = transformers.XLMRobertaModel(transformers.XLMRobertaConfig(**sizes, pad_token_id=1))
    else:
        network = transformers.BertModel(transformers.BertConfig(**sizes))
    network.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 60}), encoding="utf-8")
    return network.eval()


@pytest.mark.parametrize("kind", ["xlm-r", "mbert"])
def test_translations_beside_their_source(tmp_path: Path, kind: str) -> None:
    """Both metrics of words from the network's own hidden states, by hand."""
    network = write(tmp_path / kind, kind)
    options = {"model": str(tmp_path / kind), "engine": "torch", "device": "cpu", "threads": 1}
    score = nlgauge.score(HYPS, sources=SOURCES, metric=f"bertscore:against=source,layer={LAYER}", **options)
    encoder = load_encoder(options["model"], engine="torch", threads=1, device="cpu")
    for hyp, source, value in zip(HYPS, SOURCES, score.f1, strict=True):
        units = []
        for text in (hyp, source):
            ids = torch.tensor([encoder.tokenizer.encode([text])[0].ids.tolist()])
            with torch.inference_mode():
                states = network(input_ids=ids, output_hidden_states=True).hidden_states[LAYER][0].numpy()
            units.append(states / np.linalg.norm(states, axis=1, keepdims=True))
        cosines = units[0] @ units[1].T
        precision, recall = cosines.max(1)[1:-1].mean(), cosines.max(0)[1:-1].mean()
        assert value == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)
    moved = nlgauge.score(HYPS, sources=SOURCES, metric="xmoverscore:profile=head", **options)
    assert moved.signature.recipe["layers"] == "2", "two thirds of three layers"
    same = nlgauge.score(SOURCES, sources=SOURCES, metric="xmoverscore", **options)
    assert same.score == pytest.approx([1, 1], abs=1e-5)


def test_words_start_where_the_tokenizer_says(tmp_path: Path) -> None:
    for kind in ("xlm-r", "mbert"):
        write(tmp_path / kind, kind)
        tokenizer = load_encoder(str(tmp_path / kind), engine="torch", threads=1, device="cpu").tokenizer
        (tokens,) = tokenizer.encode(["Die Katze Kat schlief."])
        starts = [text for text, first in zip(tokenizer.surfaces(tokens), tokens.starts_word, strict=True) if first]
        assert starts[1:3] == ["Die", "Katze"], "cased, and whole words are one piece"
