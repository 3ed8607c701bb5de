"""Model folders from the Hugging Face hub, through the hub's own cache, and the roles of their files.

`huggingface_hub` is a dependency of `tokenizers`; it is imported only for models that are not found elsewhere.
Weights and tokenizer are chosen in the order of preference of the `transformers` library, so the digest in a
signature is that of the file that an engine reads.
"""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nlgauge.io.packages import import_silenced
from nlgauge.io.progress import log
from nlgauge.io.store.catalog import SourceError

WEIGHTS_HINT = "model.safetensors or pytorch_model.bin, whole or as all of its shards, or model.onnx"
TOKENIZER_HINT = "tokenizer.json, or a vocabulary such as vocab.txt, vocab.json or tokenizer.model"

# Vocabularies of tokenizers without a tokenizer.json: WordPiece, byte-level BPE, SentencePiece.
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


# Timeouts of the first request to the hub: per address and read, and in total. The second limit is needed because a
# host name can have a dozen addresses, each with its own timeout, and the look-up of the name has none.
_ANSWER_SECONDS = 5.0
_DEADLINE_SECONDS = 10.0

#: Errors of HTTP libraries where a machine has no network.
_NO_NETWORK = frozenset({"ConnectError", "ConnectTimeout", "ConnectionError", "LocalEntryNotFoundError"})

#: The reason of these errors.
NO_NETWORK = "no network"

_SMALL_FILES = (".json", ".txt", ".model")

#: The folder of exports on the hub.
_ONNX_FOLDER = "onnx"


def cached_snapshot(hub_id: str, *, names: Collection[str] | None = None) -> Path | None:
    """The hub's copy on this machine if it is complete, without network access.

    Complete means: all of `names`, or without them a config.json, the weights and a tokenizer.
    """
    try:
        # Only config.json is requested: the hub's own check would require all files of the repository.
        snapshot = _hub().snapshot_download(hub_id, local_files_only=True, allow_patterns=["config.json"])
    except (SourceError, OSError, ValueError):
        return None
    folder = Path(snapshot)
    return None if _lacks(folder, names) else folder


def fetch_snapshot(hub_id: str, *, names: Collection[str] | None = None, progress: bool = False) -> Path:
    """Download a model from the hub, or use the cached copy. Raises SourceError with the reason."""
    cached = cached_snapshot(hub_id, names=names)
    if cached is not None:
        return cached
    listed = _list_files(hub_id)
    small, weights = _choose(listed, names)
    with _quiet(progress):
        try:
            # The weights come last, so after an interrupted download a folder with weights has the small files too.
            for patterns in (small, [*small, *weights]):
                snapshot = _hub().snapshot_download(hub_id, allow_patterns=patterns, etag_timeout=_ANSWER_SECONDS)
        except Exception as error:
            # The class depends on the versions of huggingface_hub and of its HTTP library.
            raise SourceError(_reason(error)) from error
    folder = Path(snapshot)
    lacking = _lacks(folder, names)
    if lacking:
        msg = f"the repository on the hub has no {lacking}"
        raise SourceError(msg)
    return folder


def _hub() -> Any:
    try:
        return import_silenced("huggingface_hub")
    except ImportError as error:
        msg = "the package huggingface-hub is not installed"
        raise SourceError(msg) from error


def _choose(listed: Collection[str], names: Collection[str] | None) -> tuple[list[str], list[str]]:
    """The files of a repository to download: small files, and weights."""
    top = [name for name in listed if "/" not in name or name.startswith(f"{_ONNX_FOLDER}/")]
    weights = list(weight_files(top))
    if names is not None:
        return [name for name in names if name not in weights], weights
    if not weights:
        msg = f"the repository on the hub has no weights ({WEIGHTS_HINT})"
        raise SourceError(msg)
    small = [name for name in top if "/" not in name and name.endswith(_SMALL_FILES)]
    return [*small, "1_Pooling/config.json"], weights


def _lacks(folder: Path, names: Collection[str] | None) -> str | None:
    """The missing files of a snapshot, for messages; None if it is complete."""
    if names is not None:
        missing = [name for name in names if not (folder / name).is_file()]
        return ", ".join(missing) or None
    files = file_names(folder)
    if "config.json" not in files:
        return "config.json"
    if not weight_files(files):
        return f"weights ({WEIGHTS_HINT})"
    if not tokenizer_files(files):
        return f"tokenizer ({TOKENIZER_HINT})"
    return None


def _list_files(hub_id: str) -> list[str]:
    """Names of a repository's files; without a network it raises SourceError within seconds."""
    hub = _hub()
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(hub.model_info(hub_id, timeout=_ANSWER_SECONDS))
        except Exception as error:  # handed to the caller's thread
            answers.put(error)

    # A daemon thread: a request without an answer does not keep the program from ending.
    threading.Thread(target=ask, name="nlgauge-hub", daemon=True).start()
    try:
        answer = answers.get(timeout=_DEADLINE_SECONDS)
    except queue.Empty:
        msg = f"the Hugging Face hub did not answer within {_DEADLINE_SECONDS:.0f} seconds"
        raise SourceError(msg) from None
    if isinstance(answer, Exception):
        raise SourceError(_reason(answer)) from answer
    return [sibling.rfilename for sibling in answer.siblings or ()]


def _reason(error: Exception) -> str:
    kind = type(error).__name__
    if kind == "GatedRepoError":
        return "the model is gated: accept its terms on the hub and set HF_TOKEN"
    if kind == "RepositoryNotFoundError":
        return "the Hugging Face hub has no model of that name, or it is private (then set HF_TOKEN)"
    lines = str(error).strip().splitlines()
    reason = f"{kind}: {lines[0]}" if lines else kind
    if kind in _NO_NETWORK:
        log.info("the Hugging Face hub cannot be reached: %s", reason)
        return NO_NETWORK
    return f"the Hugging Face hub failed: {reason}"


@contextmanager
def _quiet(progress: bool) -> Iterator[None]:
    """Switch off the hub's progress bars inside the block, unless `progress` is set."""
    utils = _hub().utils
    if progress or utils.are_progress_bars_disabled():
        yield
        return
    utils.disable_progress_bars()
    try:
        yield
    finally:
        utils.enable_progress_bars()


def file_names(folder: Path) -> list[str]:
    """Names of the files directly in a folder and in its folder `onnx`, without broken links."""
    exports = folder / _ONNX_FOLDER
    paths = [*folder.iterdir(), *(exports.iterdir() if exports.is_dir() else ())]
    return sorted([path.relative_to(folder).as_posix() for path in paths if path.is_file()])


def weight_files(names: Iterable[str]) -> tuple[str, ...]:
    """The files of the weights; empty if there are none or a shard is missing.

    >>> weight_files(["pytorch_model.bin", "model.safetensors", "config.json"])
    ('model.safetensors',)
    >>> weight_files(["model-00001-of-00002.safetensors"])
    ()
    >>> weight_files(["model.onnx", "model.onnx.data", "other.onnx"])
    ('model.onnx', 'model.onnx.data')
    """
    files = set(names)
    for stem, suffix in (("model", "safetensors"), ("pytorch_model", "bin")):
        whole = f"{stem}.{suffix}"
        if whole in files:
            return (whole,)
        shards = _shards(files, stem=stem, suffix=suffix)
        if shards:
            return shards
    return _onnx_files(files)


def _onnx_files(files: set[str]) -> tuple[str, ...]:
    """An ONNX file and its files of external data; empty if several files could be the model."""
    alone = [name for name in files if name.endswith(".onnx") and "/" not in name]
    named = [name for name in ("model.onnx", f"{_ONNX_FOLDER}/model.onnx") if name in files]
    if not named and len(alone) != 1:
        return ()
    chosen = named[0] if named else alone[0]
    data = re.compile(rf"{re.escape(chosen)}[._]data(_\d+)?")
    return (chosen, *sorted(name for name in files if data.fullmatch(name)))


def tokenizer_files(names: Iterable[str]) -> tuple[str, ...]:
    """The files that define the tokenizer, sorted; empty if there are none.

    >>> tokenizer_files(["vocab.txt", "tokenizer.json"])
    ('tokenizer.json',)
    """
    files = set(names)
    if "tokenizer.json" in files:
        return ("tokenizer.json",)
    return tuple(sorted(files & _VOCABULARIES))


def _shards(files: set[str], *, stem: str, suffix: str) -> tuple[str, ...]:
    pattern = re.compile(rf"{stem}-(\d{{5}})-of-(\d{{5}})\.{suffix}")
    totals = {int(match[2]) for name in files if (match := pattern.fullmatch(name))}
    for total in sorted(totals):
        names = tuple(f"{stem}-{n:05d}-of-{total:05d}.{suffix}" for n in range(1, total + 1))
        if files.issuperset(names):
            return names
    return ()
