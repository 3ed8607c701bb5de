"""Inputs and outputs of joint alignment: options, parallel texts in batches, and the folder of the model.

The objective is published (D9.2); optimiser, rate and batch are not, because the appendix is missing (D9.8): the
defaults are ours. Links come from a word aligner, or from mutual nearest neighbours under the untrained model. A
word's vector is the average of its pieces (`word_spaces.py`).

    FOLDER/                            config.json, weights, tokenizer: read by `model=FOLDER`
    FOLDER/joint-align.json            training data and report
    FOLDER/checkpoints/step-0000500/   the same layout, and training.pt: optimiser and position in the training

A checkpoint is written under a temporary name and then renamed, so every checkpoint is complete; the previous one is
then removed.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.core.kinds import Choice, Float, Int
from nlgauge.core.options import OptionSet, option, seed_option
from nlgauge.core.result import Document
from nlgauge.encoders.base import Encoder
from nlgauge.encoders.engines.torch_engine import quiet
from nlgauge.errors import InputError
from nlgauge.io.storage import write_atomic
from nlgauge.io.store.hub import file_names, tokenizer_files
from nlgauge.io.store.resolve import ModelFiles
from nlgauge.studies.alignment.word_aligner import Links
from nlgauge.studies.alignment.word_spaces import (
    AlignmentInputs,
    fits,
    linked_texts,
    white_space_words,
)
from nlgauge.text.tokenizer import Tokens

HELD = ("target", "source", "both")


@dataclass(frozen=True, kw_only=True)
class JointOptions(OptionSet):
    """Weights and lengths of a training."""

    called: ClassVar[str] = "options of a training"

    layer: int | None = option(
        None, Int(0), help="layer whose vectors are aligned", unset="the last, as in the paper"
    )
    epochs: int = option(3, Int(1), help="number of epochs over the pairs of texts")
    batch: int = option(8, Int(1), help="pairs of texts per step")
    learning_rate: float = option(5e-5, Float(0), help="learning rate after the warm-up")
    warm_up: int = option(100, Int(0), help="steps of linear learning rate warm-up; the rate is constant afterwards")
    # Equation 2: the pivot as in Cao et al., or literally the other side (D9.2).
    hold: str = option("target", Choice(*HELD), help="side whose word vectors are kept close to the original ones")
    # With 0 nothing prevents all words from collapsing to one vector.
    hold_weight: float = option(1.0, Float(0), help="weight of that term")
    save_every: int = option(
        500, Int(1), help="steps between checkpoints; there is also one at the end of each epoch"
    )
    seed: int = seed_option(0)

    def rate(self, step: int) -> float:
        """Learning rate of a step, from 1.

        >>> [JointOptions(learning_rate=1.0, warm_up=4).rate(step) for step in (1, 4, 9)]
        [0.25, 1.0, 1.0]
        """
        return self.learning_rate * min(1.0, step / self.warm_up) if self.warm_up else self.learning_rate


class JointEpoch(NamedTuple):
    """Training curve after an epoch; epoch 0 is the original model."""

    epoch: int
    loss: float
    """Squared distance of linked words per link (Eq. 1); NaN at epoch 0."""
    drift: float
    """Squared distance of the held side's words from the original ones per word (Eq. 2); NaN at epoch 0."""
    linked: float
    """Mean cosine of translated words in held-out pairs of texts."""
    unlinked: float
    """Mean cosine of words of a text and its translation that are not translations."""
    found: float
    """Share of linked words whose nearest word in the translation is the linked one."""


@dataclass(frozen=True)
class JointReport(Document):
    """Training data and training curve of a model."""

    format = "nlgauge-joint-align-1"
    unwritten: ClassVar[tuple[str, ...]] = ("folder", "weights_digest")

    model: str
    model_weights: str
    options: JointOptions
    inputs: str
    """A digest of the model, the texts and the options."""
    pairs: int
    """Number of pairs of texts with a link, including held-out ones."""
    links: int
    left_out: int
    """Pairs of texts without a link, empty, too long, or whose words the tokenizer does not separate."""
    ended: str
    """Why training ended: epochs or diverged; after divergence the result is the last checkpoint."""
    epochs: tuple[JointEpoch, ...]
    folder: Path = Path()
    """Folder of the trained model in Hugging Face's layout, for `model=FOLDER`; it contains this file."""
    weights_digest: str = ""


#: Number of batches in which texts are sorted by length: less padding, but a new order in each epoch.
_SORTED_TOGETHER = 32


@dataclass(frozen=True)
class Bitext:
    """Texts of a language and their line-by-line translations in the pivot language."""

    source: Sequence[str]
    target: Sequence[str]
    """Texts of the pivot, usually English; the other languages are moved towards it."""
    links: Sequence[Links] | None = None
    """Links between words split at white space; None: mutual nearest neighbours."""
    name: str = "alignments"
    """Name of the links in messages."""


class Side(NamedTuple):
    """Tokens of a text and the word of each token (-1 for special tokens)."""

    ids: NDArray[np.int64]
    words: NDArray[np.int64]

    @property
    def size(self) -> int:
        """Number of words."""
        return int(self.words.max()) + 1


class LinkedPair(NamedTuple):
    """A text, its translation, and the links between their words."""

    source: Side
    target: Side
    links: NDArray[np.int64]
    """A row per link: source word, target word."""


def linked_pairs(
    encoder: Encoder,
    bitexts: Sequence[Bitext],
    *,
    layer: int,
    advance: Callable[[int], None] | None = None,
) -> tuple[list[LinkedPair], int]:
    """Find all pairs of texts with a link; also return the number of dropped pairs."""
    pairs: list[LinkedPair] = []
    for bitext in bitexts:
        _check(bitext)
        inputs = AlignmentInputs(
            *(encoder, bitext.source, bitext.target, layer),
            nearest=True,
            alignments=bitext.links,
            alignments_name=bitext.name,
            advance=advance,
        )
        inputs.check_links()
        links = bitext.links
        if links is None:
            nearest = {n: own for n, own, *_ in linked_texts(inputs)}
            links = [nearest.get(n, ()) for n in range(len(bitext.source))]
        tokens = [encoder.tokenizer.encode(list(texts)) for texts in (bitext.source, bitext.target)]
        for number, (own, left, right) in enumerate(zip(links, *tokens, strict=True)):
            if not (own and fits(left) and fits(right)):
                continue
            texts = bitext.source[number], bitext.target[number]
            by_blanks = bitext.links is not None
            sides = [_side(encoder, text, read, by_blanks) for text, read in zip(texts, (left, right), strict=True)]
            if sides[0] is not None and sides[1] is not None:
                pairs.append(LinkedPair(sides[0], sides[1], np.array(own, dtype=np.int64)))
    return pairs, sum(len(bitext.source) for bitext in bitexts) - len(pairs)


def _check(bitext: Bitext) -> None:
    if len(bitext.source) != len(bitext.target):
        msg = f"parallel texts need the same number of lines, got {len(bitext.source)} and {len(bitext.target)}"
        raise InputError(msg)
    if list(bitext.source) == list(bitext.target):
        msg = "nothing to align: both sides are the same text; provide translations"
        raise InputError(msg)


def _side(encoder: Encoder, text: str, tokens: Tokens, by_blanks: bool) -> Side | None:
    if by_blanks:
        words = white_space_words(encoder.tokenizer, text, tokens)
        if words is None:
            return None
        tokens = replace(tokens, words=words)
    inside = ~tokens.is_special
    numbers = np.cumsum(tokens.starts_word & inside) - 1
    return Side(tokens.ids.astype(np.int64), np.where(inside, numbers, -1).astype(np.int64))


def batches_of_epoch(lengths: Sequence[int], *, batch: int, seed: int, epoch: int) -> list[NDArray[np.intp]]:
    """Batches of an epoch: all pairs once, in an order by seed and epoch, with pairs of similar length together.

    >>> steps = batches_of_epoch([3, 9, 3, 9, 3], batch=2, seed=0, epoch=1)
    >>> sorted(map(len, steps)), sorted(int(pair) for step in steps for pair in step)
    ([1, 2, 2], [0, 1, 2, 3, 4])
    """
    chance = np.random.default_rng([seed, epoch])
    order, sizes = chance.permutation(len(lengths)), np.asarray(lengths)
    parts: list[NDArray[np.intp]] = []
    for start in range(0, len(order), batch * _SORTED_TOGETHER):
        block = order[start : start + batch * _SORTED_TOGETHER]
        block = block[np.argsort(sizes[block], kind="stable")]
        parts += [block[index : index + batch] for index in range(0, len(block), batch)]
    return [parts[index] for index in chance.permutation(len(parts))]


def pairs_digest(pairs: Sequence[LinkedPair]) -> str:
    """Digest of the tokenised texts and their links."""
    hashed = hashlib.sha256()
    for pair in pairs:
        for array in (*pair.source, *pair.target, pair.links):
            hashed.update(str(array.shape).encode())
            hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


REPORT = "joint-align.json"
_STATE = "training.pt"

#: Files of a tokenizer in addition to the vocabulary.
_BESIDE = frozenset(
    {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json", "vocab.txt"}
)


class JointFolder:
    """Output folder of a training; `files` is the original model."""

    def __init__(self, path: Path, files: ModelFiles) -> None:
        self.path, self._files = path, files
        if path.resolve() == files.path.resolve():
            msg = f"{str(path)!r} is the folder of the original model; choose another output folder"
            raise InputError(msg)
        if (path / "config.json").exists() and not (path / REPORT).exists():
            msg = f"{str(path)!r} contains another model; choose another output folder"
            raise InputError(msg)
        existing = next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            what = "is not a folder" if not existing.is_dir() else "is read-only for you"
            msg = f"cannot write to the folder {str(path)!r}: {str(existing)!r} {what}"
            raise InputError(msg)

    def open(self) -> None:
        """Create the folder; permissions were checked when this object was created."""
        try:
            self._checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"cannot write to the folder {str(self.path)!r}: {error.strerror or error}"
            raise InputError(msg) from error

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def latest(self) -> Path | None:
        """Find the checkpoint with the most steps."""
        complete = [path for path in self._checkpoints.iterdir() if re.fullmatch(r"step-\d{7,}", path.name)]
        return max(complete, key=lambda path: int(path.name.removeprefix("step-")), default=None)

    def save_checkpoint(self, torch: Any, transformers: Any, network: Any, state: dict[str, Any], step: int) -> None:
        """Save the state that the next step depends on."""
        final = self._checkpoints / f"step-{step:07d}"
        part = self._written(transformers, network, self._checkpoints / f".{final.name}.part")
        buffer = io.BytesIO()
        torch.save(state, buffer)
        (part / _STATE).write_bytes(buffer.getvalue())
        shutil.rmtree(final, ignore_errors=True)
        part.rename(final)
        for other in self._checkpoints.iterdir():
            if other != final:
                shutil.rmtree(other, ignore_errors=True)

    def read_state(self, torch: Any, checkpoint: Path, inputs: str) -> dict[str, Any]:
        """Read the state of a checkpoint with the same texts and options."""
        try:
            state: dict[str, Any] = torch.load(checkpoint / _STATE, weights_only=True)
            saved = str(state["inputs"])
        except Exception as error:  # pickle and zipfile raise many classes for other kinds of files
            msg = f"cannot read checkpoint {str(checkpoint)!r}: {error!r}; remove it, or choose another folder"
            raise InputError(msg) from error
        if saved != inputs:
            msg = (
                f"{str(self.path)!r} has a checkpoint of a training with another model, other texts or options; "
                "choose another folder, or remove it"
            )
            raise InputError(msg)
        return state

    def save_model(self, transformers: Any, network: Any, report: JointReport) -> None:
        """Write the result; the report comes last and marks the folder as complete."""
        part = self._written(transformers, network, self.path / ".model.part")
        for file in part.iterdir():
            os.replace(file, self.path / file.name)
        part.rmdir()
        write_atomic(self.path / REPORT, (json.dumps(report.to_document(), indent=2) + "\n").encode())

    def _written(self, transformers: Any, network: Any, part: Path) -> Path:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        with quiet(transformers):
            network.save_pretrained(part)
        names = file_names(self._files.path)
        for name in {*tokenizer_files(names), *_BESIDE.intersection(names)}:
            shutil.copyfile(self._files.path / name, part / name)
        return part
