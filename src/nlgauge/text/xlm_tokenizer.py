"""The tokenizer of XLM, whose folders have `vocab.json` and `merges.txt` but no `tokenizer.json`.

As in the published code: punctuation is normalised, control characters are removed, and the text is split into words
by the rules of Moses for English (package sacremoses). Words are in lower case and without accents if the model says
so, and are split by byte-pair encoding. Pieces outside the vocabulary become the unknown token.

Byte-pair encoding runs in `tokenizers`, in which every symbol of a merge needs an id. XLM's vocabularies lack rare
symbols, so these get ids above the vocabulary, which are replaced by the unknown token.
"""

from __future__ import annotations

import difflib
import itertools
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import decoders, models, pre_tokenizers, processors

from nlgauge.errors import ModelError
from nlgauge.io.packages import require
from nlgauge.io.storage import text_digest
from nlgauge.text.tokenizer import TextTokenizer, token_limit

VOCABULARY, MERGES = "vocab.json", "merges.txt"

#: The mark of a word's last piece.
_END = "</w>"

#: Special tokens and their default spelling.
_SPECIAL = {
    "bos_token": "<s>",
    "sep_token": "</s>",
    "cls_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "<special1>",
}
_NUMBERED = [f"<special{number}>" for number in range(10)]

#: Full-width and typographic punctuation, and what Moses' script for Unicode punctuation writes instead.
_PUNCTUATION = {
    ord(char): plain
    for chars, plain in (
        *(
            ("，、", ","),
            ("”“《》」「", '"'),
            ("∶：", ":"),
            ("？", "?"),
            ("）", ")"),
            ("！", "!"),
            ("（", "("),
            ("；", ";"),
        ),
        *(
            ("～", "~"),
            ("’", "'"),
            ("…", "..."),
            ("━", "-"),
            ("〈", "<"),
            ("〉", ">"),
            ("【", "["),
            ("】", "]"),
            ("％", "%"),
        ),
        *((chr(0xFF10 + digit), str(digit)) for digit in range(10)),
    )
    for char in chars
}
_FULL_STOP = re.compile(r"[。．]\s*")


class XlmTokenizer(TextTokenizer):
    """XLM's tokenizer: words by Moses, then byte-pair encoding."""

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        limit: int,
        size: int,
        special: Sequence[str],
        lowercase: bool,
    ) -> None:
        """`size` is the number of ids in the vocabulary, `special` are tokens that a text can spell out."""
        moses = require("sacremoses", "lexical")
        version = getattr(moses, "__version__", "")
        digest = text_digest(f"{backend.to_str()}\nsize {size}, lowercase {lowercase}, sacremoses {version}")
        super().__init__(backend, limit=limit, digest=digest)
        self._size = size
        self._special_tokens = re.compile("|".join(sorted(map(re.escape, special), key=len, reverse=True)))
        self._lowercase = lowercase
        self._normalise = moses.MosesPunctNormalizer(lang="en").normalize
        self._split = moses.MosesTokenizer(lang="en").tokenize

    @classmethod
    def read(cls, folder: Path, *, positions: int | None) -> XlmTokenizer:
        """Read `vocab.json`, `merges.txt` and `tokenizer_config.json` of a model folder."""
        try:
            vocabulary = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
            lines = (folder / MERGES).read_text(encoding="utf-8").split("\n")[:-1]
            merges = [(parts[0], parts[1]) for parts in (line.split() for line in lines)]
            config = _config(folder)
            names = {key: _spelling(config.get(key, default)) for key, default in _SPECIAL.items()}
            more = [_spelling(token) for token in config.get("additional_special_tokens", _NUMBERED)]
            backend = _backend(vocabulary, merges, names, more)
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            msg = f"cannot read {VOCABULARY} and {MERGES} of model {folder.name!r}: {error!r}"
            raise ModelError(msg) from error
        return cls(
            backend,
            limit=token_limit(folder, positions=positions),
            size=1 + max(vocabulary.values()),
            special=list(dict.fromkeys([*names.values(), *more])),
            lowercase=bool(config.get("do_lowercase_and_remove_accent", True)),
        )

    @cached_property
    def vocabulary_size(self) -> int:
        return self._size

    @cached_property
    def _unknown_id(self) -> int:
        unknown = self.unknown_token
        return 0 if unknown is None else unknown.id

    def _inputs(self, texts: list[str]) -> list[str]:
        return [" ".join(self._words(text)) for text in texts]

    def _words(self, text: str) -> list[str]:
        """The words of a text; special tokens that are spelt out remain as they are."""
        words, start = [], 0
        for match in self._special_tokens.finditer(text):
            words += [*self._moses(text[start : match.start()]), match[0]]
            start = match.end()
        return words + self._moses(text[start:])

    def _moses(self, text: str) -> list[str]:
        if not text.strip():
            return []
        plain = _FULL_STOP.sub(". ", text).translate(_PUNCTUATION)
        printed = "".join(char for char in self._normalise(plain) if not unicodedata.category(char).startswith("C"))
        words: list[str] = self._split(printed, return_str=False, escape=False)
        if self._lowercase:
            words = _plain(" ".join(words)).split(" ")
        return [word for word in words if word]

    def _values(self, encoding: tokenizers.Encoding, attribute: str, *, whole: bool) -> list[Any]:
        values = super()._values(encoding, attribute, whole=whole)
        if attribute != "ids":
            return values
        return [self._unknown_id if value >= self._size else value for value in values]

    def _locate(self, text: str, *, whole: bool = False) -> NDArray[np.int32]:
        """Spans of a text's tokens; Moses changes characters, so both texts are aligned first."""
        stripped = text.strip()
        (prepared,) = self._inputs([stripped])
        spans = self._values(self._backend.encode(prepared), "offsets", whole=whole)
        starts = _align(prepared, stripped) + len(text) - len(text.lstrip())
        places = [(starts[start], starts[end - 1] + 1) if end > start else (0, 0) for start, end in spans]
        return np.array(places, dtype=np.int32).reshape(-1, 2)


def _plain(text: str) -> str:
    """Lower case without accents."""
    decomposed = unicodedata.normalize("NFD", text.lower())
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn").lower()


def _align(prepared: str, text: str) -> NDArray[np.intp]:
    """For each character of a prepared text, the index of its character in the original."""
    # Each character is prepared alone, so every prepared character knows its origin.
    pieces = [
        (char, index) for index, original in enumerate(text) for char in _plain(original).translate(_PUNCTUATION)
    ]
    chars = [char for char, _ in pieces]
    starts = np.zeros(len(prepared), dtype=np.intp)
    last = 0
    for _, first, end, other, until in difflib.SequenceMatcher(
        None, [_plain(char) for char in prepared], chars, autojunk=False
    ).get_opcodes():
        for step in range(end - first):
            if other + step < until:
                last = pieces[other + step][1]
            starts[first + step] = last
    return starts


def _backend(
    vocabulary: dict[str, int], merges: list[tuple[str, str]], names: dict[str, str], more: list[str]
) -> tokenizers.Tokenizer:
    """Byte-pair encoding of words that are separated by blanks, between the special tokens of a text."""
    rare = dict.fromkeys(symbol for first, second in merges for symbol in (first, second, first + second))
    above = itertools.count(1 + max(vocabulary.values()))
    ids = vocabulary | {symbol: next(above) for symbol in rare if symbol not in vocabulary}
    unknown = names["unk_token"]
    tokenizer = tokenizers.Tokenizer(
        models.BPE(ids, merges, unk_token=unknown, end_of_word_suffix=_END, fuse_unk=False)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    tokenizer.decoder = decoders.BPEDecoder(suffix=_END)
    known = [token for token in (*names.values(), *more) if token in vocabulary]
    tokenizer.add_special_tokens(list(dict.fromkeys(known)))
    start, end = names["bos_token"], names["sep_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(token, vocabulary[token]) for token in {start, end}]
    )
    return tokenizer


def _config(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            config |= json.loads((folder / name).read_text(encoding="utf-8"))
    return config


def _spelling(token: Any) -> str:
    """A special token, which a configuration writes as text or as an object."""
    return str(token["content"] if isinstance(token, dict) else token)
