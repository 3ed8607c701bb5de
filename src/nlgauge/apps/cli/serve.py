"""`nlgauge serve`: the service over HTTP."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from nlgauge.apps.cli.flags import Command, Flags, given_options, read_options
from nlgauge.apps.service.settings import Limits, ServeOptions, Settings
from nlgauge.core.kinds import InputFile
from nlgauge.core.options import OptionSet, option
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.packages import require

#: Settings of the network.
_NETWORK = ("host", "port", "host_names", "insecure", "allow_origins", "trust_proxy", "root_path")


@dataclass(frozen=True, kw_only=True)
class KeyOptions(OptionSet):
    """API keys."""

    key_file: str | None = option(
        None, InputFile(), help="file of API keys, one per line, in addition to $NLGAUGE_API_KEY"
    )


def _run(args: argparse.Namespace) -> int:
    if args.folder and Path(args.folder).expanduser().is_file():
        msg = f"--data {args.folder!r} is a file; name a folder for the jobs of the service"
        raise InputError(msg)
    if args.folder and not (parent := Path(args.folder).expanduser().absolute().parent).is_dir():
        msg = f"--data {args.folder!r}: the folder {str(parent)!r} does not exist; create it first"
        raise InputError(msg)
    for model in args.preload if args.models and "preload" in args.given else ():
        if model and model not in args.models:
            models = " ".join([*args.models, model])
            msg = f"--preload: model {model!r} is not offered; add it to the offered ones: --models {models}"
            raise RecipeError(msg)
    settings = Settings(
        **given_options(args, ServeOptions), keys=_keys(args.key_file), limits=read_options(args, Limits)
    )
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, "service")
    from nlgauge.apps.service.server import serve

    serve(settings, on_start=lambda address: print(f"nlgauge serves at {address}", file=sys.stderr, flush=True))
    return 0


def _keys(path: str | None) -> tuple[str, ...]:
    """Read the keys from the environment and a file, not from the command line, which other users can see."""
    keys = []
    if (key := os.environ.get("NLGAUGE_API_KEY")) is not None:
        if not key.strip():
            msg = "NLGAUGE_API_KEY is set but empty: set it to the key, or unset it to serve without one"
            raise RecipeError(msg)
        keys.append(key)
    if path is not None:
        try:
            in_file = Path(path).read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            msg = f"the key file {path!r} cannot be read: {getattr(error, 'strerror', None) or error}"
            raise InputError(msg) from error
        if not in_file:
            msg = f"the key file {path!r} is empty; write one key per line, or leave out --key-file"
            raise InputError(msg)
        keys += in_file
    return tuple(keys)


COMMANDS = {
    "serve": Command(
        run=_run,
        flags=(
            Flags(ServeOptions, "network", only=_NETWORK),
            Flags(KeyOptions, "network"),
            Flags(ServeOptions, "service", without=(*_NETWORK, "batch_tokens")),
            Flags(Limits, "limits"),
        ),
        description="Run the web page (/) and the HTTP API (documented at /docs).",
        examples="""\
  nlgauge serve
  NLGAUGE_API_KEY=... nlgauge serve --host 0.0.0.0 --host-name nlg.example.org
""",
    )
}
