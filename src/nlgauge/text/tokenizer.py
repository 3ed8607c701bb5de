"""Tokenisation with the model's own tokenizer, without its stored limits.

The `tokenizer.json` of a sentence-transformers model sets truncation and padding to 128 tokens, which would truncate
texts silently. Both are switched off here: the limit is that of the model (`model_max_length`, capped by its position
table), and tokens record every truncation. A text can also be tokenised whole, for windows (`text/windows.py`).

A byte-level BPE (GPT-2, RoBERTa, ModernBERT) has different tokens for a word after a space and at the start of a
text. For GPT-2 and RoBERTa, bert-score puts a space before each text (BERTScore, footnote 5), so the first word is
read like any other. The option `prefix_space` of every recipe controls this.

Tests for punctuation and for scripts without blanks are here, because tokenizers and word splitters need them.
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

#: Texts per call of the tokenizer, because its per-text objects are large.
_CHUNK = 2048

#: Tokenizer classes of transformers 4 for which bert-score 0.3.13 puts a space before each text; and model types with
#: one of these tokenizers if tokenizer_config.json names none (transformers 4.48.3).
_SPACED_TOKENIZERS = frozenset({"RobertaTokenizer", "GPT2Tokenizer"})
_SPACED_MODELS = frozenset(
    {"roberta", "roberta-prelayernorm", "data2vec-text", "ibert", "mega", "mra"}
    | {"gpt2", "gpt_neo", "gptj", "gpt_bigcode", "opt", "starcoder2", "dbrx"}
)
#: Class names that do not determine the kind of tokenizer.
_ANY_TOKENIZER = frozenset({"", "PreTrainedTokenizer", "TokenizersBackend"})

#: A permanent noncharacter of Unicode, which is in no vocabulary.
_IN_NO_VOCABULARY = "\U0010fffe"

#: Languages without blanks between words, by their code without a region.
UNSPACED_LANGUAGES = ("ja", "th", "zh")

_UNSPACED_SCRIPTS = ("CJK", "HIRAGANA", "KATAKANA", "THAI")


def is_punctuation(char: str) -> bool:
    """Whether a character is in Unicode's category P or in ASCII's punctuation, which includes $ and +.

    >>> [is_punctuation(char) for char in "«$€a"]
    [True, True, False, False]
    """
    return char in string.punctuation or unicodedata.category(char).startswith("P")


@lru_cache(maxsize=4096)
def is_unspaced(char: str) -> bool:
    """Whether a character is in a script without blanks between words: Chinese, Japanese, Thai, but not Korean.

    >>> [is_unspaced(char) for char in "語ไa한"]
    [True, True, False, False]
    """
    return unicodedata.name(char, "").startswith(_UNSPACED_SCRIPTS)


def base_language(lang: str) -> str:
    """A language code without its region.

    >>> base_language("zh_TW")
    'zh'
    """
    return lang.lower().replace("_", "-").partition("-")[0]


@dataclass(frozen=True)
class UnknownToken:
    """The id that replaces everything outside the vocabulary, such as BERT's [UNK]."""

    id: int
    is_mark: Callable[[int], bool]
    """Whether a token is punctuation or a mark of white space, which carry no content."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """The tokens of one text."""

    ids: NDArray[np.int32]
    is_special: NDArray[np.bool_]
    words: NDArray[np.int32]
    """Number of the word that each token belongs to; -1 for special tokens."""
    cut: int = 0
    """Number of tokens removed by truncation."""
    left_out: int = 0
    """Number of words outside the vocabulary that were removed; 0 for sub-word tokenizers."""
    unknown_token: UnknownToken | None = None
    """The tokenizer's unknown token; None if it can spell any text."""
    locate: Callable[[], NDArray[np.int32]] | None = None
    """Computes `offsets` on request; few texts need them, and tokenising again is cheap."""
    windows: Windows | None = None
    """Windows of a long text; None if the model reads it at once."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def starts_word(self) -> NDArray[np.bool_]:
        """Whether each token is the first of its word; special tokens count as words."""
        starts = np.ones(len(self.words), dtype=np.bool_)
        starts[1:] = (self.words[1:] != self.words[:-1]) | (self.words[1:] < 0)
        return starts

    @cached_property
    def word_pieces(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Index of each word's first token, and its number of tokens."""
        starts = np.flatnonzero(self.starts_word)
        return starts, np.diff(starts, append=len(self.ids))

    @cached_property
    def offsets(self) -> NDArray[np.int32]:
        """Span of each token in the text (start, end); 0, 0 for tokens without one."""
        return np.zeros((len(self), 2), dtype=np.int32) if self.locate is None else self.locate()

    def _offsets_of(self, places: NDArray[np.intp]) -> NDArray[np.int32]:
        return self.offsets[places]

    def average_pieces(self, values: NDArray[Number]) -> NDArray[Number]:
        """Average vectors or weights of tokens over the pieces of each word."""
        starts, sizes = self.word_pieces
        total = np.add.reduceat(values, starts, axis=0)
        counts = sizes.astype(values.dtype)
        return np.divide(total, counts[:, None] if values.ndim == 2 else counts, out=total)

    def take(self, places: NDArray[np.intp]) -> Tokens:
        """The same text with only the tokens at some indices."""
        return replace(
            self,
            ids=self.ids[places],
            is_special=self.is_special[places],
            words=self.words[places],
            locate=partial(self._offsets_of, places),
            windows=None,
        )

    def in_windows(self, windows: Windows) -> Tokens:
        """The same text with windows, if it is longer than one window."""
        return replace(self, windows=windows) if len(self) > windows.size and not self.empty else self

    def cut_to(self, limit: int) -> Tokens:
        """Truncate to `limit` tokens; special tokens at the end are kept."""
        lost = len(self) - limit
        if lost <= 0 or self.empty:
            return self
        tail = int(np.argmin(self.is_special[::-1]))
        places = np.r_[0 : limit - tail, len(self) - tail : len(self)]
        return replace(self.take(places), cut=self.cut + lost)

    @cached_property
    def unknown(self) -> int:
        """Number of words or pieces outside the vocabulary, removed or replaced by the unknown token."""
        unknown = self.unknown_token
        return self.left_out + (0 if unknown is None else int(np.count_nonzero(self.ids == unknown.id)))

    @cached_property
    def only_unknown(self) -> bool:
        """Whether the text has only unknown tokens and punctuation, so its vectors carry no content."""
        unknown = self.unknown_token
        if unknown is None or self.empty or not self.unknown:
            return False
        content = self.ids[~self.is_special]
        return all(token == unknown.id or unknown.is_mark(token) for token in np.unique(content).tolist())

    @cached_property
    def empty(self) -> bool:
        """Whether the text has only special tokens."""
        return bool(self.is_special.all())


class TextTokenizer:
    """A `tokenizers.Tokenizer` that never pads, and truncates only at a stated limit."""

    byte_level = False
    """Whether it is a byte-level BPE, for which a space before a text matters."""
    prefix_space = False
    """Whether a space is put before each text."""
    _own_space = False  # whether tokenizer.json itself adds the space
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
            msg = f"a limit of {limit} tokens leaves no room for a text next to {frame} special tokens"
            raise ModelError(msg)
        self._backend.enable_truncation(max_length=limit)
        self.limit = limit
        self.digest = digest
        self._surfaces: dict[int, str] = {}
        self.byte_level, self._own_space = _byte_level(backend)
        self._published_space = published_space

    @classmethod
    def from_folder(cls, folder: Path, *, positions: int | None, digest: str) -> TextTokenizer:
        """Read `tokenizer.json` (and the limit in `tokenizer_config.json`) from a model folder.

        `positions` is the number of tokens that the model's position table allows.
        """
        path = folder / "tokenizer.json"
        if not path.is_file():
            msg = f"model folder {folder.name!r} has no tokenizer.json; engine 'torch' can convert other tokenizers"
            raise ModelError(msg)
        try:
            backend = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for any broken file
            msg = f"cannot read tokenizer.json of model {folder.name!r}: {error}"
            raise ModelError(msg) from error
        limit = token_limit(folder, positions=positions)
        return cls(backend, limit=limit, digest=digest, published_space=has_published_space(folder))

    def with_prefix_space(self, choice: str, *, model: str = "") -> TextTokenizer:
        """The same tokenizer with a space before each text (`yes`), without (`no`), or as published (`auto`).

        The published code uses a space for RoBERTa and GPT-2. The tokenizer with a space has another digest, so an
        idf table is only used for texts that are tokenised in the same way. `model` is for messages.
        """
        if choice == "yes" and not self.byte_level:
            msg = (
                f"prefix_space=yes has no effect on model {model!r}: its tokenizer is not a byte-level BPE such as "
                "RoBERTa's; omit prefix_space"
            )
            raise RecipeError(msg)
        if choice == "no" and self._own_space:
            msg = (
                f"prefix_space=no is not possible with model {model!r}: its tokenizer.json adds a space before each "
                "text; omit prefix_space"
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
    def alternative_digest(self) -> str:
        """The digest of the same tokenizer with the other setting of `prefix_space`; empty if there is none."""
        if not self.byte_level or self._own_space:
            return ""
        return self.with_prefix_space("no" if self.prefix_space else "yes").digest

    @property
    def signed_prefix_space(self) -> str:
        """The value for signatures: yes or no; auto, which is not signed, if the space makes no difference."""
        if not self.byte_level:
            return "auto"
        return "yes" if self.prefix_space or self._own_space else "no"

    @cached_property
    def vocabulary_size(self) -> int:
        """Number of token ids, including added tokens and unused ids."""
        return 1 + max(self._backend.get_vocab(with_added_tokens=True).values(), default=-1)

    def encode(self, texts: Sequence[str], *, whole: bool = False) -> list[Tokens]:
        """Tokenise texts, without surrounding white space; `whole` switches off truncation."""
        return list(self.stream(texts, whole=whole))

    def stream(self, texts: Iterable[str], *, whole: bool = False) -> Iterator[Tokens]:
        """Tokenise texts one by one, for more texts than fit into memory."""
        originals, inputs = itertools.tee(texts)
        make = partial(self._tokens, whole=whole)
        return map(make, self._encodings(inputs, self._backend.encode_batch), originals)

    def stream_ids(self, texts: Iterable[str], *, whole: bool = False) -> Iterator[tuple[Sequence[int], bool]]:
        """Token ids of each text, and whether it was truncated; three times as fast as `stream`."""
        for encoding in self._encodings(texts, self._backend.encode_batch_fast):
            ids = self._values(encoding, "ids", whole=whole)
            yield self._counted_ids(ids), bool(encoding.overflowing) and not whole

    def _counted_ids(self, ids: Sequence[int]) -> Sequence[int]:
        """The ids that count as tokens; a sub-word tokenizer counts all."""
        return ids

    def _encodings(
        self, texts: Iterable[str], encode: Callable[[list[str]], list[tokenizers.Encoding]]
    ) -> Iterator[tokenizers.Encoding]:
        left, start = iter(texts), 0
        while chunk := [text.strip() for text in itertools.islice(left, _CHUNK)]:
            for offset, text in enumerate(chunk):
                check_encodable(text, f"text {start + offset}")
            yield from encode(self._inputs(chunk))
            start += len(chunk)

    def _inputs(self, texts: list[str]) -> list[str]:
        """What the library tokenises for stripped texts."""
        return [self._add_space(text) for text in texts] if self.prefix_space else texts

    def _add_space(self, text: str) -> str:
        """The tokenizer's input for a text; an empty text stays empty."""
        return f" {text}" if self.prefix_space and text else text

    @cached_property
    def _frame(self) -> NDArray[np.bool_]:
        """For each token id, whether it frames every text (such as [CLS] and [SEP]).

        Special tokens are recognised by id, as in the published BERTScore: one that is spelt out in a text is special
        too. The last entry is for all higher ids, because looking up the highest id copies the whole vocabulary.
        """
        ids = self._backend.encode("").ids
        frame = np.zeros(max(ids, default=-1) + 2, dtype=np.bool_)
        frame[ids] = True
        return frame

    @cached_property
    def frame(self) -> tuple[int, int]:
        """Number of special tokens before and after every text."""
        mask = self._backend.encode("a").special_tokens_mask
        head = mask.index(0) if 0 in mask else len(mask)
        return head, sum(mask) - head

    def _tokens(self, encoding: tokenizers.Encoding, text: str, *, whole: bool = False) -> Tokens:
        # Overflowing pieces have special tokens too, which are not lost.
        cut = sum(len(piece) - sum(piece.special_tokens_mask) for piece in encoding.overflowing)
        ids = np.array(self._values(encoding, "ids", whole=whole), dtype=np.int32)
        # Words are the units of the pre-tokenizer: the same rule for WordPiece, SentencePiece and byte-level BPE.
        word_ids = self._values(encoding, "word_ids", whole=whole)
        words = np.array([-1 if word is None else word for word in word_ids], dtype=np.int32)
        special = self._frame[np.minimum(ids, len(self._frame) - 1)]
        locate = partial(self._locate, text, whole=whole)
        return Tokens(ids, special, words, 0 if whole else cut, unknown_token=self.unknown_token, locate=locate)

    def _values(self, encoding: tokenizers.Encoding, attribute: str, *, whole: bool) -> list[Any]:
        """A list of an encoding; `whole` appends the parts beyond the limit."""
        first: list[Any] = getattr(encoding, attribute)
        if not whole or not encoding.overflowing:
            return first
        head, tail = self.frame
        pieces = [getattr(piece, attribute) for piece in (encoding, *encoding.overflowing)]
        inside = [entry for piece in pieces for entry in piece[head : len(piece) - tail]]
        return [*first[:head], *inside, *first[len(first) - tail :]]

    def _locate(self, text: str, *, whole: bool = False) -> NDArray[np.int32]:
        """Spans of a text's tokens, in characters of the text with its surrounding white space."""
        encoding = self._backend.encode(self._add_space(text.strip()))
        offsets = np.array(self._values(encoding, "offsets", whole=whole), dtype=np.int32).reshape(-1, 2)
        if self.prefix_space:  # the space is not a character of the text
            offsets = np.maximum(offsets - 1, 0)
        lead = len(text) - len(text.lstrip())
        return np.where(offsets[:, 1:] > offsets[:, :1], offsets + lead, 0).astype(np.int32)

    @cached_property
    def unknown_token(self) -> UnknownToken | None:
        """The token for pieces outside the vocabulary; None if the tokenizer has none."""
        model = self._backend.model
        if isinstance(model, tokenizers.models.Unigram):  # it does not expose its unknown id, but uses it
            pieces = model.tokenize(_IN_NO_VOCABULARY)
            unknown_id = pieces[0].id if len(pieces) == 1 else None
        else:
            name = getattr(model, "unk_token", None)
            unknown_id = None if name is None else self._backend.token_to_id(name)
        return None if unknown_id is None else UnknownToken(unknown_id, self._is_mark)

    def _is_mark(self, token: int) -> bool:
        return all(is_punctuation(char) for char in self._surface(token))

    def token_strings(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token as spelt in the vocabulary, special tokens included."""
        return tuple(self._backend.id_to_token(int(i)) or "" for i in tokens.ids)

    def surfaces(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token as readers write it: "the" for "\u2581the" or "\u0120the" in the vocabulary.

        WordPiece marks only tokens that continue a word; these keep their mark.
        """
        if isinstance(self._backend.model, tokenizers.models.WordPiece):
            return self.token_strings(tokens)
        return tuple(self._surface(int(i)) for i in tokens.ids)

    def pieces(self, tokens: Tokens) -> tuple[str, ...]:
        """Each token without any mark: "ing" for WordPiece's "##ing"."""
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
    """Raise InputError for a text that is not valid Unicode (a lone surrogate); `what` names the text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = f"{what} is not valid Unicode: half of a surrogate pair, {text[error.start]!r}, at index {error.start}"
        raise InputError(msg) from error


def _byte_level(backend: tokenizers.Tokenizer) -> tuple[bool, bool]:
    """Whether a tokenizer is a byte-level BPE, and whether it adds a space before each text itself."""
    before = backend.pre_tokenizer
    if before is None or not isinstance(backend.model, tokenizers.models.BPE):
        return False, False
    state = json.loads(before.__getstate__())
    steps = [step for step in state.get("pretokenizers", [state]) if step.get("type") == "ByteLevel"]
    return bool(steps), any(step.get("add_prefix_space") for step in steps)


def has_published_space(folder: Path) -> bool:
    """Whether bert-score 0.3.13 puts a space before texts for the byte-level tokenizer of a model folder.

    It does so for the tokenizer classes RobertaTokenizer and GPT2Tokenizer of transformers 4.
    """
    class_name = str(_entry(folder / "tokenizer_config.json", "tokenizer_class") or "").removesuffix("Fast")
    if class_name not in _ANY_TOKENIZER:
        return class_name in _SPACED_TOKENIZERS
    return _entry(folder / "config.json", "model_type") in _SPACED_MODELS


def _entry(path: Path, name: str) -> object:
    """An entry of a JSON file; None if it is missing or the file is invalid, which other readers report."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content.get(name) if isinstance(content, dict) else None


def token_limit(folder: Path, *, positions: int | None) -> int:
    """Longest input in tokens: the tokenizer's `model_max_length`, capped by the position table."""
    stated: float = NO_LIMIT  # tokenizers without a limit have a huge value (1e30)
    config = folder / "tokenizer_config.json"
    if config.is_file():
        try:
            stated = json.loads(config.read_text(encoding="utf-8")).get("model_max_length") or NO_LIMIT
            stated = float(stated)
        except (ValueError, TypeError, AttributeError, OSError) as error:
            msg = f"cannot read tokenizer_config.json of model {folder.name!r}: {error}"
            raise ModelError(msg) from error
    limits = [int(value) for value in (stated, positions) if value is not None and value < NO_LIMIT]
    if not limits:
        msg = f"model {folder.name!r} has no maximum length in tokenizer_config.json or config.json"
        raise ModelError(msg)
    return min(limits)
