"""Likelihood of a text under a language model: the fluency term of XMoverScore (extra `nlgauge[torch]`).

For the tokens t_1 ... t_T of a text, without a start token (XMoverScore's code of 2020, D8.6):

    log-likelihood = 1/(T-1) * sum over i = 2 ... T of ln p(t_i | t_1 ... t_(i-1))        nats per token, at most 0

It is 0 for a text of one token or none, as published. The later code's "perplexity" is exp(log-likelihood / T), which
normalises by length twice; `twice_normalised` computes it. Batches contain texts of one length, so no padding can
affect a text.

The model `smollm2` is SmolLM2-135M-Instruct quantised to 4 bits (English; extras `torch,gguf`), which is available
without the hub. transformers parses the vocabulary of a .gguf file separately for tokenizer, configuration and
weights, and builds the same table of names for every module of the network. `parse_gguf_once` caches both while a
model loads: SmolLM2-135M then loads in 12 instead of 27 seconds on one thread, with the same numbers.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray

from nlgauge.encoders.base import DEFAULT_PRECISION, TORCH_PRECISIONS, check_precision, equal_length_batches
from nlgauge.encoders.engines.torch_engine import (
    choose_device,
    engine_label,
    in_precision,
    quiet,
    refuse_adapter,
    thread_count,
    to_device,
    to_host,
)
from nlgauge.encoders.load import LoadedModels, default_threads
from nlgauge.errors import ModelError, ModelNotFoundError, RecipeError, TooLongError, TruncationWarning
from nlgauge.io.packages import require
from nlgauge.io.storage import file_digest, text_digest
from nlgauge.io.store.catalog import find_card
from nlgauge.io.store.resolve import resolve
from nlgauge.io.tables import cut
from nlgauge.text.tokenizer import check_encodable
from nlgauge.text.windows import NO_LIMIT

#: Tokens of a batch; with a vocabulary of 50,000 their logits take 100 MB.
_BATCH_TOKENS = 512

#: Texts whose likelihood is cached.
_REMEMBERED = 200_000

#: The patched functions belong to all threads.
_gguf_lock = threading.Lock()

#: Language models kept for the next call; they are large.
_loaded: LoadedModels[LanguageModel] = LoadedModels(1)


class Likelihoods(NamedTuple):
    """Likelihoods of several texts."""

    log_likelihood: NDArray[np.float64]
    """Mean over each text's tokens, in nats."""
    tokens: NDArray[np.int64]
    """Number of tokens of each text."""


def twice_normalised(likelihoods: Likelihoods) -> NDArray[np.float64]:
    """The "perplexity" of XMoverScore's later code: exp(log-likelihood / T), in (0, 1]; 1 for an empty text."""
    value: NDArray[np.float64] = np.exp(likelihoods.log_likelihood / np.maximum(likelihoods.tokens, 1))
    return value


def load_language_model(
    model: str,
    *,
    precision: str = DEFAULT_PRECISION,
    threads: int | None = None,
    device: str = "auto",
    progress: bool = False,
) -> LanguageModel:
    """Load a causal language model by name (`smollm2`), folder, hub id or .gguf file.

    The last one stays in memory until `release_models()`; it is loaded again when its files have changed.
    """
    if check_precision(precision) not in TORCH_PRECISIONS:
        msg = (
            f"language models support {', '.join(TORCH_PRECISIONS)}, not {precision!r}; omit the precision, or the "
            "language model (lm=none)"
        )
        raise RecipeError(msg)
    options: dict[str, Any] = {"precision": precision, "threads": threads, "device": device, "progress": progress}
    key = (model, _state(model), precision, threads, device)
    return _loaded.get(key, lambda: LanguageModel(model, **options))


class LanguageModel:
    """A causal language model of the Hugging Face library, in float32, and on CUDA in half precision."""

    def __init__(self, model: str, *, precision: str, threads: int | None, device: str, progress: bool) -> None:
        self._torch = torch = require("torch", "torch")
        self._transformers = require("transformers", "torch")
        self._count = threads or default_threads()
        self._device = choose_device(torch, device, precision)
        self._precision = precision
        # A call changes torch's thread count and the cache, so calls are serialised.
        self._lock = threading.RLock()
        self._cache: OrderedDict[str, tuple[float, int]] = OrderedDict()
        single = _gguf_file(model, progress=progress)
        if single is not None:
            self.name, path = single
            self.digest = file_digest(path)
            with parse_gguf_once():
                self._tokenizer, self._network = self._load(path.parent, {"gguf_file": path.name})
        else:
            files = resolve(model, progress=progress)
            self.name = files.name
            refuse_adapter(files.path, model=files.name)
            self._tokenizer, self._network = self._load(files.path, {})
            # A converted tokenizer also depends on other files, so the digest is that of the result.
            converted = text_digest(self._tokenizer.to_str())
            tokenizer = files.tokenizer_digest if (files.path / "tokenizer.json").is_file() else converted
            self.digest = text_digest(f"{files.digest}\n{tokenizer}")
        self.limit = int(getattr(self._network.config, "max_position_embeddings", None) or NO_LIMIT)

    @property
    def engine(self) -> str:
        """Engine, version, precision and kind of device."""
        return engine_label(self._torch, self._device, self._precision)

    def score(self, texts: Sequence[str]) -> Likelihoods:
        """Mean log-likelihood and number of tokens of each text, with a cache."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._cache]
            likelihoods = {text: self._cache[text] for text in texts if text in self._cache}
            if new:
                likelihoods |= dict(zip(new, self._compute(new), strict=True))
            for text in texts:
                self._cache[text] = likelihoods[text]
                self._cache.move_to_end(text)
            while len(self._cache) > _REMEMBERED:
                self._cache.popitem(last=False)
        values = [likelihoods[text] for text in texts]
        return Likelihoods(np.array([v for v, _ in values], dtype=np.float64), np.array([n for _, n in values], int))

    def refuse_long(self, texts: Sequence[str]) -> None:
        """Raise TooLongError for a text over the limit, because likelihoods cannot be computed in windows."""
        for text, encoding in zip(texts, self._encodings(texts), strict=True):
            if len(encoding.ids) > self.limit:
                msg = (
                    f"language model {self.name!r} reads {self.limit} tokens and has no windows, but a hypothesis "
                    f"has {len(encoding.ids)} ({cut(text, 43)!r}); omit the model (lm=none), or truncate texts "
                    "(window=none, long='truncate')"
                )
                raise TooLongError(msg)

    def _compute(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        ids = self._ids(texts)
        result = [(0.0, len(text)) for text in ids]
        scored = [i for i, text in enumerate(ids) if len(text) > 1]
        for batch in equal_length_batches([len(ids[i]) for i in scored], budget=_BATCH_TOKENS):
            members = [scored[index] for index in batch]
            likelihood = self._run(np.array([ids[i] for i in members], dtype=np.int64))
            for i, tokens in zip(members, likelihood, strict=True):
                result[i] = (float(tokens.astype(np.float64).mean()), len(ids[i]))
        return result

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        ids = [encoding.ids for encoding in self._encodings(texts)]
        truncated = sum(len(text) > self.limit for text in ids)
        if truncated:
            msg = (
                f"{truncated} of {len(texts)} texts were truncated to {self.limit} tokens, the limit of {self.name!r}"
            )
            warnings.warn(msg, TruncationWarning, stacklevel=3)
        return [text[: self.limit] for text in ids]

    def _encodings(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        for number, text in enumerate(texts):
            check_encodable(text, f"text {number}")
        return self._tokenizer.encode_batch([text.strip() for text in texts], add_special_tokens=False)

    def _run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """ln p of each token except the first, for texts of one length."""
        torch = self._torch
        batch = to_device(torch, ids, self._device)
        with (
            self._lock,
            thread_count(torch, self._count),
            torch.inference_mode(),
            # The caller's autocast would change the precision, which is part of the signature.
            torch.autocast(self._device.type, enabled=False),
        ):
            logits = self._network(input_ids=batch, attention_mask=torch.ones_like(batch), use_cache=False).logits
            logits = logits[:, :-1].float()
            chosen = logits.gather(2, batch[:, 1:, None])[..., 0] - logits.logsumexp(dim=2)
            return to_host(torch, [chosen], self._device)[0]

    def _load(self, folder: Path, options: dict[str, str]) -> tuple[tokenizers.Tokenizer, Any]:
        transformers = self._transformers
        try:
            with quiet(transformers):
                tokenizer = self._read_tokenizer(folder, options)
                network, report = transformers.AutoModelForCausalLM.from_pretrained(
                    folder,
                    local_files_only=True,
                    output_loading_info=True,
                    **in_precision(self._torch, transformers, self._precision),
                    **options,
                )
        except Exception as error:  # readers of files can raise any exception
            msg = f"transformers cannot load language model {self.name!r}: {error}"
            raise ModelError(msg) from error
        if report["missing_keys"]:
            missing = ", ".join(sorted(report["missing_keys"])[:3])
            msg = f"{self.name!r} is not a causal language model: its weights lack {missing}"
            raise ModelError(msg)
        return tokenizer, network.eval().to(self._device)

    def _read_tokenizer(self, folder: Path, options: dict[str, str]) -> tokenizers.Tokenizer:
        """Read the model's tokenizer.json; without one, convert its tokenizer with transformers."""
        path = folder / "tokenizer.json"
        if path.is_file() and not options:
            backend = tokenizers.Tokenizer.from_file(str(path))
        else:
            converted = self._transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, **options)
            backend = tokenizers.Tokenizer.from_str(converted.backend_tokenizer.to_str())
        backend.no_padding()
        backend.no_truncation()
        return backend


def _gguf_file(model: str, *, progress: bool) -> tuple[str, Path] | None:
    """Name and path of a model that is one .gguf file; None for a folder.

    The same bytes have the same digest, by name or by path.
    """
    card = find_card(model)
    if not (model if card is None else card.weights).endswith(".gguf"):
        return None
    path = Path(model).expanduser()
    if card is None and not path.is_file():
        msg = f"no such language model file: {model!r}; give the path of a .gguf file"
        raise ModelNotFoundError(msg)
    for package in ("gguf", "accelerate"):  # transformers needs both; checked before a download
        require(package, "torch")
    if card is None:
        return path.name, path
    files = resolve(model, progress=progress)
    return files.name, files.path / card.weights


def _state(model: str) -> str:
    """A digest of a model's files if it is given by a path; others are checked when they are resolved."""
    path = Path(model).expanduser()
    if find_card(model) is not None or not path.exists():
        return ""
    return file_digest(path) if path.is_file() else resolve(str(path.absolute())).state


@contextmanager
def parse_gguf_once() -> Iterator[None]:
    """Parse a .gguf file only once inside the block; functions that a version does not have are not patched."""
    gguf = require("gguf", "torch")
    loader = require("transformers.modeling_gguf_pytorch_utils", "torch")
    patches: list[tuple[Any, str, Any]] = [
        (gguf, "GGUFReader", lru_cache(maxsize=1)),
        (gguf, "get_tensor_name_map", lru_cache(maxsize=1)),
        (loader, "tqdm", lambda _: lambda items, *_, **__: items),
    ]
    patches = [patch for patch in patches if hasattr(patch[0], patch[1])]
    with _gguf_lock:
        before = [(holder, name, getattr(holder, name)) for holder, name, _ in patches]
        try:
            for holder, name, replace in patches:
                setattr(holder, name, replace(getattr(holder, name)))
            yield
        finally:
            for holder, name, original in before:
                setattr(holder, name, original)
