"""Find the files of a model, given its name, a local folder or a hub id.

A model is identified by the digests of weights, tokenizer and configuration. The same weights with another number of
heads or another epsilon are another model. Which keys of `config.json` matter depends on the family and on the
engine, so every key counts except `HARMLESS_KEYS`; a key that is written out with its default value counts too. Order
and white space do not count.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nlgauge.errors import ModelError, ModelNotFoundError, RecipeError, closest_name, did_you_mean
from nlgauge.io.storage import file_digest, text_digest
from nlgauge.io.store.catalog import (
    CARDS,
    ModelCard,
    SourceError,
    card_of_digest,
    encoder_names,
    find_card,
    joined_digest,
)
from nlgauge.io.store.fetch import cached_card, fetch_card, is_offline, pull_advice, raise_if_extra_missing
from nlgauge.io.store.hub import (
    TOKENIZER_HINT,
    WEIGHTS_HINT,
    cached_snapshot,
    fetch_snapshot,
    file_names,
    tokenizer_files,
    weight_files,
)

#: Most characters of a path.
_LONGEST_PATH = 4096

_FOLDER_HINT = "a model folder contains config.json, the weights and the tokenizer"

#: Keys about the origin of a file, keys for training or generation only, and types (always float32 here).
HARMLESS_KEYS = frozenset(
    {
        "_commit_hash",
        "_name_or_path",
        "_num_labels",
        "architectures",
        "attention_probs_dropout_prob",
        "classifier_dropout",
        "dtype",
        "finetuning_task",
        "gradient_checkpointing",
        "hidden_dropout_prob",
        "id2label",
        "initializer_range",
        "label2id",
        "problem_type",
        "task_specific_params",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    }
)


def config_digest(config: Mapping[str, Any]) -> str:
    """sha256 of the keys that matter.

    >>> config_digest({"layer_norm_eps": 1e-12, "use_cache": True}) == config_digest({"layer_norm_eps": 1e-12})
    True
    """
    relevant = {key: value for key, value in config.items() if key not in HARMLESS_KEYS}
    return text_digest(json.dumps(relevant, sort_keys=True))


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder on this machine.

    `name` is the model's name in signatures: the card's name, the hub id, or the base name of a local folder, never a
    path. `card` is set for models with a card.
    """

    name: str
    path: Path
    card: ModelCard | None = None

    @cached_property
    def config(self) -> dict[str, Any]:
        """The parsed config.json."""
        path = self.path / "config.json"
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            msg = f"model {self.name!r} has no config.json: expected {path}; {_FOLDER_HINT}"
            raise ModelError(msg) from error
        except (OSError, ValueError) as error:
            msg = f"cannot read {path} of model {self.name!r} as JSON: {error}; download the model again"
            raise ModelError(msg) from error
        if not isinstance(config, dict):
            msg = f"{path} of model {self.name!r} must contain a JSON object, got {type(config).__name__}"
            raise ModelError(msg)
        return config

    @property
    def _one_file(self) -> bool:
        """Whether the model has no config.json, because its weights file contains everything."""
        return self.card is not None and "config.json" not in self.card.digests

    @cached_property
    def config_digest(self) -> str:
        """The digest of the keys of config.json that vectors depend on; empty for a model without config.json."""
        return "" if self._one_file else config_digest(self.config)

    @cached_property
    def digest(self) -> str:
        """The model's identity: the weights' digest if the card has this configuration, else a digest of both."""
        card = card_of_digest(self.weights_digest)
        has_card = self._one_file or (card is not None and card.config == self.config_digest)
        return self.weights_digest if has_card else text_digest(f"{self.weights_digest}\n{self.config_digest}")

    @cached_property
    def state(self) -> str:
        """A digest that changes with every file of a loaded model."""
        names = ("config.json", "tokenizer_config.json", "sentence_bert_config.json", "modules.json")
        others = [file_digest(self.path / name) for name in names if (self.path / name).is_file()]
        return text_digest("\n".join([str(self.path.resolve()), self.weights_digest, self.tokenizer_digest, *others]))

    @cached_property
    def weights_digest(self) -> str:
        """The sha256 of the weights file; for shards, of their sorted digests, one per line."""
        if self._one_file and self.card is not None:
            return file_digest(self.path / self.card.weights)
        names = weight_files(file_names(self.path))
        if not names:
            msg = f"model {self.name!r} has no weights in {self.path}: expected {WEIGHTS_HINT}"
            raise ModelError(msg)
        return joined_digest(file_digest(self.path / name) for name in names)

    @cached_property
    def tokenizer_digest(self) -> str:
        """The sha256 of tokenizer.json; without one, of the lines "name digest" of the vocabulary files."""
        if self._one_file and self.card is not None:
            return file_digest(self.path / self.card.tokenizer)
        names = tokenizer_files(file_names(self.path))
        if not names:
            msg = f"model {self.name!r} has no tokenizer in {self.path}: expected {TOKENIZER_HINT}"
            raise ModelError(msg)
        if names == ("tokenizer.json",):
            return file_digest(self.path / names[0])
        return text_digest("\n".join(f"{name} {file_digest(self.path / name)}" for name in names))


def resolve(
    model: str | os.PathLike[str], *, download: bool = True, progress: bool = False, pulling: bool = False
) -> ModelFiles:
    """Find a model by name, folder or hub id, and download it if need be.

    A model is, in this order, a name or alias (such as `minilm`), an existing folder, or an id of the Hugging Face
    hub. Names that start with `./`, `../`, `/` or `~` are always folders. Nothing is downloaded with `download=False`
    or if the environment variable NLGAUGE_OFFLINE is set. `pulling` leaves `nlgauge models pull` out of messages.

    Raises ModelNotFoundError with the command to run, or DigestError if a model with a card has changed.
    """
    if not isinstance(model, str):
        return _local(os.fspath(model))
    if not model.strip():
        msg = f"model must be a name, a folder or a hub id, got {model!r}; 'nlgauge models list' shows the names"
        raise RecipeError(msg)
    check_length(model)
    if _is_path(model):
        return _local(model)
    why_not = ", and NLGAUGE_OFFLINE forbids downloads" if is_offline() else None if download else ""
    needed = download and not pulling  # otherwise another model or folder does not help
    card = find_card(model)
    if card is not None:
        return _known(card, why_not=why_not, progress=progress, pulling=pulling, needed=needed)
    if Path(model).is_dir():
        return _local(model)
    return _from_hub(model, why_not=why_not, progress=progress, pulling=pulling, needed=needed)


def check_length(model: str) -> None:
    """Refuse a name that is too long for a path, before the file system does."""
    if len(model) > _LONGEST_PATH or any(len(part.encode("utf-8", "replace")) > 255 for part in Path(model).parts):
        msg = f"model must be a name, a folder or a hub id, got {len(model)} characters: {model[:40]!r}..."
        raise RecipeError(msg)


def _is_path(model: str) -> bool:
    starts = ("./", "../", "/", "~", ".\\", "..\\")
    return model in {".", ".."} or model.startswith(starts) or Path(model).is_absolute()


def _known(card: ModelCard, *, why_not: str | None, progress: bool, pulling: bool, needed: bool) -> ModelFiles:
    folder = fetch_card(card, progress=progress, pulling=pulling) if why_not is None else cached_card(card)
    if folder is None:
        raise_if_extra_missing(card)
        fix = pull_advice(card.name, pulling=pulling) + (f", or give {card.folder_hint}" if needed else "")
        msg = f"model {card.name!r} is not on this machine{why_not}. {fix}"
        raise ModelNotFoundError(msg)
    return ModelFiles(name=card.name, path=folder, card=card)


def _local(model: str) -> ModelFiles:
    # abspath also gives "." and "models/.." a base name; links keep their own names.
    folder = Path(os.path.abspath(Path(model).expanduser()))
    if not folder.is_dir():
        problem = "is a file, not a folder" if folder.exists() else "does not exist"
        msg = f"the model folder {model!r} {problem}; {_FOLDER_HINT}"
        raise ModelNotFoundError(msg)
    if not (folder / "config.json").is_file():
        msg = f"the model folder {model!r} has no config.json; {_FOLDER_HINT}"
        raise ModelNotFoundError(msg)
    return ModelFiles(name=folder.name, path=folder)


def _from_hub(model: str, *, why_not: str | None, progress: bool, pulling: bool, needed: bool) -> ModelFiles:
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model, flags=re.ASCII):
        hint = did_you_mean(model, CARDS, see="nlgauge models list")
        msg = f"unknown model {model!r}, not a name, a folder or a hub id such as 'owner/name'{hint}"
        raise ModelNotFoundError(msg)
    fix = pull_advice(model, pulling=pulling)
    if needed:
        fix += f", or use one of the offline models: {', '.join(encoder_names())}"
    if "/" not in model and closest_name(model, CARDS) and cached_snapshot(model) is None:
        # Almost all ids of the hub have an owner, so a name close to a known one is misspelt.
        msg = f"unknown model {model!r}{did_you_mean(model, CARDS, see='nlgauge models list')}"
        raise ModelNotFoundError(msg)
    if why_not is not None:
        folder = cached_snapshot(model)
        if folder is None:
            msg = f"model {model!r} is not on this machine{why_not}. {fix}"
            raise ModelNotFoundError(msg)
        return ModelFiles(name=model, path=folder)
    try:
        folder = fetch_snapshot(model, progress=progress)
    except SourceError as error:
        if "/" not in model:
            fix = f"Check the name, which is not in 'nlgauge models list'. If it is right: {fix[0].lower()}{fix[1:]}"
        msg = f"could not download model {model!r}: {error}. {fix}"
        raise ModelNotFoundError(msg) from error
    return ModelFiles(name=model, path=folder)
