"""Output files: one that cannot be written, or would replace an input, is refused before the work starts."""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from nlgauge.apps.cli.flags import flag_of
from nlgauge.core.kinds import FigureFile, InputFile, Many, OutputFile
from nlgauge.core.resources import Resource
from nlgauge.core.result import Result
from nlgauge.errors import InputError
from nlgauge.io.canvas import check_figure
from nlgauge.io.storage import write_atomic
from nlgauge.io.textfiles import parse_source

#: Suffixes of files that are not text, so that a table under such a name could not be opened.
_NOT_WRITTEN = frozenset(
    """.bmp .eps .gif .jpeg .jpg .pdf .png .ps .svg .tif .tiff .webp .doc .docx .odp .ods .odt .ppt .pptx .rtf .xls
    .xlsb .xlsm .xlsx .feather .h5 .parquet .pickle .pkl .sqlite .zip""".split()  # noqa: SIM905 - easier to read
)


class ClosedOutput(io.TextIOBase):
    """Stands for a standard output that the shell has closed (`>&-`)."""

    def write(self, _: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse a command whose result could not be written, or would replace one of its inputs."""
    if getattr(args, "output", None) == "-" and isinstance(sys.stdout, ClosedOutput):
        msg = "standard output is closed; name a file with -o FILE"
        raise InputError(msg)
    taken: dict[str, str] = {}
    for name, entry in getattr(args, "declared", {}).items():
        path = getattr(args, name)
        if not path or path == "-" or not isinstance(entry.kind, OutputFile):
            continue
        check_writable(path)
        if isinstance(entry.kind, FigureFile):
            check_figure(Path(path))
        if name == "output" and (suffix := Path(path).suffix.lower()) in _NOT_WRITTEN:
            msg = (
                f"cannot write {path!r}: results are text, not {suffix}; use a name such as result.txt or "
                "result.json (--format: json, tsv, latex or markdown); figures are written by --plot"
            )
            raise InputError(msg)
        if path.lower().endswith(".gz"):
            msg = f"cannot write {path!r}: results are not compressed; give a name without .gz"
            raise InputError(msg)
        flag = entry.flag or flag_of(name)
        known = taken.setdefault(os.path.realpath(path), flag)
        if known != flag and not _is_device(path):
            msg = f"{known} and {flag} both write {path!r}; give each a file of its own"
            raise InputError(msg)
        for source in _input_paths(args) if os.path.isfile(path) else ():
            if os.path.exists(source) and os.path.samefile(path, source):
                msg = f"{path!r} is an input of this command and would be replaced; write to another file"
                raise InputError(msg)


def _is_device(path: str) -> bool:
    """Such as /dev/null, which takes everything."""
    return os.path.exists(path) and not os.path.isfile(path)


def _input_paths(args: argparse.Namespace) -> list[str]:
    texts = list(getattr(args, "signature_options", {}).values())
    for name, entry in args.declared.items():
        kind = entry.kind
        while isinstance(kind, Many):
            kind = kind.kind
        if isinstance(kind, InputFile | Resource):
            texts += _flat(getattr(args, name))
    for recipe in getattr(args, "metric", None) or ():
        texts += recipe.split(":", 1)[-1].split(",")  # sentsim:bounds=FILE
    form = getattr(args, "input_format", None)
    paths: list[str] = []
    for spec in filter(None, texts):
        for text in (spec, spec.partition("=")[2]):  # LANG=FILE, option=FILE
            with contextlib.suppress(InputError, ValueError):  # whoever reads it says what is wrong with it
                source = parse_source(text, input_format=form if form in {"tsv", "csv", "jsonl"} else None)
                paths += [source.path] if source.path else []
    return paths


def _flat(value: object) -> Iterator[str]:
    """Texts of an argument: itself, a list, or a list of lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _flat(item)


def check_writable(path: str) -> None:
    """Refuse a file that could not be written, by the name that the user gave."""
    target = Path(path)
    if not target.name or target.is_dir():
        msg = f"cannot write {path!r}: that is a folder; give a file's name"
        raise InputError(msg)
    if target.exists() and not target.is_file():
        return  # a pipe or a device
    folder = target.resolve().parent
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        msg = f"cannot write {path!r}: the folder {str(target.parent)!r} {what}"
        raise InputError(msg)
    if not os.access(folder, os.W_OK | os.X_OK):
        msg = f"cannot write {path!r}: the folder {str(target.parent)!r} is read-only for you"
        raise InputError(msg)


def check_has_name(path: str, what: str) -> None:
    """Refuse `-` for what is no text."""
    if path == "-":
        msg = f"{what} is an .npz file, which does not go to standard output; give a file's name"
        raise InputError(msg)


@contextlib.contextmanager
def saving(path: str) -> Iterator[Path]:
    """Where the library writes a file of that name; an error names it, and not a temporary one."""
    try:
        yield Path(path)
    except OSError as error:
        msg = f"cannot write {path!r}: {error.strerror or error}"
        raise InputError(msg) from error


def write_output(path: str, text: str) -> None:
    """Write a result in one step, or to stdout for `-`."""
    if path == "-":
        sys.stdout.write(text)
        return
    check_writable(path)
    with saving(path) as target:
        write_atomic(target, text.encode("utf-8", "surrogateescape"))


def write_result(result: Result, args: argparse.Namespace) -> None:
    """Write a result as the command asks for it, and its figure; a signature that is not in it goes to stderr."""
    text = result.render(args.format, decimals=getattr(args, "width", None))
    write_output(getattr(args, "output", "-"), text)
    signature = getattr(result, "signature", None)
    shown = "".join(text.split())  # a long signature is wrapped
    if signature and args.format == "text" and str(signature) not in shown and not getattr(args, "quiet", False):
        print(f"signature: {signature}", file=sys.stderr)
    write_figure(getattr(args, "plot", None), result.save_figure)


def write_figure(path: str | None, save: Callable[[Path], None]) -> None:
    """Write a figure, where the command asks for one."""
    if path:
        with saving(path) as target:
            save(target)


def report(args: argparse.Namespace, text: str) -> int:
    """Say on stderr what was done, unless the command is quiet; the exit status is that of success."""
    if not args.quiet:
        print(text, file=sys.stderr)
    return 0
