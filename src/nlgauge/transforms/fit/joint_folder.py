"""The folder of a joint alignment: the model in the layout of Hugging Face, and checkpoints to go on from.

    FOLDER/                            config.json, weights, tokenizer: what `model=FOLDER` reads
    FOLDER/joint-align.json            what it was trained on, and how it went
    FOLDER/checkpoints/step-0000500/   the same layout, and training.pt: the optimiser and where the training stood

A checkpoint is written beside the others and then renamed, so that one that is there is whole; the one before goes
once the next is there.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from nlgauge.encoders.engines.torch_support import quiet
from nlgauge.errors import InputError
from nlgauge.files.atomic import write_atomic
from nlgauge.models.layout import file_names, tokenizer_files
from nlgauge.models.resolve import ModelFiles

__all__ = ["REPORT", "JointFolder"]

REPORT = "joint-align.json"
_STATE = "training.pt"

#: Beside the vocabulary, what a tokenizer's folder may hold.
_BESIDE = frozenset(
    {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "tokenizer.json", "vocab.txt"}
)


class JointFolder:
    """Where a training writes; `files` is the model that it started from."""

    def __init__(self, path: Path, files: ModelFiles) -> None:
        self.path, self._files = path, files
        if path.resolve() == files.path.resolve():
            msg = f"{str(path)!r} is the folder of the model itself, which would be replaced; give another one"
            raise InputError(msg)
        if (path / "config.json").exists() and not (path / REPORT).exists():
            msg = f"{str(path)!r} holds another model, which would be replaced; give another folder"
            raise InputError(msg)
        there = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            what = "is not a folder" if not there.is_dir() else "is read-only for you"
            msg = f"cannot write to the folder {str(path)!r}: {str(there)!r} {what}"
            raise InputError(msg)

    def open(self) -> None:
        """Make it; whether it can be made was looked at when this object was."""
        try:
            self._checkpoints.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"cannot write to the folder {str(self.path)!r}: {error.strerror or error}"
            raise InputError(msg) from error

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    def latest(self) -> Path | None:
        """The checkpoint with the most steps."""
        whole = [one for one in self._checkpoints.iterdir() if re.fullmatch(r"step-\d{7,}", one.name)]
        return max(whole, key=lambda one: int(one.name.removeprefix("step-")), default=None)

    def save_checkpoint(self, torch: Any, transformers: Any, network: Any, state: dict[str, Any], step: int) -> None:
        """Keep all that the next step depends on."""
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
        """Where a checkpoint's training stood, if it is one of these texts and options."""
        try:
            state: dict[str, Any] = torch.load(checkpoint / _STATE, weights_only=True)
            found = str(state["inputs"])
        except Exception as error:  # pickle and zipfile raise a dozen classes for another kind of file
            msg = f"checkpoint {str(checkpoint)!r} cannot be read: {error!r}; remove it, or give another folder"
            raise InputError(msg) from error
        if found != inputs:
            msg = (
                f"{str(self.path)!r} has a checkpoint of a training with another model, texts or options; "
                "give another folder, or remove it"
            )
            raise InputError(msg)
        return state

    def save_model(self, transformers: Any, network: Any, report: dict[str, Any]) -> None:
        """The result; its report comes last, and says that all is there."""
        part = self._written(transformers, network, self.path / ".model.part")
        for file in part.iterdir():
            os.replace(file, self.path / file.name)
        part.rmdir()
        write_atomic(self.path / REPORT, (json.dumps(report, indent=2) + "\n").encode())

    def _written(self, transformers: Any, network: Any, part: Path) -> Path:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        with quiet(transformers):
            network.save_pretrained(part)
        names = file_names(self._files.path)
        for name in {*tokenizer_files(names), *_BESIDE.intersection(names)}:
            shutil.copyfile(self._files.path / name, part / name)
        return part
