"""Sentence vectors: from the model `muse`, or any model in the layout of sentence-transformers.

In that layout, `modules.json` lists the modules after the network, and `1_Pooling/config.json` defines how the last
layer's vectors (special tokens included, as in the library) are pooled:

    cls    the first token's vector              mean            their average
    max    the largest value of each entry       mean_sqrt_len   their sum over the root of their number

Several modes are concatenated in the order cls, max, mean, mean_sqrt_len; `Normalize` scales to length 1. Without
`modules.json` vectors are averaged, as in the library. Texts are truncated to `max_seq_length` with a warning, or
read in windows of that length, whose token vectors are joined before pooling, so each token counts once. (Models that
pool the first token cannot use windows, because that token sees one window only.)
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlgauge.encoders.base import Encoder, encode_texts, vectors_digest
from nlgauge.encoders.engines.muse import MuseEncoder
from nlgauge.encoders.load import load_encoder
from nlgauge.errors import ModelError, RecipeError, TruncationWarning, UnsupportedModelError
from nlgauge.io.storage import text_digest
from nlgauge.io.store.resolve import resolve
from nlgauge.text.windows import CUT, Reading

#: Pooling modes in the order in which sentence-transformers concatenates them.
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len")

#: Pooling modes by their keys in `1_Pooling/config.json`.
_SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
}

_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Pooling:
    """Pooling of a text's token vectors into one vector."""

    modes: tuple[str, ...] = ("mean",)
    normalise: bool = False
    max_tokens: int | None = None
    """The folder's limit in tokens, if it has one."""
    lowercase: bool = False

    def __post_init__(self) -> None:
        unknown = [mode for mode in self.modes if mode not in POOLINGS]
        if unknown or not self.modes:
            msg = f"pooling must be one or more of {', '.join(POOLINGS)}, got {', '.join(unknown) or 'none'}"
            raise RecipeError(msg)

    def __call__(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Pool the rows of a text."""
        count = np.float32(len(vectors))
        parts = {
            "cls": lambda: vectors[0],
            "max": lambda: vectors.max(axis=0),
            "mean": lambda: vectors.sum(axis=0) / count,
            "mean_sqrt_len": lambda: vectors.sum(axis=0) / np.sqrt(count),
        }
        vector: NDArray[np.float32] = np.concatenate([parts[mode]() for mode in POOLINGS if mode in self.modes])
        length = np.sqrt(vector @ vector)
        return vector / length if self.normalise and length > 0 else vector

    def __str__(self) -> str:
        """A short form for messages and digests: `mean+unit`."""
        modes = "+".join(mode for mode in POOLINGS if mode in self.modes)
        return modes + ("+unit" if self.normalise else "") + ("+lowercase" if self.lowercase else "")


class PooledSentences:
    """A token encoder whose last layer is pooled."""

    def __init__(
        self, encoder: Encoder, pooling: Pooling, *, name: str | None = None, reading: Reading = CUT
    ) -> None:
        """`name` replaces the encoder's name in signatures."""
        self._encoder = encoder
        self.pooling = pooling
        self.name = name or encoder.model
        self.engine = encoder.engine
        self.limit = min(encoder.tokenizer.limit, pooling.max_tokens or encoder.tokenizer.limit)
        self.windows = reading.up_to(self.limit).windows(encoder.tokenizer, limit=self.limit, model=self.name)
        parts = [vectors_digest(encoder), encoder.tokenizer.digest, str(pooling), str(self.limit)]
        if self.windows is not None:
            if "cls" in pooling.modes:
                msg = (
                    f"sentence model {self.name!r} pools the first token, which sees one window only; use another "
                    "sentence model, or truncate long texts (window=none, long='truncate')"
                )
                raise RecipeError(msg)
            parts.append(f"windows {self.windows.size} {self.windows.stride}")
        self.digest = text_digest("\n".join(parts))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector per text; for a text without tokens, a vector of zeros."""
        encoder, layer = self._encoder, self._encoder.layers
        inputs = [text.lower() for text in texts] if self.pooling.lowercase else texts
        if self.windows is None:
            tokens = [text.cut_to(self.limit) for text in encoder.tokenizer.encode(inputs)]
        else:
            tokens = [text.in_windows(self.windows) for text in encoder.tokenizer.encode(inputs, whole=True)]
        truncated = sum(text.cut > 0 for text in tokens)
        if truncated:
            msg = (
                f"{truncated} of {len(texts)} texts were truncated to {self.limit} tokens, the limit of {self.name!r}"
            )
            warnings.warn(msg, TruncationWarning, stacklevel=2)
        encoded = encode_texts(encoder, tokens, (layer,), batch_tokens=_BATCH_TOKENS)
        rows = np.zeros((len(texts), encoder.hidden_size * len(set(self.pooling.modes))), dtype=np.float32)
        for row, text in zip(rows, encoded, strict=True):
            if not text.tokens.empty:
                row[:] = self.pooling(text.layers[layer])
        return rows


class MuseSentences:
    """The sentence vectors of `muse`."""

    def __init__(self, encoder: MuseEncoder) -> None:
        self._encoder = encoder
        self.name = encoder.model
        self.engine = encoder.engine
        self.digest = text_digest(f"{encoder.digest}\n{encoder.tokenizer.digest}\nmuse")

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text; for a text without tokens, a vector of zeros."""
        return self._encoder.sentence_vectors(texts)


#: A loaded model that gives one vector per text.
SentenceEncoder: TypeAlias = PooledSentences | MuseSentences


def load_sentence_encoder(
    model: str, *, reading: Reading = CUT, progress: bool = False, **options: Any
) -> SentenceEncoder:
    """Load a sentence encoder by name (`muse`, `minilm`, `mpnet`), folder or hub id; options as in `load_encoder`.

    Word vectors of a file are averaged.

    `reading` determines whether texts over the model's limit are truncated or read in windows.
    """
    # Older layouts have the network in a subfolder, which only modules.json names.
    inner = _network_folder(Path(model))
    if inner is not None:
        name = Path(model).resolve().name
        pooling = read_pooling(Path(model), name=name)
        return PooledSentences(
            load_encoder(str(inner), progress=progress, **options), pooling, name=name, reading=reading
        )
    # First, because it refuses other kinds of models before a download.
    network = load_encoder(model, progress=progress, **options)
    if isinstance(network, MuseEncoder):
        return MuseSentences(network)
    if network.layers == 0:  # word vectors, which have no pooling of their own
        return PooledSentences(network, Pooling(), reading=reading)
    files = resolve(model, progress=progress)
    return PooledSentences(network, read_pooling(files.path, name=files.name), reading=reading)


def read_pooling(folder: Path, *, name: str) -> Pooling:
    """Read the pooling of a folder in the layout of sentence-transformers."""
    modules = _modules(folder, name=name)
    if modules is None:
        return Pooling()
    modes: tuple[str, ...] | None = None
    normalise = False
    base = folder
    for kind, path in modules:
        if kind == "Transformer":
            base = folder / path
        elif kind == "Pooling":
            modes = _pooling_modes(folder / path / "config.json", name=name)
        elif kind == "Normalize":
            normalise = True
        else:
            msg = (
                f"model {name!r} has an unsupported module {kind!r} ({path!r} in modules.json); "
                "nlgauge supports Transformer, Pooling and Normalize"
            )
            raise UnsupportedModelError(msg)
    if modes is None:
        msg = f"model {name!r} has no Pooling in modules.json, so it gives no sentence vectors"
        raise UnsupportedModelError(msg)
    stated = base / "sentence_bert_config.json"
    limits = _json(stated, name=name) if stated.is_file() else {}
    limit = limits.get("max_seq_length")
    return Pooling(
        modes,
        normalise=normalise,
        max_tokens=limit if isinstance(limit, int) and limit > 0 else None,
        lowercase=limits.get("do_lower_case") is True,
    )


def _network_folder(folder: Path) -> Path | None:
    if (folder / "config.json").is_file() or not (folder / "modules.json").is_file():
        return None
    paths = [path for kind, path in _modules(folder, name=folder.name) or [] if kind == "Transformer" and path]
    return folder / paths[0] if paths else None


def _modules(folder: Path, *, name: str) -> list[tuple[str, str]] | None:
    """Kind and path of each module, in order; None for a folder without them."""
    if not (folder / "modules.json").is_file():
        return None
    try:
        listed = sorted(_json(folder / "modules.json", name=name), key=lambda entry: entry["idx"])
        return [(str(entry["type"]).rpartition(".")[2], str(entry["path"])) for entry in listed]
    except (TypeError, KeyError) as error:
        msg = f"modules.json of model {name!r} must be a list of objects with idx, path and type: {error!r}"
        raise ModelError(msg) from error


def _pooling_modes(path: Path, *, name: str) -> tuple[str, ...]:
    config = _json(path, name=name)
    on = [key for key, value in config.items() if key.startswith("pooling_mode_") and value is True]
    unknown = [key for key in on if key not in _SWITCHES]
    if unknown or not on:
        problem = f"enables {', '.join(unknown)}" if unknown else "enables no pooling mode"
        msg = f"{path.parent.name}/config.json of model {name!r} {problem}; nlgauge supports {', '.join(_SWITCHES)}"
        raise UnsupportedModelError(msg)
    return tuple(mode for key, mode in _SWITCHES.items() if key in on)


def _json(path: Path, *, name: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        where = f"{path.parent.name}/{path.name}"
        msg = f"cannot read {where} of model {name!r}: {error}; download the model again, or give its folder"
        raise ModelError(msg) from error
