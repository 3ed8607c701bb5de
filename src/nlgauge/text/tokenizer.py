"""Tokenisation with the model's own tokenizer, with its stored limits switched off.

The `tokenizer.json` of a sentence-transformers model carries truncation and padding to 128 tokens. Used as they are
they would cut texts silently, so both are switched off here: the limit is what the model reads (`model_max_length`,
capped by its position table), and every cut is marked on the tokens. A text can also be tokenised whole, to be read
in windows (`text/windows.py`).

A byte-level BPE (GPT-2, RoBERTa, ModernBERT) has other tokens for a word after a space than for the same word at the
start of a text. bert-score puts a space before each text for GPT-2 and RoBERTa (BERTScore, footnote 5), so that the
first word is read like any other. Whether a space is put there is an option of every recipe (`prefix_space`).

Punctuation and scripts without blanks between words are recognised here as well, because tokenizers and word
splitters need them.
"""

from __future__ import annotations

import copy
import itertools
import json
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import tokenizers
import tokenizers.models
from numpy.typing import NDArray

from nlgauge.errors import InputError, ModelError, RecipeError
from nlgauge.io.storage import text_digest
from nlgauge.text.windows import NO_LIMIT, Windows

Number = TypeVar("Number", np.float32, np.float64)

#: Texts handed to the tokenizer at once; its per-text objects are large, the ids we keep are not.
_CHUNK = 2048

#: Tokenizers for which bert-score 0.3.13 puts a space before each text, as transformers 4 calls them; and the types
#: of models that have one of them where tokenizer_config.json names none (transformers 4.48.3).
_SPACED_TOKENIZERS = frozenset({"RobertaTokenizer", "GPT2Tokenizer"})
_SPACED_MODELS = frozenset(
    {"roberta", "roberta-prelayernorm", "data2vec-text", "ibert", "mega", "mra"}
    | {"gpt2", "gpt_neo", "gptj", "gpt_bigcode", "opt", "starcoder2", "dbrx"}
)
#: Names of classes that say nothing about the kind of tokenizer.
_ANY_TOKENIZER = frozenset({"", "PreTrainedTokenizer", "TokenizersBackend"})

#: A code point that Unicode keeps without a meaning for ever, so that no vocabulary holds it.
_IN_NO_VOCABULARY = "\U0010fffe"

#: Languages without blanks between words, by their code without a region.
UNSPACED_LANGUAGES = ("ja", "th", "zh")

_UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI")


def is_punctuation(char: str) -> bool:
    """Whether it is of Unicode's category P, or of ASCII's punctuation, which has symbols such as $ and + too.

    >>> [is_punctuation(char) for char in "«$€a"]
    [True, True, False, False]
    """
    return char in string.punctuation or unicodedata.category(char).startswith("P")


@lru_cache(maxsize=4096)
def is_unspaced(char: str) -> bool:
    """Whether it belongs to a script without blanks: Chinese, Japanese, Thai; Korean has them.

    >>> [is_unspaced(char) for char in "語ไa한"]
    [True, True, False, False]
    """
    return unicodedata.name(char, "").startswith(_UNSPACED_SCRIPTS)


def base_language(lang: str) -> str:
    """A language's code without its region.

    >>> base_language("zh_TW")
    'zh'
    """
    return lang.lower().replace("_", "-").partition("-")[0]


@dataclass(frozen=True)
class UnknownToken:
    """The one id that stands for everything a vocabulary does not hold, such as BERT's [UNK]."""

    id: int
    is_mark: Callable[[int], bool]
    """Whether a token says nothing about a text beside unknown ones: punctuation, or a mark of white space."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """One text as the model reads it."""

    ids: NDArray[np.int32]
    is_special: NDArray[np.bool_]
    words: NDArray[np.int32]
    """Number of the word that each token belongs to; -1 for special tokens."""
    cut: int = 0
    """Tokens lost at the limit; 0 for a text that was read whole."""
    left_out: int = 0
    """Words left out because the vocabulary does not hold them; a sub-word tokenizer leaves out none."""
    unknown_token: UnknownToken | None = None
    """What the tokenizer puts for pieces it does not know; None where it can spell any text."""
    locate: Callable[[], NDArray[np.int32]] | None = None
    """Finds the offsets below; few texts are ever asked for them, and reading a text again is cheap."""
    windows: Windows | None = None
    """How the model reads it where it is longer than a window; None: at once."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def starts_word(self) -> NDArray[np.bool_]:
        """Whether a token is the first of its word; special tokens are words of their own."""
        starts = np.ones(len(self.words), dtype=np.bool_)
        starts[1:] = (self.words[1:] != self.words[:-1]) | (self.words[1:] < 0)
        return starts

    @cached_property
    def word_pieces(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Place of each word's first token, and how many tokens the word has."""
        starts = np.flatnonzero(self.starts_word)
        return starts, np.diff(starts, append=len(self.ids))

    @cached_property
    def offsets(self) -> NDArray[np.int32]:
        """Where each token stands in its text: first character, and the one after the last; 0, 0 if nowhere."""
        return np.zeros((len(self), 2), dtype=np.int32) if self.locate is None else self.locate()

    def _offsets_of(self, places: NDArray[np.intp]) -> NDArray[np.int32]:
        return self.offsets[places]

    def average_pieces(self, values: NDArray[Number]) -> NDArray[Number]:
        """Vectors, or weights, of the tokens averaged over the pieces of each word, in the type they came in."""
        starts, sizes = self.word_pieces
        total = np.add.reduceat(values, starts, axis=0)
        counts = sizes.astype(values.dtype)
        return np.divide(total, counts[:, None] if values.ndim == 2 else counts, out=total)

    def take(self, places: NDArray[np.intp]) -> Tokens:
        """Some of the tokens, as the same text."""
        return replace(
            self,
            ids=self.ids[places],
            is_special=self.is_special[places],
            words=self.words[places],
            locate=partial(self._offsets_of, places),
            windows=None,
        )

    def in_windows(self, windows: Windows) -> Tokens:
        """The same text, read in windows where it is longer than one."""
        return replace(self, windows=windows) if len(self) > windows.size and not self.empty else self

    def cut_to(self, limit: int) -> Tokens:
        """The first tokens and the special ones at the end, at most `limit` in all."""
        lost = len(self) - limit
        if lost <= 0 or self.empty:
            return self
        tail = int(np.argmin(self.is_special[::-1]))
        places = np.r_[0 : limit - tail, len(self) - tail : len(self)]
        return replace(self.take(places), cut=self.cut + lost)

    @cached_property
    def unknown(self) -> int:
        """How many words or pieces the vocabulary does not hold: left out, or read as the unknown token."""
        known = self.unknown_token
        return self.left_out + (0 if known is None else int(np.count_nonzero(self.ids == known.id)))

    @cached_property
    def only_unknown(self) -> bool:
        """Whether the text has unknown tokens and nothing else but punctuation, so that its vectors say nothing."""
        known = self.unknown_token
        if known is None or self.empty or not self.unknown:
            return False
        content = self.ids[~self.is_special]
        return all(token == known.id or known.is_mark(token) for token in np.unique(content).tolist())

    @cached_property
    def empty(self) -> bool:
        """Whether nothing but special tokens is left."""
        return bool(self.is_special.all())


class TextTokenizer:
    """A `tokenizers.Tokenizer` that never pads, and truncates only at a stated limit."""

    byte_level = False
    """Whether it is a byte-level BPE, to which a space before a text makes a difference."""
    prefix_space = False
    """Whether a space is put before each text."""
    _own_space = False  # tokenizer.json itself asks for the space
    _published_space = False
    _twin: TextTokenizer | None = None

    def __init__(
        self, backend: tokenizers.Tokenizer, *, limit: int, digest: str, published_space: bool = False
    ) -> None:
        """`published_space`: whether bert-score puts a space before texts for this kind of tokenizer."""
        self._backend = backend
        self._backend.no_padding()
        self._backend.no_truncation()
        frame = len(self._backend.encode("").ids)
        if limit <= frame:
            msg = f"a limit of {limit} tokens leaves no room for a text beside {frame} special tokens"
            raise ModelError(msg)
        self._backend.enable_truncation(max_length=limit)
        self.limit = limit
        self.digest = digest
        self._surfaces: dict[int, str] = {}
        self.byte_level, self._own_space = _byte_level(backend)
        self._published_space = published_space

    @classmethod
    def from_folder(cls, folder: Path, *, positions: int | None, digest: str) -> TextTokenizer:
        """Read `tokenizer.json` (and the limit in `tokenizer_config.json`) from a model's folder.

        `positions` is how many positions the model's table holds for tokens.
        """
        path = folder / "tokenizer.json"
        if not path.is_file():
            msg = f"model folder {folder.name!r} has no tokenizer.json; the torch engine can convert others"
            raise ModelError(msg)
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for any broken file
            msg = f"tokenizer.json of model {folder.name!r} cannot be read: {error}"
            raise ModelError(msg) from error
        limit = token_limit(folder, positions=positions)
        return cls(backend, limit=limit, digest=digest, published_space=has_published_space(folder))

    def with_prefix_space(self, choice: str, *, model: str = "") -> TextTokenizer:
        """The same tokenizer with a space before each text (`yes`), without (`no`), or as published (`auto`).

        As published is with a space for RoBERTa and GPT-2. With a space it has a digest of its own, so that a table
        of idf is used for texts that are read alike. `model` is for messages.
        """
        if choice == "yes" and not self.byte_level:
            msg = (
                f"prefix_space=yes has no effect on model {model!r}: its tokenizer is not a byte-level BPE such as "
                "RoBERTa's; leave prefix_space out"
            )
            raise RecipeError(msg)
        if choice == "no" and self._own_space:
            msg = (
                f"prefix_space=no is not possible with model {model!r}: its tokenizer.json asks for a space before "
                "each text; leave prefix_space out"
            )
            raise RecipeError(msg)
        spaced = choice == "yes" or (choice == "auto" and self._published_space)
        if (spaced and self.byte_level and not self._own_space) == self.prefix_space:
            return self
        if self._twin is None:
            twin = copy.copy(self)
            twin.prefix_space, twin._twin = not self.prefix_space, self
            twin.digest = text_digest(f"{self.digest} with a space before each text")
            self._twin = twin
        return self._twin

    @property
    def digest_otherwise(self) -> str:
        """The digest of the same tokenizer read the other way; empty where there is only one way."""
        if not self.byte_level or self._own_space:
            return ""
        return self.with_prefix_space("no" if self.prefix_space else "yes").digest

    @property
    def signed_prefix_space(self) -> str:
        """As a signature has it: yes or no; auto where a space makes no difference, and nothing is signed."""
        if not self.byte_level:
            return "auto"
        return "yes" if self.prefix_space or self._own_space else "no"

    @cached_property
    def vocabulary_size(self) -> int:
        """Number of token ids, added tokens included, and those that no token has between others."""
        return 1 + max(self._backend.get_vocab(with_added_tokens=True).values(), default=-1)

    def encode(self, texts: Sequence[str], *, whole: bool = False) -> list[Tokens]:
        """Tokens of each text, in order. White space around a text is not part of it. `whole`: nothing is cut."""
        return list(self.stream(texts, whole=whole))

    def stream(self, texts: Iterable[str], *, whole: bool = False) -> Iterator[Tokens]:
        """The same one by one, for more texts than fit into memory."""
        given, read = itertools.tee(texts)
        make = partial(self._tokens, whole=whole)
        return map(make, self._encodings(read, self._backend.encode_batch), given)

    def stream_ids(self, texts: Iterable[str], *, whole: bool = False) -> Iterator[tuple[Sequence[int], bool]]:
        """Token ids of each text, and whether it was cut: all that counting needs, in a third of the time."""
        for encoding in self._encodings(texts, self._backend.encode_batch_fast):
            ids = self._joined(encoding, "ids", whole=whole)
            yield self._known(ids), bool(encoding.overflowing) and not whole

    def _known(self, ids: Sequence[int]) -> Sequence[int]:
        """The ids that count as tokens; all of them, for a tokenizer that can spell any word."""
        return ids

    def _encodings(
        self, texts: Iterable[str], encode: Callable[[list[str]], list[tokenizers.Encoding]]
    ) -> Iterator[tokenizers.Encoding]:
        left, start = iter(texts), 0
        while chunk := [text.strip() for text in itertools.islice(left, _CHUNK)]:
            for offset, text in enumerate(chunk):
                check_encodable(text, f"text {start + offset}")
            yield from encode([self._spaced(text) for text in chunk] if self.prefix_space else chunk)
            start += len(chunk)

    def _spaced(self, text: str) -> str:
        """A text as the tokenizer is given it; one without a character stays empty."""
        return f" {text}" if self.prefix_space and text else text

    @cached_property
    def _frame(self) -> NDArray[np.bool_]:
        """For each token id, whether it is one of those that frame every text (such as [CLS] and [SEP]).

        Known by id, as the published BERTScore has it: one that is spelt out in a text is special too. The last entry
        stands for all higher ids: to know the highest one takes the whole vocabulary out of the tokenizer.
        """
        ids = self._backend.encode("").ids
        frame = np.zeros(max(ids, default=-1) + 2, dtype=np.bool_)
        frame[ids] = True
        return frame

    @cached_property
    def frame(self) -> tuple[int, int]:
        """Special tokens that the model reads before and after every text."""
        mask = self._backend.encode("a").special_tokens_mask
        head = mask.index(0) if 0 in mask else len(mask)
        return head, sum(mask) - head

    def _tokens(self, encoding: tokenizers.Encoding, text: str, *, whole: bool = False) -> Tokens:
        # A piece of overflow carries special tokens of its own; only real ones were lost.
        cut = sum(len(piece) - sum(piece.special_tokens_mask) for piece in encoding.overflowing)
        ids = np.array(self._joined(encoding, "ids", whole=whole), dtype=np.int32)
        # What the tokenizer split off before it looked for pieces is a word: the same for WordPiece,
        # SentencePiece and byte-level BPE, without looking at how they spell a piece.
        word_ids = self._joined(encoding, "word_ids", whole=whole)
        words = np.array([-1 if word is None else word for word in word_ids], dtype=np.int32)
        special = self._frame[np.minimum(ids, len(self._frame) - 1)]
        locate = partial(self._locate, text, whole=whole)
        return Tokens(ids, special, words, 0 if whole else cut, unknown_token=self.unknown_token, locate=locate)

    def _joined(self, encoding: tokenizers.Encoding, what: str, *, whole: bool) -> list[Any]:
        """A list that an encoding has, with what lies beyond the limit where the whole is asked for."""
        first: list[Any] = getattr(encoding, what)
        if not whole or not encoding.overflowing:
            return first
        head, tail = self.frame
        pieces = [getattr(piece, what) for piece in (encoding, *encoding.overflowing)]
        inside = [entry for piece in pieces for entry in piece[head : len(piece) - tail]]
        return [*first[:head], *inside, *first[len(first) - tail :]]

    def _locate(self, text: str, *, whole: bool = False) -> NDArray[np.int32]:
        """Offsets of a text's tokens, counted in characters of the text before white space was taken off."""
        offsets = self._joined(self._backend.encode(self._spaced(text.strip())), "offsets", whole=whole)
        places = np.array(offsets, dtype=np.int32).reshape(-1, 2)
        if self.prefix_space:  # the space is not a character of the text
            places = np.maximum(places - 1, 0)
        lead = len(text) - len(text.lstrip())
        return np.where(places[:, 1:] > places[:, :1], places + lead, 0).astype(np.int32)

    @cached_property
    def unknown_token(self) -> UnknownToken | None:
        """What stands for pieces that the vocabulary does not hold; None where there is no such token."""
        model = self._backend.model
        if isinstance(model, tokenizers.models.Unigram):  # it does not tell its unknown id, but uses it
            found = model.tokenize(_IN_NO_VOCABULARY)
            known = found[0].id if len(found) == 1 else None
        else:
            name = getattr(model, "unk_token", None)
            known = None if name is None else self._backend.token_to_id(name)
        return None if known is None else UnknownToken(known, self._is_mark)

    def _is_mark(self, token: int) -> bool:
        return all(is_punctuation(char) for char in self._surface(token))

    def token_strings(self, tokens: Tokens) -> tuple[str, ...]:
        """The vocabulary's spelling of each token, special tokens included."""
        return tuple(self._backend.id_to_token(int(i)) or "" for i in tokens.ids)

    def surfaces(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token as a reader writes it: "the" where the vocabulary spells "\u2581the" or "\u0120the".

        WordPiece spells the start of a word as it is, and marks what continues one, which stays marked.
        """
        if isinstance(self._backend.model, tokenizers.models.WordPiece):
            return self.token_strings(tokens)
        return tuple(self._surface(int(i)) for i in tokens.ids)

    def pieces(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token without any mark: "ing" where WordPiece spells "##ing"."""
        model = self._backend.model
        surfaces = self.surfaces(tokens)
        if not isinstance(model, tokenizers.models.WordPiece):
            return surfaces
        mark = model.continuing_subword_prefix
        starts = tokens.starts_word
        return tuple(text if start else text.removeprefix(mark) for text, start in zip(surfaces, starts, strict=True))

    def _surface(self, token: int) -> str:
        if token not in self._surfaces:
            self._surfaces[token] = self._backend.decode([token], skip_special_tokens=False).strip()
        return self._surfaces[token]


def check_encodable(text: str, what: str) -> None:
    """Refuse a text that is no valid Unicode (a lone surrogate), saying which one it is."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"{what} holds {text[error.start]!r} at character {error.start}: half a surrogate pair is not a text"
        raise InputError(msg) from error


def _byte_level(backend: tokenizers.Tokenizer) -> tuple[bool, bool]:
    """Whether a tokenizer is a byte-level BPE, and whether it puts a space before each text by itself."""
    before = backend.pre_tokenizer
    if before is None or not isinstance(backend.model, tokenizers.models.BPE):
        return False, False
    state = json.loads(before.__getstate__())
    steps = [step for step in state.get("pretokenizers", [state]) if step.get("type") == "ByteLevel"]
    return bool(steps), any(step.get("add_prefix_space") for step in steps)


def has_published_space(folder: Path) -> bool:
    """Whether bert-score 0.3.13 puts a space before texts for the tokenizer of a model's folder, if it is byte-level.

    It does so for tokenizers of the classes RobertaTokenizer and GPT2Tokenizer of transformers 4.
    """
    named = str(_entry(folder / "tokenizer_config.json", "tokenizer_class") or "").removesuffix("Fast")
    if named not in _ANY_TOKENIZER:
        return named in _SPACED_TOKENIZERS
    return _entry(folder / "config.json", "model_type") in _SPACED_MODELS


def _entry(path: Path, name: str) -> object:
    """An entry of a JSON file; None where there is none. Whoever needs the rest of the file reports what is wrong."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content.get(name) if isinstance(content, dict) else None


def token_limit(folder: Path, *, positions: int | None) -> int:
    """Longest input in tokens: the tokenizer's `model_max_length`, capped by the position table."""
    stated: float = NO_LIMIT  # of tokenizers that state none, it is a huge sentinel (1e30)
    config = folder / "tokenizer_config.json"
    if config.is_file():
        try:
            stated = json.loads(config.read_text(encoding="utf-8")).get("model_max_length") or NO_LIMIT
            stated = float(stated)
        except (ValueError, TypeError, AttributeError, OSError) as error:
            msg = f"tokenizer_config.json of model {folder.name!r} cannot be read: {error}"
            raise ModelError(msg) from error
    limits = [int(value) for value in (stated, positions) if value is not None and value < NO_LIMIT]
    if not limits:
        msg = f"model {folder.name!r} states no maximum length, in tokenizer_config.json or in config.json"
        raise ModelError(msg)
    return min(limits)
