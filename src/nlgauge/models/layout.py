"""What the files of a model folder are for: weights, tokenizer, or neither.

The order of preference is the one of the `transformers` library, so that the digest in a signature is
that of the file which an engine reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["TOKENIZER_HINT", "WEIGHTS_HINT", "file_names", "tokenizer_files", "weight_files"]

WEIGHTS_HINT = "model.safetensors or pytorch_model.bin, whole or as all of its shards"
TOKENIZER_HINT = "tokenizer.json, or a vocabulary such as vocab.txt, vocab.json or tokenizer.model"

# Vocabularies of tokenizers that come without a tokenizer.json: WordPiece, byte-level BPE, SentencePiece.
_VOCABULARIES = frozenset(
    {
        "bpe.codes",
        "merges.txt",
        "sentencepiece.bpe.model",
        "spiece.model",
        "spm.model",
        "tokenizer.model",
        "vocab.bpe",
        "vocab.json",
        "vocab.txt",
    }
)


def file_names(folder: Path) -> list[str]:
    """Names of the files directly in a folder; a link to nothing is not a file."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def weight_files(names: Iterable[str]) -> tuple[str, ...]:
    """The files that together are the weights; none if there are none or a shard is missing.

    >>> weight_files(["pytorch_model.bin", "model.safetensors", "config.json"])
    ('model.safetensors',)
    >>> weight_files(["model-00001-of-00002.safetensors"])
    ()
    """
    here = set(names)
    for stem, suffix in (("model", "safetensors"), ("pytorch_model", "bin")):
        whole = f"{stem}.{suffix}"
        if whole in here:
            return (whole,)
        shards = _shards(here, stem=stem, suffix=suffix)
        if shards:
            return shards
    return ()


def tokenizer_files(names: Iterable[str]) -> tuple[str, ...]:
    """The files that define the tokenizer, sorted; none if there are none.

    >>> tokenizer_files(["vocab.txt", "tokenizer.json"])
    ('tokenizer.json',)
    """
    here = set(names)
    if "tokenizer.json" in here:
        return ("tokenizer.json",)
    return tuple(sorted(here & _VOCABULARIES))


def _shards(here: set[str], *, stem: str, suffix: str) -> tuple[str, ...]:
    shape = re.compile(rf"{stem}-(\d{{5}})-of-(\d{{5}})\.{suffix}")
    totals = {int(found[2]) for name in here if (found := shape.fullmatch(name))}
    for total in sorted(totals):
        names = tuple(f"{stem}-{n:05d}-of-{total:05d}.{suffix}" for n in range(1, total + 1))
        if here.issuperset(names):
            return names
    return ()
