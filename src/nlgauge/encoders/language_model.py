"""Likelihood of a text under a language model: the fluency term of XMoverScore (extra `nlgauge[torch]`).

For the tokens t_1 ... t_T of a text, without a token for its beginning (XMoverScore's code of 2020, D8.6):

    log-likelihood = 1/(T-1) * sum over i = 2 ... T of ln p(t_i | t_1 ... t_(i-1))        nats per token, at most 0

which is 0 for a text of one token or none, as published. The later code's "perplexity" is exp(log-likelihood / T),
normalised by length twice; `twice_normalised` computes it. Batches hold texts of one length, so there is no padding
that could affect a text.

Known by name: `smollm2`, SmolLM2-135M-Instruct quantised to 4 bits (English; extras `torch,gguf`), so that the term
is available without the hub. For tokenizer, configuration and weights, transformers parses the vocabulary of a .gguf
file anew, a string at a time, and it makes one table of names anew for every module of the network. Nothing of that
differs from one time to the next. Remembered while a model loads, SmolLM2-135M is loaded in 12 instead of 27 seconds
on one thread, with the same numbers (`parse_gguf_once`).
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

#: Tokens of a batch: a vocabulary of 50,000 makes 100 MB of logits of them.
_BATCH_TOKENS = 512

#: Texts whose likelihood is remembered.
_REMEMBERED = 200_000

#: What is replaced for a while belongs to all threads.
_gguf_lock = threading.Lock()

#: Language models kept for the next call; they are large.
_loaded: LoadedModels[LanguageModel] = LoadedModels(1)


class Likelihoods(NamedTuple):
    """One entry per text."""

    log_likelihood: NDArray[np.float64]
    """Mean over a text's tokens, in nats."""
    tokens: NDArray[np.int64]
    """Tokens that were read."""


def twice_normalised(likelihoods: Likelihoods) -> NDArray[np.float64]:
    """What XMoverScore's later code calls perplexity: exp(log-likelihood / T), in (0, 1]; 1 for an empty text."""
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
    """A causal language model by name (`smollm2`), folder, hub id or .gguf file.

    The last one stays in memory until `release_models()` lets it go; it is loaded again when its files have changed.
    """
    if check_precision(precision) not in TORCH_PRECISIONS:
        msg = (
            f"language models compute in {', '.join(TORCH_PRECISIONS)}, not in {precision!r}; leave the "
            "precision out, or the language model (lm=none)"
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
        # A call sets torch's thread count, and remembers what it found, so calls take turns.
        self._lock = threading.RLock()
        self._known: OrderedDict[str, tuple[float, int]] = OrderedDict()
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
            # What transformers makes of a vocabulary depends on other files too, so what it made is what counts.
            converted = text_digest(self._tokenizer.to_str())
            tokenizer = files.tokenizer_digest if (files.path / "tokenizer.json").is_file() else converted
            self.digest = text_digest(f"{files.digest}\n{tokenizer}")
        self.limit = int(getattr(self._network.config, "max_position_embeddings", None) or NO_LIMIT)

    @property
    def engine(self) -> str:
        """Engine, version, precision and kind of device."""
        return engine_label(self._torch, self._device, self._precision)

    def score(self, texts: Sequence[str]) -> Likelihoods:
        """Mean log-likelihood and number of tokens of each text; a text seen before is not computed again."""
        with self._lock:
            new = [text for text in dict.fromkeys(texts) if text not in self._known]
            likelihoods = {text: self._known[text] for text in texts if text in self._known}
            if new:
                likelihoods |= dict(zip(new, self._compute(new), strict=True))
            for text in texts:
                self._known[text] = likelihoods[text]
                self._known.move_to_end(text)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        values = [likelihoods[text] for text in texts]
        return Likelihoods(np.array([v for v, _ in values], dtype=np.float64), np.array([n for _, n in values], int))

    def refuse_long(self, texts: Sequence[str]) -> None:
        """An error for a text that would be cut: a likelihood depends on all tokens before it, and has no windows."""
        for text, encoding in zip(texts, self._encodings(texts), strict=True):
            if len(encoding.ids) > self.limit:
                msg = (
                    f"language model {self.name!r} reads {self.limit} tokens and has no windows, and a hypothesis "
                    f"has {len(encoding.ids)} ({cut(text, 43)!r}); leave the model out (lm=none), or let texts be "
                    "cut (window=none, long='truncate')"
                )
                raise TooLongError(msg)

    def _compute(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        ids = self._ids(texts)
        result = [(0.0, len(text)) for text in ids]
        full = [place for place, text in enumerate(ids) if len(text) > 1]
        for batch in equal_length_batches([len(ids[place]) for place in full], budget=_BATCH_TOKENS):
            members = [full[index] for index in batch]
            likelihood = self._run(np.array([ids[place] for place in members], dtype=np.int64))
            for place, tokens in zip(members, likelihood, strict=True):
                result[place] = (float(tokens.astype(np.float64).mean()), len(ids[place]))
        return result

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        read = [encoding.ids for encoding in self._encodings(texts)]
        cut = sum(len(ids) > self.limit for ids in read)
        if cut:
            msg = f"{cut} of {len(texts)} texts were truncated to the {self.limit} tokens that {self.name!r} reads"
            warnings.warn(msg, TruncationWarning, stacklevel=3)
        return [ids[: self.limit] for ids in read]

    def _encodings(self, texts: Sequence[str]) -> list[tokenizers.Encoding]:
        for number, text in enumerate(texts):
            check_encodable(text, f"text {number}")
        return self._tokenizer.encode_batch([text.strip() for text in texts], add_special_tokens=False)

    def _run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """ln p of each token but the first, for texts of one length."""
        torch = self._torch
        batch = to_device(torch, ids, self._device)
        with (
            self._lock,
            thread_count(torch, self._count),
            torch.inference_mode(),
            # The caller's autocast would make this another precision than the signature says.
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
        except Exception as error:  # whatever the reader of a file raises
            msg = f"transformers cannot load language model {self.name!r}: {error}"
            raise ModelError(msg) from error
        if report["missing_keys"]:
            lost = ", ".join(sorted(report["missing_keys"])[:3])
            msg = f"{self.name!r} is not a causal language model: its weights lack {lost}"
            raise ModelError(msg)
        return tokenizer, network.eval().to(self._device)

    def _read_tokenizer(self, folder: Path, options: dict[str, str]) -> tokenizers.Tokenizer:
        """The model's own file; what transformers makes of other ones, only where there is none."""
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
    """Name and file of a model that is one .gguf file; None for one that is a folder.

    The same bytes have the same digest, whether the model is known by name or by a path.
    """
    card = find_card(model)
    if not (model if card is None else card.weights).endswith(".gguf"):
        return None
    path = Path(model).expanduser()
    if card is None and not path.is_file():
        msg = f"the language model {model!r} does not exist; give the path of a .gguf file"
        raise ModelNotFoundError(msg)
    for package in ("gguf", "accelerate"):  # transformers reads the file with them; refused before a download
        require(package, "torch")
    if card is None:
        return path.name, path
    files = resolve(model, progress=progress)
    return files.name, files.path / card.weights


def _state(model: str) -> str:
    """What changes with the files of a model that is named by its path; others are checked when they are resolved."""
    path = Path(model).expanduser()
    if find_card(model) is not None or not path.exists():
        return ""
    return file_digest(path) if path.is_file() else resolve(str(path.absolute())).state


@contextmanager
def parse_gguf_once() -> Iterator[None]:
    """While this lasts, a .gguf file is parsed once; what a version of the packages does not have is left alone."""
    gguf = require("gguf", "torch")
    loader = require("transformers.modeling_gguf_pytorch_utils", "torch")
    places: list[tuple[Any, str, Any]] = [
        (gguf, "GGUFReader", lru_cache(maxsize=1)),
        (gguf, "get_tensor_name_map", lru_cache(maxsize=1)),
        (loader, "tqdm", lambda _: lambda items, *_, **__: items),
    ]
    places = [place for place in places if hasattr(place[0], place[1])]
    with _gguf_lock:
        before = [(holder, name, getattr(holder, name)) for holder, name, _ in places]
        try:
            for holder, name, replace in places:
                setattr(holder, name, replace(getattr(holder, name)))
            yield
        finally:
            for holder, name, original in before:
                setattr(holder, name, original)
