"""Record public behaviour: scores, signatures, output of commands, help, the HTTP interface, published tables.

    python -m tests.frozen.record                        write all of tests/frozen/outputs
    python -m tests.frozen.record scores readme          write only these parts
    python -m tests.frozen.record --all-digits FOLDER    write all digits of numbers to a folder

To compare two commits bit by bit on one machine, use `diff -r` on two such folders. Data sets are read from
NLGAUGE_DATA; without it, the part that needs them is not updated. tests/frozen/test_frozen.py compares the outputs.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.docs.tutorial_runner import Step, reading, steps_of
from tests.frozen import commands, recipes
from tests.frozen.inputs import ROOT
from tests.frozen.workplace import DIGITS, Workplace, call, page_text, short_json, workplace

import nlgauge
from nlgauge.apps.cli import build_parser

OUTPUTS = Path(__file__).parent / "outputs"

#: Contents by file name, in the folder of the part.
Files = dict[str, str]


@dataclass(frozen=True)
class Part:
    """A folder of outputs and the function that records it."""

    record: Callable[[Workplace], Files]
    lane: str  # first, slow, data, or none if nothing is compared


# Scores


def record_scores(place: Workplace) -> Files:
    """Scores, signatures, notes and warnings of every recipe."""
    for path in recipes.FILES.iterdir():
        shutil.copy(path, place.folder)
    return {f"{slug(recipe)}.json": place.json(scores_of(recipe), masks=_RANGE) for recipe in recipes.RECIPES}


#: Bounds files of recipes are fixed; only the range over the corpus is computed.
_RANGE = {pattern: new for pattern, new in commands.MASKS.items() if "range" in pattern}


def scores_of(recipe: str) -> dict[str, Any]:
    """Result of `nlgauge.score_systems` for a recipe."""
    options = {} if recipe.partition(":")[0] in recipes.WITHOUT_VECTORS else {"unknown": "score"}
    refs = [some[:1] for some in recipes.REFERENCES] if recipe in recipes.ONE_REFERENCE else recipes.REFERENCES
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", nlgauge.errors.NlgaugeWarning)
        scores = nlgauge.score_systems(recipes.SYSTEMS, refs, sources=recipes.GERMAN, metric=[recipe], **options)
    return {
        "recipe": recipe,
        "options": options,
        "warnings": [f"{warning.category.__name__}: {warning.message}" for warning in caught],
        "scores": scores.to_dict()["scores"],
    }


def slug(recipe: str) -> str:
    """A file name for a recipe.

    >>> slug("moverscore:n=2,max_tokens=8")
    'moverscore-n-2-max_tokens-8'
    """
    return re.sub(r"[^\w.]+", "-", recipe.replace(".json", "").replace(".txt", "")).strip("-")


# Commands


def record_quick(place: Workplace) -> Files:
    """Record catalogues, errors, and metrics without a model."""
    return {f"{name}.txt": place.transcript(group, masks=commands.MASKS) for name, group in commands.QUICK.items()}


def record_reports(place: Workplace) -> Files:
    """Record every kind of report in its formats."""
    files = {}
    for name, group in commands.REPORTS.items():
        masks = {} if name in commands.UNMASKED else commands.MASKS
        files[f"{name}.txt"] = place.transcript(group, masks=masks)
    return files


def record_help(place: Workplace) -> Files:
    """Record `--help` and `--help-all` of every command and sub-command, one file per command."""
    files: dict[str, list[str]] = {}
    for command in _command_tree(build_parser()):
        name = command[0] if command else "nlgauge"
        for flag in ("--help", "--help-all"):
            files.setdefault(f"{name}.txt", []).append(place.run(" ".join(["nlgauge", *command, flag])))
    return {name: "\n".join(blocks) for name, blocks in files.items()}


def _command_tree(parser: argparse.ArgumentParser) -> Iterator[list[str]]:
    """A command and its sub-commands, as words after the program's name."""
    yield parser.prog.split()[1:]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _command_tree(child)


# README and pages

#: Commands of README.md that are not run, by what they contain, and the reason.
NOT_RUN = {
    "--at DATA": "needs a data set",
    "nlgauge serve": "runs until it is stopped; the part service records it",
    "make ": "installs",
    "python -m": "is not a command of nlgauge",
}


def record_readme(place: Workplace) -> Files:
    """Record commands and Python examples of README.md, run in a folder with its input files."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = []
    for command in readme_commands(page):
        reason = next((why for part, why in NOT_RUN.items() if part in command), None)
        blocks.append(f"$ {command}\n[not run: {reason}]\n" if reason else place.run(command, masks=commands.MASKS))
    with _reader(place) as run:
        for step in steps_of(page):
            if step.kind == "python":
                blocks.append(run(step))
    return {"readme.txt": "\n".join(blocks)}


def readme_commands(page: str) -> list[str]:
    """Indented lines of a page that are commands of nlgauge, without comments.

    >>> readme_commands("Text.\\n\\n    nlgauge score a.txt -o run.json && nlgauge compare run.json   # kept\\n")
    ['nlgauge score a.txt -o run.json', 'nlgauge compare run.json']
    """
    lines = re.findall(r"^    (nlgauge .*)$", page, re.MULTILINE)
    return [part for line in lines for part in re.sub(r"\s+# .*", "", line).strip().split(" && ")]


PAGES = ("docs/quickstart.md", "docs/tutorials/*.md")


def pages() -> list[Path]:
    """Pages with steps to run."""
    return [path for pattern in PAGES for path in sorted(ROOT.glob(pattern)) if path.name != "index.md"]


def record_pages(place: Workplace) -> Files:
    """Record the steps of quick start and tutorials with their shown output, without running them.

    tests/docs/test_tutorials.py runs all steps and compares with the page.
    """
    files = {}
    for path in pages():
        steps = steps_of(path.read_text(encoding="utf-8"))
        files[f"{path.stem}.txt"] = place.clean("\n".join(_step_block(step, step.shown) for step in steps))
    return files


def record_tutorials(place: Workplace) -> Files:
    """Record the full output of pages that shorten some of it with "..."."""
    files = {}
    for path in pages():
        steps = [step for step in steps_of(path.read_text(encoding="utf-8")) if step.tag != "data"]
        shortened = [i for i, step in enumerate(steps) if step.kind == "console" and "..." in step.shown]
        if not shortened or path.stem in NOT_TYPED:
            continue
        (place.folder / path.stem).mkdir()
        with _reader(place, path.stem) as run:
            blocks = [run(step) for step in steps[: shortened[-1] + 1]]
        files[f"{path.stem}.txt"] = "\n".join(
            block for block, step in zip(blocks, steps, strict=False) if step.kind != "file"
        )
    return files


#: Pages that start a service or worker processes; tests/docs/test_tutorials.py runs them.
NOT_TYPED = ("over-http", "large-tables")


def _step_block(step: Step, printed: str) -> str:
    if step.kind == "file":
        return f"[file {step.tag}]\n{step.text}"
    tag = f" ({step.tag})" if step.tag else ""
    text = step.text if step.kind == "python" else f"{step.text}\n"
    lead = "$ python\n" if step.kind == "python" else "$ "
    return f"{lead}{text}[prints{tag}]\n{printed}"


@contextlib.contextmanager
def _reader(place: Workplace, name: str = "reader") -> Iterator[Callable[[Step], str]]:
    """Run steps of a page in a separate folder; both streams are in the order of a terminal."""
    folder = place.folder / name
    folder.mkdir(exist_ok=True)
    with reading(folder) as reader:
        yield lambda step: place.clean(_step_block(step, reader.do(step)), masks=commands.MASKS)


# The service


def record_service(place: Workplace) -> Files:
    """Record the OpenAPI document and answers to requests."""
    with _served(place) as address:
        document = json.loads(_answer(f"{address}/openapi.json")[1])
        blocks = [_request_block(address, *request) for request in REQUESTS]
    return {
        "openapi.json": place.clean(json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"),
        "answers.txt": place.clean("\n".join(blocks), masks=commands.MASKS),
    }


_PAIR = {"hyps": ["A cat sat.", "The ferry left."], "refs": [["The cat was sitting."], ["A ferry left on time."]]}
_SYSTEMS = {"systems": {"a": ["A cat sat.", "The ferry left.", "Yes."], "b": ["A dog.", "Ferry!", "No."]},
            "refs": ["The cat was sitting.", "A ferry left on time.", "Yes."]}  # fmt: skip

#: Method, path and body of requests.
REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/v1", None),
    ("GET", "/v1/metrics", None),
    ("GET", "/v1/models", None),
    ("GET", "/", None),
    ("GET", "/nothing", None),
    ("POST", "/v1/score", _PAIR),
    ("POST", "/v1/score?format=tsv", _PAIR | {"metric": ["bertscore", "chrf"]}),
    ("POST", "/v1/score", {"hyps": ["A cat."], "refs": ["A cat.", "A dog."]}),
    ("POST", "/v1/score", {"hyps": ["A cat."], "refs": ["A cat."], "metric": ["bertscor"]}),
    ("POST", "/v1/score", {"hyp": ["A cat."]}),
    ("POST", "/v1/compare", _SYSTEMS | {"metric": ["chrf"]}),
    ("POST", "/v1/explain", {"hyp": "A cat sat.", "ref": "The cat was sitting."}),
    ("POST", "/v1/explain", {"hyp": "A cat sat.", "refs": ["The cat was sitting."]}),
    ("POST", "/v1/matrix", {"a": ["A cat.", "A dog."], "b": ["The cat.", "Rain."]}),
    ("POST", "/v1/rank", {"candidates": [["A cat.", "The cat.", "Rain."]]}),
    ("GET", "/v1/jobs/none", None),
    ("GET", "/v1/jobs/0123456789abcdef0123456789abcdef", None),
    ("POST", "/v1/jobs/score", _SYSTEMS),
    ("POST", "/v1/jobs/compare", _SYSTEMS | {"metric": ["chrf"]}),
    ("POST", "/v1/jobs/matrix", {"a": ["A cat.", "A dog."], "metric": "chrf"}),
    ("POST", "/v1/jobs/rank", {"candidates": [["A cat.", "The cat.", "Rain."]], "metric": "chrf"}),
    ("POST", "/v1/jobs/explain-pairs", _PAIR),
    ("POST", "/v1/jobs/explain-corpus", _PAIR),
    ("POST", "/v1/jobs/discourse", {"systems": {"a": ["A king built a castle. The castle fell."] * 2}}),
    ("POST", "/v1/jobs/sensitivity", _SYSTEMS | {"preset": "idf", "metric": ["bertscore"]}),
)

#: Further forms of the result of a job.
JOB_FORMATS = {"score": ("tsv", "segments"), "compare": ("tsv", "pairs", "html")}


@contextlib.contextmanager
def _served(place: Workplace) -> Iterator[str]:
    """Run `nlgauge serve` in a separate process within the block, and yield its address."""
    log = place.folder / "serve.log"
    words = [sys.executable, "-m", "nlgauge", "serve", "--port", "0", "--data", str(place.folder / "jobs")]
    with log.open("w", encoding="utf-8") as output, subprocess.Popen(words, stderr=output, stdout=output) as process:
        try:
            yield _address(process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    for _ in range(1200):
        if match := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8")):
            return match[0]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.1)
            break
    raise AssertionError(f"the service did not start: {log.read_text(encoding='utf-8')}")


def _request_block(address: str, method: str, path: str, body: Any) -> str:
    status, text = _answer(address + path, body)
    request = f"{method} {path} {json.dumps(body) if body is not None else ''}"
    if method == "POST" and path.startswith("/v1/jobs/") and status < 300:
        text = _job_blocks(address, request, status, job=json.loads(text)["id"])
    else:
        text = _answer_block(request, status, text)
    return text.replace(address, "http://ADDRESS")


def _job_blocks(address: str, request: str, status: int, *, job: str) -> str:
    """A finished job, and its result in all forms."""
    ended = _wait_for_job(f"{address}/v1/jobs/{job}")
    blocks = [_answer_block(request, status, ended)]
    kind = json.loads(ended)["kind"]
    for form in ("json", *JOB_FORMATS.get(kind, ())):
        query = f"/v1/jobs/{job}/result?format={form}"
        blocks.append(_answer_block(f"GET {query} ({kind})", *_answer(address + query)))
    return "\n".join(blocks).replace(job, "JOB")


def _answer_block(request: str, status: int, text: str) -> str:
    text = re.sub(r'("(?:created|started|finished|expires|request_id)": ?)("[^"]*"|[\d.]+)', r'\1"X"', text)
    text = re.sub(r'("progress": ?){[^}]*}', r'\1"X"', text)
    lines = [f"$ {request.rstrip()}", f"[status {status}]"]
    if text[:1] in ("{", "["):
        lines += ["[json, answer]", short_json(json.loads(text))]
    else:
        lines.append(page_text(text) if text.lstrip().lower().startswith("<!doctype") else text)
    return "\n".join(lines).rstrip() + "\n"


def _wait_for_job(url: str) -> str:
    for _ in range(1200):
        text = _answer(url)[1]
        if json.loads(text)["state"] not in ("queued", "running"):
            return text
        time.sleep(0.05)
    raise AssertionError(f"the job did not end: {url}")


def _answer(url: str, body: Any = None) -> tuple[int, str]:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"} if data else {})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# Published tables

#: Entries that compute without data, restricted to quick rows.
_QUICK_ROWS = {
    "density-simulation": "--rows Real-NVP GAN-Real-NVP",
    "density-figure2": "--rows Real-NVP",
    "density-figure3": "--rows GAN-Real-NVP",
    "bt-figure3": "--draws 2",
}


#: Abbreviations of cells without our value.
_NO_VALUE = {', "ours": null, "difference": null': ""}


def record_reproduce(place: Workplace) -> Files:
    """Record the list of published tables, and the printed values, recipes and notes of each."""
    (place.folder / "empty").mkdir()
    flag = "--at empty"
    files = {
        "list.txt": place.transcript(
            [f"nlgauge study reproduce list {flag} --format {name}" for name in commands.FEW]
        )
    }
    papers: dict[str, list[str]] = {}
    for name in _published(place):
        more = f" {_QUICK_ROWS[name]}" if name in _QUICK_ROWS else ""
        command = f"nlgauge study reproduce {name} {flag} --format json{more}"
        papers.setdefault(name.partition("-")[0], []).append(place.run(command, masks=_NO_VALUE))
    files |= {f"{paper}.txt": "\n".join(blocks) for paper, blocks in papers.items()}
    formats = [name for name in commands.ALL if name != "json"]
    shown = [f"nlgauge study reproduce {name} {flag} --format {form}" for name in _IN_ALL_FORMATS for form in formats]
    return files | {"formats.txt": place.transcript(shown)}


#: One entry of each kind.
_IN_ALL_FORMATS = (
    "repro-table3",
    "repro-table9",
    "bt-table1",
    "disco-table9",
    "explain-table6",
    "xmoverscore-table1",
)


def _published(place: Workplace) -> list[str]:
    status, out, err = call(["study", "reproduce", "list", "--at", "empty", "--format", "json"])
    assert status == 0, err
    return [entry["id"] for entry in json.loads(out)["entries"] if entry["id"]]


#: Tables computed from data, restricted to quick cells.
COMPUTED = (
    "bt-table1",
    "explain-table6",
    "explain-table10",
    "explain-figure3",
    "repro-table3 --model none",
    "repro-table3 --rows BERT-F1 --langpairs cs-en",
    "moverscore-table3 --data bagel",
    "xmoverscore-table1 --rows 'MOVER-1 + M-BERT' --langpairs tr-en",
)


def record_computed(place: Workplace) -> Files:
    """Record computed cells of some published tables, on real data."""
    data = os.environ["NLGAUGE_FROZEN_DATA"]
    place.replaced[data] = "DATA"
    (place.folder / "DATA").symlink_to(data)
    words = [f"nlgauge study reproduce {table} --at DATA --format json" for table in COMPUTED]
    return {"tables.txt": place.transcript(words, masks=_NO_VALUE)}


# Python


def record_python(place: Workplace) -> Files:
    """Record public names of the package and its most used modules, with their signatures."""
    modules = (nlgauge, nlgauge.metrics, nlgauge.plugin, nlgauge.studies.factors, nlgauge.errors)
    lines = (line for module in modules for name in sorted(module.__all__) for line in _described(module, name))
    return {"names.txt": place.clean("".join(f"{line}\n" for line in lines))}


def _described(module: ModuleType, name: str) -> Iterator[str]:
    value = getattr(module, name)
    name = f"{module.__name__}.{name}".removeprefix("nlgauge.")
    if inspect.isclass(value) and issubclass(value, BaseException):
        yield f"{name}({', '.join(base.__name__ for base in value.__bases__)})"
    elif callable(value):
        yield f"{name}{_signature(value)}"
        if inspect.isclass(value):
            for member in sorted(vars(value)):
                if not member.startswith("_"):
                    yield f"    {name}.{member}{_signature(getattr(value, member))}"
    else:
        yield f"{name}: {type(value).__name__}"


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value)) if callable(value) else ""
    except (TypeError, ValueError):
        return "(...)"


# Start-up

_COUNT = """
import runpy, sys
sys.argv = ["nlgauge", *{words!r}]
try:
    {run}
except SystemExit:
    pass
own = sum(name.partition(".")[0] == "nlgauge" for name in sys.modules)
print(len(sys.modules), own, "numpy" in sys.modules, file=sys.stderr)
"""


def record_startup(place: Workplace) -> Files:
    """Record CPU time and number of imported modules, which are not compared."""
    module = 'runpy.run_module("nlgauge", run_name="__main__", alter_sys=True)'
    runs = {
        "nlgauge --version": (["-m", "nlgauge", "--version"], ["--version"], module),
        "nlgauge score, 12 segments": (
            ["-m", "nlgauge", "score", "a.txt", "--refs", "ref.txt"],
            ["score", "a.txt", "--refs", "ref.txt"],
            module,
        ),
        "import nlgauge": (["-c", "import nlgauge"], [], "import nlgauge"),
    }
    measured = {}
    for name, (words, argv, run) in runs.items():
        counted = subprocess.run(
            [sys.executable, "-c", _COUNT.format(words=argv, run=run)], capture_output=True, text=True, check=True
        )
        modules, own, numpy = counted.stderr.splitlines()[-1].split()
        seconds = sorted(_cpu_seconds([sys.executable, *words]) for _ in range(7))
        measured[name] = {
            "cpu_seconds_median": round(statistics.median(seconds), 3),
            "cpu_seconds_lowest": round(seconds[0], 3),
            "modules": int(modules),
            "modules_of_nlgauge": int(own),
            "loads_numpy": numpy == "True",
        }
    return {"startup.json": short_json(measured) + "\n"}


def _cpu_seconds(words: list[str]) -> float:
    """CPU seconds of a process and its children, user and system."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return used.ru_utime + used.ru_stime


PARTS: Mapping[str, Part] = {
    "help": Part(record_help, "first"),
    "quick": Part(record_quick, "first"),
    "python": Part(record_python, "first"),
    "pages": Part(record_pages, "first"),
    "reproduce": Part(record_reproduce, "first"),
    "scores": Part(record_scores, "slow"),
    "reports": Part(record_reports, "slow"),
    "readme": Part(record_readme, "slow"),
    "tutorials": Part(record_tutorials, "slow"),
    "service": Part(record_service, "slow"),
    "computed": Part(record_computed, "data"),
    "startup": Part(record_startup, "none"),
}


def record(part: str, *, digits: int | None = DIGITS) -> Files:
    """Record a part: its files by name in outputs/."""
    with workplace(digits=digits) as place:
        return {f"{part}/{name}": text for name, text in PARTS[part].record(place).items()}


def write(folder: Path, part: str, files: Files) -> None:
    """Write the files of a part and remove outdated ones."""
    shutil.rmtree(folder / part, ignore_errors=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def main() -> None:
    """Record the chosen parts."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen.record", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument(
        "--all-digits", metavar="FOLDER", type=Path, help="write numbers with all digits to this folder"
    )
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}")
    folder = args.all_digits.resolve() if args.all_digits else OUTPUTS
    if args.all_digits and folder.is_relative_to(ROOT):
        parser.error(f"{folder} is in the repository; choose a folder outside it")
    data = os.environ.get("NLGAUGE_DATA")
    if data:
        os.environ["NLGAUGE_FROZEN_DATA"] = str(Path(data).resolve())
    for part in args.parts or PARTS:
        if PARTS[part].lane == "data" and not data:
            print(f"{part}: not recorded, because NLGAUGE_DATA is not set", file=sys.stderr)
        elif not (args.all_digits and PARTS[part].lane == "none"):
            before = os.times()
            files = record(part, digits=None if args.all_digits else DIGITS)
            write(folder, part, files)
            after = os.times()
            seconds = sum(after[:4]) - sum(before[:4])
            print(f"{part}: {len(files)} files, {sum(map(len, files.values())):,} characters, {seconds:.0f} s of CPU")


if __name__ == "__main__":
    main()
