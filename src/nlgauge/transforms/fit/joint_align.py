"""JOINT-ALIGN: an encoder trained until words of parallel texts that translate each other lie together. Needs torch.

Where a re-mapping moves vectors that are made, this changes the model that makes them, for all languages at once. The
objective is in `joint_loss.py`. Same seed, same bytes on one machine with the same number of threads; a training that
was stopped goes on from its last checkpoint to the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlgauge.encoders import load_encoder
from nlgauge.encoders.engines.torch_support import thread_count
from nlgauge.encoders.load import default_threads
from nlgauge.errors import InputError, UnsupportedModelError
from nlgauge.models.resolve import resolve
from nlgauge.transforms.fit.flow_arithmetic import load_torch
from nlgauge.transforms.fit.from_texts import check_layer
from nlgauge.transforms.fit.joint_folder import JointFolder
from nlgauge.transforms.fit.joint_options import JointAligned, JointOptions
from nlgauge.transforms.fit.joint_texts import Bitext, linked_pairs
from nlgauge.transforms.fit.joint_training import JointTraining

__all__ = ["FEWEST_PAIRS", "train_joint_alignment"]

#: Fewest pairs of texts with a link; print has 100,000.
FEWEST_PAIRS = 20


def train_joint_alignment(
    model: str,
    bitexts: Sequence[Bitext],
    folder: Path,
    *,
    options: JointOptions | None = None,
    threads: int | None = None,
    device: str = "auto",
    reading: Callable[[int], None] | None = None,
    advance: Callable[[int], None] | None = None,
    start: Callable[[int], None] | None = None,
) -> JointAligned:
    """Train on parallel texts, all of them together, and write the model to a folder.

    A folder with a checkpoint of the same training goes on from there. Without links, words are linked that are
    mutual nearest neighbours under the model as it is; `reading` is told how many pairs of texts are read for that,
    `start` how many steps there will be, and `advance` how many are done.
    """
    chosen = options or JointOptions()
    torch = load_torch()
    encoder = _loaded(model, threads, device)
    files = resolve(model)
    place = JointFolder(Path(folder), files)  # a folder that cannot be written is said before all texts are read
    chosen = replace(chosen, layer=check_layer(encoder, encoder.layers if chosen.layer is None else chosen.layer))
    pairs, left_out = linked_pairs(encoder, bitexts, layer=int(chosen.layer or 0), advance=reading)
    if len(pairs) < FEWEST_PAIRS:
        msg = (
            f"{len(pairs)} pairs of texts have a link between words ({left_out} were left out), too few to train on; "
            f"give at least {FEWEST_PAIRS} that translate each other line by line"
        )
        raise InputError(msg)
    with thread_count(torch, threads or default_threads()):
        training = JointTraining(torch, encoder, files, pairs, chosen, place)
        if start is not None:
            start(training.steps * chosen.epochs)
        ended = training.run(advance or (lambda _: None))
        return training.finish(left_out, ended)


def _loaded(model: str, threads: int | None, device: str) -> Any:
    encoder = load_encoder(model, engine="torch", threads=threads, device=device)
    if not hasattr(encoder, "network"):
        msg = f"model {model!r} brings its own engine and cannot be trained; give an encoder of Hugging Face"
        raise UnsupportedModelError(msg)
    return encoder
