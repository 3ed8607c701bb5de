"""Record files of torch and tokens of transformers (torch 2.13.0, transformers 5.22.2, sacremoses 0.2.0).

    python -m tests.parity.record_model_files

`tests/golden/tensors.bin` is a state dictionary saved by torch; `tests/golden/xlm_tokens.json` has a small vocabulary
of XLM's kind, texts, and their ids by `transformers.XLMTokenizer`.
"""

from __future__ import annotations

import itertools
import json
import tempfile
import unicodedata
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

from tests.encoders.random_models import CORPUS

GOLDEN = Path(__file__).parents[1] / "golden"

TEXTS = [
    *CORPUS,
    "",
    "  two  blanks ",
    "Mr. Smith's café — “quoted” e.g. 3,000... don't",
    "</s> spelt out, <special1>x and <unk>",
    "。a。 b，「c」１２…％",
    "e\u0301\u200b\x07 \ufb01 İstanbul ß",
    "U.S.A. vs. etc. &amp; 'tis $3.50 (see: a/b)",
    "文字 ferry 東京",
]


def learn_merges(words: list[str], count: int) -> list[tuple[str, str]]:
    """Byte-pair encoding by the most frequent pair."""
    splits = Counter((*word[:-1], f"{word[-1]}</w>") for word in words)
    merges: list[tuple[str, str]] = []
    for _ in range(count):
        pairs: Counter[tuple[str, str]] = Counter()
        for pieces, times in splits.items():
            for pair in itertools.pairwise(pieces):
                pairs[pair] += times
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        splits = Counter({_merge(pieces, best): times for pieces, times in splits.items()})
    return merges


def _merge(pieces: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    merged: list[str] = []
    for piece in pieces:
        if merged and (merged[-1], piece) == pair:
            merged[-1] += piece
        else:
            merged.append(piece)
    return tuple(merged)


def make_vocabulary() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Merges learnt from a few sentences, and a vocabulary without every seventh symbol, as XLM's lack rare ones."""
    plain = unicodedata.normalize("NFD", " ".join(CORPUS).lower())
    words = "".join(char for char in plain if unicodedata.category(char) != "Mn").split()
    merges = learn_merges(words, 180)
    symbols = {piece for word in words for piece in (*word, f"{word[-1]}</w>")} | {a + b for a, b in merges}
    kept = [symbol for number, symbol in enumerate(sorted(symbols)) if number % 7]
    special = ["<s>", "</s>", "<pad>", "<unk>", *(f"<special{number}>" for number in range(10))]
    return {token: number for number, token in enumerate([*special, *kept])}, merges


def write_files(folder: Path, vocabulary: dict[str, int], merges: list[Any], *, lowercase: bool) -> None:
    """A folder's files; the third column of merges is a frequency, as in the published files."""
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "merges.txt").write_text("".join(f"{a} {b} 7\n" for a, b in merges), encoding="utf-8")
    settings = {"do_lowercase_and_remove_accent": lowercase, "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def main() -> None:
    """Write both files."""
    import torch
    import transformers

    base = torch.arange(12, dtype=torch.float32) / 4
    state = OrderedDict(
        plain=base.reshape(3, 4).clone(),
        transposed=base.reshape(3, 4).T,
        part=base[2:6],
        parameter=torch.nn.Parameter(torch.tensor([1.5, -2.0])),
        half=torch.tensor([0.5, 1.0, -3.25], dtype=torch.float16),
        brain=torch.tensor([0.5, 1.0, -3.25], dtype=torch.bfloat16),
        double=torch.tensor([[0.125]], dtype=torch.float64),
        ids=torch.arange(5),
        scalar=torch.tensor(7.0),
        empty=torch.zeros(0, 3),
    )
    state._metadata = OrderedDict(version=1)  # type: ignore[attr-defined]
    torch.save(state, GOLDEN / "tensors.bin")

    vocabulary, merges = make_vocabulary()
    ids = {}
    for lowercase in (True, False):
        with tempfile.TemporaryDirectory() as name:
            write_files(Path(name), vocabulary, merges, lowercase=lowercase)
            tokenizer = transformers.XLMTokenizer.from_pretrained(name)
            assert tokenizer.do_lowercase_and_remove_accent is lowercase
            ids[str(lowercase)] = [tokenizer(text.strip())["input_ids"] for text in TEXTS]
    record = {"vocabulary": vocabulary, "merges": merges, "texts": TEXTS, "ids": ids}
    (GOLDEN / "xlm_tokens.json").write_text(json.dumps(record) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
