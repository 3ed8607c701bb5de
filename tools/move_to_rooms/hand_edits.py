# ruff: noqa
"""Hand edits after the move: tests follow their rooms, the front door and the registry find modules in their new places."""

import re, subprocess, sys
from pathlib import Path

R = Path(sys.argv[1])
S = R / "src/nlgauge"


def sub(path, *pairs, count=None):
    p = R / path
    t = p.read_text()
    for a, b in pairs:
        if a not in t:
            print("MISSING", path, repr(a[:70]))
            continue
        t = t.replace(a, b)
    p.write_text(t)


# ---- tests follow
MOVES = [
    ("annotate", "text"),
    ("clouds", "vectors"),
    ("transport", "vectors"),
    ("transforms/fit", "studies/alignment"),
    ("transforms", "vectors"),
    ("corpus", "core"),
    ("recipes", "core"),
    ("engine", "core"),
    ("pairs", "core/pairs"),
    ("files", "io"),
    ("models", "io/store"),
    ("compare", "studies/compare"),
    ("meta", "studies/meta"),
    ("explain/factors", "studies/factors"),
    ("explain", "studies/explain"),
    ("sensitivity", "studies/sensitivity"),
    ("stress", "studies/stress"),
    ("ensembles", "studies/ensembles"),
    ("features", "studies/discourse"),
    ("published", "studies/published"),
    ("plots", "report/figures"),
    ("cli", "apps/cli"),
    ("service", "apps/service"),
    ("distributed", "apps/cluster"),
    ("compat", "apps/compat"),
    ("encoders/engines/graphs", "encoders/graphs"),
    ("encoders/engines/quantised", "encoders/int8"),
]
TOP = {
    "test_accumulator.py": "core",
    "test_merging.py": "core",
    "test_saved_scores.py": "core",
    "test_scores.py": "core",
    "test_score_intervals.py": "core",
    "test_scoring.py": "core",
    "test_registry.py": "core",
}
renames = {}
for a, b in MOVES:
    src, dst = R / "tests" / a, R / "tests" / b
    if not src.exists():
        print("no tests in", a)
        continue
    for p in sorted(src.rglob("*")):
        if p.is_dir() or "__pycache__" in p.parts:
            continue
        new = dst / p.relative_to(src)
        assert not new.exists(), new
        new.parent.mkdir(parents=True, exist_ok=True)
        p.rename(new)
        renames[str(p.relative_to(R))] = str(new.relative_to(R))
for name, room in TOP.items():
    p = R / "tests" / name
    if p.exists():
        new = R / "tests" / room / name
        assert not new.exists(), new
        p.rename(new)
        renames[f"tests/{name}"] = f"tests/{room}/{name}"
for folder in sorted((x for x in (R / "tests").rglob("*") if x.is_dir()), reverse=True):
    rest = [x for x in folder.iterdir() if x.name != "__pycache__"]
    if not rest:
        import shutil

        shutil.rmtree(folder)
dotted = {
    k.removesuffix(".py").replace("/", "."): v.removesuffix(".py").replace("/", ".")
    for k, v in renames.items()
    if k.endswith(".py")
}
deep = {"tests.pairs": "tests.core.pairs"}
rx = re.compile(r"\btests(?:\.\w+)+")
rp = re.compile(r"\btests/[\w/]+\.(?:py|json|tsv|txt)\b")


def dot(m):
    parts = m[0].split(".")
    for n in range(len(parts), 1, -1):
        k = ".".join(parts[:n])
        if k in dotted:
            return ".".join([dotted[k], *parts[n:]])
    return m[0]


for pat in (
    "tests/**/*.py",
    "docs/**/*.py",
    "docs/**/*.md",
    "benchmarks/**/*.py",
    "src/**/*.py",
    "*.md",
    "Makefile",
    "pyproject.toml",
):
    for p in R.glob(pat):
        if p.name == "CHANGELOG.md":
            continue
        t = p.read_text()
        new = rp.sub(lambda m: renames.get(m[0], m[0]), rx.sub(dot, t))
        if new != t:
            p.write_text(new)
# depth of folders changed: find the repository by its pyproject
for old, new in renames.items():
    if not new.endswith(".py"):
        continue
    p = R / new
    t = p.read_text()
    d_old, d_new = old.count("/"), new.count("/")
    if d_old != d_new:

        def deeper(m):
            return f"Path(__file__).parents[{int(m[1]) + d_new - d_old}]"

        t2 = re.sub(r"Path\(__file__\)\.parents\[(\d+)\]", deeper, t)
        if t2 != t:
            p.write_text(t2)
# pages name tests without their folder or by folder

# ---- command line
sub(
    "src/nlgauge/apps/cli/__init__.py",
    (
        "#: The module of each command. Only that of the command at hand is imported, so that none waits for the others.\n_MODULES = {",
        "#: The module and function that add each command. Only the module of the command in use is imported.\n_COMMANDS = {",
    ),
    *[
        (f'    "{c}": "{m}",\n', f'    "{c}": "{n}",\n')
        for c, m, n in [
            ("metrics", "metrics", "lists:add_commands"),
            ("models", "models", "lists:add_model_commands"),
            ("data", "datasets", "lists:add_data_commands"),
            ("idf", "tables", "build:add_commands"),
            ("baseline", "tables", "build:add_commands"),
            ("sentsim", "sentsim", "build:add_sentsim_commands"),
            ("normalise", "normalise", "build:add_normalise_commands"),
            *[
                (c, m, f"{m}:add_commands")
                for c, m in [
                    ("score", "score"),
                    ("compare", "compare"),
                    ("rank", "rank"),
                    ("explain", "explain"),
                    ("discourse", "discourse"),
                    ("stress", "stress"),
                    ("meta", "meta"),
                    ("tune-layer", "meta"),
                    ("sensitivity", "sensitivity"),
                    ("reproduce", "reproduce"),
                    ("ensemble", "ensemble"),
                    ("align", "align"),
                    ("signature", "signatures"),
                    ("serve", "serve"),
                    ("completion", "completion"),
                ]
            ],
        ]
    ],
    (
        """    wanted = [_MODULES[command]] if command in _MODULES else dict.fromkeys(_MODULES.values())
    for name in wanted if command != "--version" else ():
        importlib.import_module(f"nlgauge.apps.cli.{name}").add_commands(commands)
""",
        """    wanted = [_COMMANDS[command]] if command in _COMMANDS else dict.fromkeys(_COMMANDS.values())
    for place in wanted if command != "--version" else ():
        module, _, function = place.partition(":")
        getattr(importlib.import_module(f"nlgauge.apps.cli.{module}"), function)(commands)
""",
    ),
)
# ---- registry: built-in metrics are found by folder, as those of other packages are by entry point
sub(
    "src/nlgauge/core/registry.py",
    ("import nlgauge.metrics\n", ""),
    ("pkgutil.iter_modules(nlgauge.metrics.__path__)", "pkgutil.iter_modules([str(_METRICS_FOLDER)])"),
    (
        'GROUP = "nlgauge.metrics"\n',
        'GROUP = "nlgauge.metrics"\n#: Where the metrics of nlgauge are; found by folder, so the core imports none of them by name.\n_METRICS_FOLDER = Path(__file__).parents[1] / "metrics"\n',
    ),
)
t = (R / "src/nlgauge/core/registry.py").read_text()
if "from pathlib import Path" not in t:
    t = t.replace("import pkgutil\n", "import pkgutil\nfrom pathlib import Path\n")
    (R / "src/nlgauge/core/registry.py").write_text(t)

# ---- the core does not know who explains a score
sub(
    "src/nlgauge/core/score.py",
    (
        '''    def explain(self, segment: int, **options: Any) -> Explanation:
        """Why a segment (from 0) got its score; options are those of `nlgauge.explain_pair`."""
        from nlgauge.studies.explain.pairs import explain_segments

        return explain_segments(self, [segment], **options)[0]
''',
        '''    def explain(self, segment: int, **options: Any) -> Any:
        """Why a segment (from 0) got its score; options are those of `nlgauge.explain_pair`."""
        return _EXPLAINERS[-1](self, segment, **options)
''',
    ),
)
p = R / "src/nlgauge/core/score.py"
t = p.read_text()
t = re.sub(r"    from nlgauge\.studies\.explain\.explanation import Explanation\n", "", t)
t = re.sub(r"\n\nif TYPE_CHECKING:\n(?=\n|\S)", "\n\n", t)
p.write_text(t)
t = t.replace(
    "#: Fewer resamples can give",
    """#: What `Score.explain` calls. The package registers it, because explanations are a study, and the core knows none.
_EXPLAINERS: list[Callable[..., Any]] = []

#: Fewer resamples can give""",
).replace("from collections.abc import Hashable,", "from collections.abc import Callable, Hashable,")
t = t.replace(
    """__all__ = ["LEAST_RESAMPLES", "Origin", "Score", "ScoreList", "SegmentNotes", "joined_notes"]""",
    """__all__ = ["LEAST_RESAMPLES", "Origin", "Score", "ScoreList", "SegmentNotes", "joined_notes", "register_explainer"]""",
)
t = t.replace(
    """@dataclass(frozen=True)
class SegmentNotes:""",
    '''def register_explainer(explain: Callable[..., Any]) -> None:
    """Register the function behind `Score.explain`: it takes a score, the index of a segment and options."""
    _EXPLAINERS.append(explain)


@dataclass(frozen=True)
class SegmentNotes:''',
    1,
)
p.write_text(t)

# ---- front door
p = R / "src/nlgauge/__init__.py"
t = p.read_text()
t = re.sub(
    r"    from nlgauge import data\n    from nlgauge import ensembles as ensembles\n    from nlgauge import testing as testing\n    from nlgauge\.apps import cluster as distributed\n",
    "    from nlgauge import apps as apps\n    from nlgauge import data as data\n    from nlgauge import studies as studies\n    from nlgauge import testing as testing\n",
    t,
)
t = re.sub(r"    from nlgauge\.studies import compare, meta, stress\n", "", t)
t = re.sub(
    r"#: Public modules that scoring has no need of:.*\n_ON_DEMAND = .*\n",
    '#: Public packages that scoring does not need.\n_ON_DEMAND = ("apps", "data", "studies", "testing")\n',
    t,
)
t = re.sub(
    r"# The metrics of nlgauge are public by",
    """
def _explain(result: Score, segment: int, **options: typing.Any) -> typing.Any:
    from nlgauge.studies.explain.pairs import explain_segments

    return explain_segments(result, [segment], **options)[0]


register_explainer(_explain)

# The metrics of nlgauge are public by""",
    t,
)
t = t.replace("from nlgauge.core.score import Score\n", "from nlgauge.core.score import Score, register_explainer\n")
p.write_text(t)
LAZY = '''"""{doc}"""

import importlib
from types import ModuleType

_MODULES = ({names})


def __getattr__(name: str) -> ModuleType:
    # `nlgauge.{room}.{first}` works after `import nlgauge`, and none is loaded before it is used.
    if name in _MODULES:
        return importlib.import_module(f"nlgauge.{room}.{{name}}")
    msg = f"module 'nlgauge.{room}' has no attribute {{name!r}}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
'''
for room, doc, first in (
    (
        "studies",
        "Studies: which system is better, how far a metric can be trusted, and why a text scored low.",
        "compare",
    ),
    ("apps", "Applications: command line, service, cluster runs and drop-in replacements.", "compat"),
):
    names = sorted(
        p.name.removesuffix(".py")
        for p in (S / room).iterdir()
        if (p.suffix == ".py" and p.name != "__init__.py") or (p.is_dir() and p.name != "__pycache__")
    )
    (S / room / "__init__.py").write_text(
        LAZY.format(doc=doc, room=room, first=first, names=", ".join(f'"{n}"' for n in names))
    )

# ---- files written by hand
import shutil

F = Path(__file__).parent / "files"
for p in F.rglob("*"):
    if p.is_file():
        shutil.copy(p, R / p.relative_to(F))
sub("docs/conf.py", ('    "repository_links",\n', '    "repository_links",\n    "source_tree",\n'))
