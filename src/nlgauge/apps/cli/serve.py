"""`nlgauge serve`: the service over HTTP."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import fields
from pathlib import Path

from nlgauge.apps.cli.parsing import AddParser, add_hidden
from nlgauge.apps.service.settings import Limits, Settings, flag_of_limit
from nlgauge.encoders.base import PRECISIONS
from nlgauge.encoders.engines.available import engine_names
from nlgauge.errors import InputError, RecipeError
from nlgauge.io.packages import require

_EXAMPLES = """\
examples:
  nlgauge serve
  NLGAUGE_API_KEY=... nlgauge serve --host 0.0.0.0 --host-name scores.example.org
"""

_LIMITS = {
    "body_bytes": "bytes of a request that is answered at once",
    "job_bytes": "bytes of a request that becomes a job",
    "text_characters": "characters of a text",
    "texts": "texts of a request that is answered at once",
    "job_texts": "texts of a job",
    "pairs": "pairs of a matrix or ranking that is answered at once",
    "job_pairs": "pairs of a matrix or ranking as a job",
    "systems": "systems of a comparison",
    "explained_characters": "characters of a pair to explain",
    "job_explained_characters": "characters of all pairs of a job to explain",
    "recipes": "metrics of a request",
    "seconds": "seconds of a request that is answered at once",
    "header_seconds": "seconds for the headers of a request to arrive",
    "connections": "open connections",
    "waiting": "requests that wait",
    "queued_jobs": "jobs that wait",
    "streams": "clients that watch jobs",
    "rate": "requests of a client a second",
    "keep_days": "days that a result is kept",
    "keep_bytes": "bytes that all results may take",
}


def add_command(add_parser: AddParser) -> None:
    """Add the command to the parser."""
    parser = add_parser(
        description="A page for people at /, and scores over HTTP for programs, described at /docs.",
        epilog=_EXAMPLES,
    )
    network = parser.add_argument_group("network")
    defaults = Settings()
    network.add_argument("--host", default=defaults.host, help="address to listen on (%(default)s)")
    network.add_argument("--port", type=int, default=defaults.port, help="0: a free one (%(default)s)")
    network.add_argument(
        "--host-name", nargs="+", default=[], metavar="NAME", help="names that the service is reached by"
    )
    network.add_argument("--key-file", metavar="FILE", help="API keys, one a line (or $NLGAUGE_API_KEY)")
    network.add_argument("--insecure", action="store_true", help="another address without a key")
    add_hidden(network, "--allow-origin", nargs="+", default=[], metavar="URL", help="web sites that may call it")
    add_hidden(network, "--trust-proxy", default="", metavar="ADDRESS", help="proxy that names the clients")
    add_hidden(network, "--root-path", default="", metavar="PATH", help="where a proxy has it, such as /scores")
    what = parser.add_argument_group("what is served")
    what.add_argument("--data", type=Path, metavar="FOLDER", help=f"keeps jobs ({defaults.folder})")
    what.add_argument("--models", nargs="+", default=[], metavar="NAME", help="on offer (all that are here)")
    what.add_argument(
        "--preload", nargs="*", default=list(defaults.preload), metavar="NAME", help="loaded at the start (minilm)"
    )
    add_hidden(what, "--instance", default="", metavar="NAME", help="begins the names of jobs")
    add_hidden(what, "--engine", choices=engine_names(), default=defaults.engine, help="what computes (%(default)s)")
    add_hidden(what, "--precision", choices=PRECISIONS, default=defaults.precision, help="(%(default)s)")
    add_hidden(what, "--threads", type=int, metavar="N", help="default: the processors at hand")
    add_hidden(
        what,
        "--batch-wait",
        type=float,
        default=defaults.batch_wait,
        metavar="SECONDS",
        help="longest wait for others to share a batch (%(default)s)",
    )
    add_hidden(what, "--stop-seconds", type=float, default=defaults.stop_seconds, metavar="S", help="(%(default)s)")
    limits = parser.add_argument_group("limits")
    for entry in fields(Limits):
        value = getattr(defaults.limits, entry.name)
        name = flag_of_limit(entry.name)
        text = f"{_LIMITS[entry.name]} ({value:,.16g})"
        add_hidden(limits, name, dest=entry.name, type=type(value), default=value, metavar="N", help=text)
    parser.add_help_all()
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if args.data and args.data.expanduser().exists() and not args.data.expanduser().is_dir():
        msg = f"--data {str(args.data)!r} is a file; give a folder for the jobs of the service"
        raise InputError(msg)
    settings = Settings(
        host=args.host,
        port=args.port,
        **({"folder": args.data.expanduser().absolute()} if args.data else {}),
        instance=args.instance,
        keys=_keys(args.key_file),
        insecure=args.insecure,
        host_names=tuple(args.host_name),
        allow_origins=tuple(args.allow_origin),
        trust_proxy=args.trust_proxy,
        root_path=args.root_path,
        models=tuple(args.models),
        preload=tuple(args.preload),
        engine=args.engine,
        precision=args.precision,
        threads=args.threads,
        batch_wait=args.batch_wait,
        stop_seconds=args.stop_seconds,
        limits=Limits(**{entry.name: getattr(args, entry.name) for entry in fields(Limits)}),
    )
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, "service")
    from nlgauge.apps.service.server import serve

    serve(settings, on_start=lambda address: print(f"nlgauge serves at {address}", file=sys.stderr, flush=True))
    return 0


def _keys(path: str | None) -> tuple[str, ...]:
    """From the environment and a file; never from the command line, which everybody on the machine can read."""
    keys = []
    if (own := os.environ.get("NLGAUGE_API_KEY")) is not None:
        if not own.strip():
            msg = "NLGAUGE_API_KEY is set but empty: set it to the key, or unset it to serve without one"
            raise RecipeError(msg)
        keys.append(own)
    if path is not None:
        try:
            in_file = Path(path).read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            msg = f"the key file {path!r} cannot be read: {getattr(error, 'strerror', None) or error}"
            raise InputError(msg) from error
        if not in_file:
            msg = f"the key file {path!r} has no key: write one key per line, or leave out --key-file"
            raise InputError(msg)
        keys += in_file
    return tuple(keys)
