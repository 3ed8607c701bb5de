"""Layers and rooms import only from those above them, and the public surface is `__all__`."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nlgauge
from nlgauge.core.registry import built_in_metrics

SOURCE = Path(nlgauge.__file__).parent

#: Layers and their rooms, from the top to the bottom (docs/architecture.md).
LAYERS = {
    "core": ("io", "stats", "text", "encoders", "vectors", "core", "metrics"),
    "studies": ("data", "studies", "report"),
    "apps": ("apps",),
}
#: Single modules at the top of the package, before the rooms that use them and after those they use.
MODULES_BEFORE = ("_version", "_startup", "errors")
MODULES_OF_CORE = ("plugin", "testing")
ORDER = [*MODULES_BEFORE, *LAYERS["core"], *MODULES_OF_CORE, *LAYERS["studies"], *LAYERS["apps"]]
#: The front door may import from every room.
FRONT = {"__init__", "__main__"}


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path.name}: relative import"
            names = [node.module]
            if node.module == "nlgauge":
                names = [f"nlgauge.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("nlgauge.")}
    return rooms


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(SOURCE)) for path in FILES])
def test_a_room_imports_only_from_rooms_above(path: Path) -> None:
    room = room_of(path)
    if room in FRONT:
        return
    assert room in ORDER, f"{room} has no place in the order of rooms"
    allowed = set(ORDER[: ORDER.index(room) + 1])
    assert imported_rooms(path) <= allowed


def loaded_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when a module is loaded: also those below `try` and `if`, not those for type checkers."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from loaded_statements([*node.body, *node.orelse])


def imported_modules(path: Path) -> set[str]:
    """Modules that a file imports when it is loaded; imports inside functions may look back."""
    names: set[str] = set()
    for node in loaded_statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "nlgauge":
            inner = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inner.values() if is_module(name)}
            names |= modules | ({node.module} if len(modules) < len(inner) else set())
    return {name for name in names if name.startswith("nlgauge.")}


def is_module(name: str) -> bool:
    path = SOURCE.parent / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_there_are_no_import_cycles() -> None:
    graph = {}
    for path in FILES:
        name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        graph[name] = imported_modules(path) - {name}
    cycles = []
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            cycles.append(" -> ".join([*trail[trail.index(name) :], name]))
            return
        if name in done:
            return
        for other in sorted(graph.get(name, ())):
            visit(other, (*trail, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())
    assert not cycles


def test_the_public_surface_is_all() -> None:
    assert len(nlgauge.__all__) <= 35
    assert set(nlgauge.__all__) == {"__version__", *nlgauge._NAMES}
    for name, module in nlgauge._NAMES.items():
        assert getattr(nlgauge, name) is getattr(importlib.import_module(module), name)
        assert getattr(nlgauge, name).__name__ == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nosuch", "module 'nlgauge' has no attribute 'nosuch'"),
        ("BERTScore", "BERTScore is in nlgauge.metrics"),
        ("InputError", "InputError is in nlgauge.errors"),
        ("VectorMetric", "module 'nlgauge' has no attribute 'VectorMetric'"),
    ],
)
def test_names_of_other_modules_are_not_names_of_the_package(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=f"^{message}$"):
        getattr(nlgauge, name)


@pytest.mark.parametrize("loaded", ["nlgauge", "nlgauge.apps.cli, nlgauge.plugin, nlgauge.testing, nlgauge.io.table"])
def test_dir_shows_public_names_only(loaded: str) -> None:
    code = f"import {loaded}; print(*(name for name in dir(nlgauge) if not name.startswith('__')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = {"apps", "data", "errors", "metrics", "plugin", "studies", "testing"}
    assert set(out.stdout.split()) == set(nlgauge.__all__) - {"__version__"} | modules
    assert "__version__" in dir(nlgauge)


def test_every_metric_of_nlgauge_is_public_by_the_name_of_its_class() -> None:
    classes = {metric.__name__: metric.__module__ for metric in built_in_metrics().values()}
    listed = {name: f"nlgauge.metrics.{file}" for name, file in nlgauge.metrics._FILES.items()}
    assert listed == classes, "list a new metric in nlgauge/metrics/__init__.py: in the imports and _FILES"
    assert set(nlgauge.metrics.__all__) == set(listed) <= set(dir(nlgauge.metrics))
    with pytest.raises(AttributeError, match=r"module 'nlgauge.metrics' has no attribute 'nosuch'"):
        _ = nlgauge.metrics.nosuch  # type: ignore[attr-defined]


def names_for_type_checkers(path: Path) -> dict[str, str | None]:
    """Names that a file re-exports below `if TYPE_CHECKING`, by the module that has them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (unseen,) = [node for node in tree.body if isinstance(node, ast.If) and "not" not in ast.unparse(node.test)]
    imports = [(node, alias) for node in unseen.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert all(alias.asname == alias.name for _, alias in imports), (
        "only `X as X` is exported to strict type checkers"
    )
    return {
        alias.name: f"nlgauge.{alias.name}" if node.module == "nlgauge" else node.module for node, alias in imports
    }


def test_type_checkers_see_the_names_that_are_found_at_run_time() -> None:
    modules = {name: f"nlgauge.{name}" for name in nlgauge._MODULES}
    assert names_for_type_checkers(SOURCE / "__init__.py") == nlgauge._NAMES | modules
    metrics = {name: f"nlgauge.metrics.{file}" for name, file in nlgauge.metrics._FILES.items()}
    assert names_for_type_checkers(SOURCE / "metrics/__init__.py") == metrics


@pytest.mark.parametrize("module", ["nlgauge", "nlgauge.metrics", "nlgauge.plugin"])
def test_all_public_names_come_with_a_star(module: str) -> None:
    code = f"from {module} import *; import {module}; print(sorted(set({module}.__all__) - set(globals())))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_what_a_recipe_was_given_is_read_by_its_public_name() -> None:
    """`Metric.given`; only core/metric.py may read the attribute behind it."""
    readers = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = getattr(node, "attr", None) or (node.value if isinstance(node, ast.Constant) else None)
            if named == "_given" and path != SOURCE / "core/metric.py":
                readers.append(f"{path.relative_to(SOURCE)}:{node.lineno}")  # type: ignore[attr-defined]
    assert readers == []


def test_errors_are_all_public_and_drawn_in_the_tree() -> None:
    from nlgauge import errors

    for name in errors.__all__:
        assert name in (errors.__doc__ or "")
        assert issubclass(getattr(errors, name), errors.NlgaugeError | errors.NlgaugeWarning)


def test_importing_costs_no_heavy_library() -> None:
    heavy = ("torch", "onnxruntime", "onnx", "pandas", "transformers")
    code = f"import nlgauge, nlgauge.apps.cli, sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_importing_loads_no_metric_and_no_numpy() -> None:
    code = (
        "import nlgauge, sys; print('numpy' in sys.modules, 'nlgauge.metrics' in sys.modules,"
        " len([name for name in sys.modules if name.startswith('nlgauge.')]) < 5)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False False True"


def test_public_modules_are_there_without_their_own_import() -> None:
    code = (
        "import nlgauge, sys; early = {'nlgauge.apps', 'nlgauge.data', 'nlgauge.studies'} & set(sys.modules); "
        "print(sorted(early), callable(nlgauge.data.load), callable(nlgauge.studies.meta.evaluate),"
        " 'studies' in dir(nlgauge))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[] True True True"
