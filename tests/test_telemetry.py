"""No report to the vendor of a package leaves the machine or is written to it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.network_namespace import Behaviour, missing_tool, run_without_network

import nlgauge
from nlgauge.io.storage import cache_dir

SOURCE = Path(nlgauge.__file__).parent

#: Seconds that the service is left running. ONNX Runtime 1.31.1 looks up its vendor's host name after 9 seconds.
SERVE_SECONDS = 15.0


class Sandbox:
    """A folder with texts, an empty home folder, an empty folder for temporary files, and a cache with the models."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.temporary, self.cache = (
            folder / name for name in ("work", "home", "temporary", "cache")
        )
        for path in (self.folder, self.home, self.temporary, self.cache):
            path.mkdir()
        (self.cache / "models").symlink_to(cache_dir() / "models")
        pairs = [("A cat sat on the mat.", "The cat sat on the mat."), ("It rains.", "Rain is falling.")]
        for name, texts in zip(("hyp.txt", "ref.txt"), zip(*pairs, strict=True), strict=True):
            (self.folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        rows = [json.dumps({"hyp": hyp, "ref": ref}) for hyp, ref in pairs]
        (self.folder / "pairs.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the environment of the tests: some packages report nothing where they find a CI system."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "NLGAUGE_CACHE": str(self.cache),
            "PYTHONPATH": str(SOURCE.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *arguments: str, serve_seconds: float = 0, **environment: str) -> Behaviour:
        """Run a command of nlgauge without a network."""
        return run_without_network(
            arguments,
            folder=self.folder,
            environment={**self.environment, **environment},
            serve_seconds=serve_seconds,
        )

    def check(self, behaviour: Behaviour, *own: str, temporary: bool = False) -> None:
        """The command succeeded, asked no other machine and wrote below the cache folder, or to its `own` files."""
        assert behaviour.status == 0, behaviour.err
        assert behaviour.network_calls == []
        allowed = [self.cache, Path("/dev"), Path("/proc/self"), *(self.folder / name for name in own)]
        allowed += [self.temporary] if temporary else []
        assert [path for path in behaviour.written if not any(path.is_relative_to(item) for item in allowed)] == []
        assert list(self.home.iterdir()) == []


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    reason = missing_tool()
    if reason:
        pytest.skip(reason)
    return Sandbox(tmp_path)


SCORE = ("score", "hyp.txt", "--refs", "ref.txt", "--signature", "full")


@pytest.mark.slow
def test_the_sandbox_notices_sockets_and_files(sandbox: Sandbox) -> None:
    """Checks the check: a command with a plug-in that looks a name up and writes to the home folder is caught."""
    plugin = sandbox.folder / "sitecustomize.py"
    plugin.write_text(
        "import pathlib, socket\n"
        "(pathlib.Path.home() / 'device-id').write_text('1')\n"
        "with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as name_server:\n"
        "    name_server.connect_ex(('192.0.2.1', 53))\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(sandbox.folder), str(SOURCE.parent)])
    behaviour = sandbox.run("--version", PYTHONPATH=path)
    assert behaviour.status == 0, behaviour.err
    assert any("192.0.2.1" in call for call in behaviour.network_calls)
    assert sandbox.home / "device-id" in behaviour.written


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["", "0"], ids=["default", "switched-on-by-user"])
def test_score_sends_and_leaves_nothing(sandbox: Sandbox, setting: str) -> None:
    environment = {"ORT_DISABLE_TELEMETRY": setting} if setting else {}
    behaviour = sandbox.run(*SCORE, **environment)
    assert "engine:onnxruntime" in behaviour.out + behaviour.err
    sandbox.check(behaviour)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
def test_score_on_openvino_sends_and_leaves_nothing(sandbox: Sandbox) -> None:
    behaviour = sandbox.run(*SCORE, "--engine", "openvino")
    assert "engine:openvino" in behaviour.out + behaviour.err
    sandbox.check(behaviour)


@pytest.mark.slow
def test_worker_processes_send_and_leave_nothing(sandbox: Sandbox) -> None:
    words = ("--table", "pairs.jsonl", "--parts", "parts", "--workers", "2", "--shard-rows", "1")
    behaviour = sandbox.run("score", *words)
    # multiprocessing keeps sockets of its processes there.
    sandbox.check(behaviour, "parts", temporary=True)
    assert list(sandbox.temporary.iterdir()) == []


@pytest.mark.slow
def test_a_running_service_sends_and_leaves_nothing(sandbox: Sandbox) -> None:
    behaviour = sandbox.run("serve", "--port", "0", serve_seconds=SERVE_SECONDS)
    assert "engine:onnxruntime" in behaviour.out, behaviour.err
    sandbox.check(behaviour)


@pytest.mark.torch
def test_score_on_torch_asks_no_other_machine(sandbox: Sandbox) -> None:
    behaviour = sandbox.run(*SCORE, "--engine", "torch")
    assert "engine:torch" in behaviour.out + behaviour.err
    sandbox.check(behaviour, temporary=True)  # torch makes an empty folder there


def imports_of(source: str) -> Iterator[str]:
    """Packages that a file imports anywhere in it, by statement or by `import_module`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"importlib.import_module", "__import__"}:
            yield ast.unparse(node.args[0]).strip("'").partition(".")[0]


def test_reporting_packages_are_imported_in_one_place() -> None:
    from nlgauge.io.packages import REPORTING_PACKAGES

    assert {"onnxruntime", "openvino", "huggingface_hub", "transformers", "ray"} == REPORTING_PACKAGES
    direct = {}
    for path in SOURCE.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if any(name in source for name in REPORTING_PACKAGES):  # parsing every file would take seconds
            direct[path.relative_to(SOURCE).as_posix()] = REPORTING_PACKAGES.intersection(imports_of(source))
    assert {name: packages for name, packages in direct.items() if packages} == {}


def run_python(code: str, home: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)}
    environment |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # Windows needs it
    environment |= {"PYTHONPATH": str(SOURCE.parent), "ORT_DISABLE_TELEMETRY": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_onnxruntime_writes_no_device_id(tmp_path: Path) -> None:
    run_python("from nlgauge.io.packages import import_silenced; import_silenced('onnxruntime')", tmp_path)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
def test_openvino_is_imported_with_its_own_stub(tmp_path: Path) -> None:
    code = """
import sys
from nlgauge.io.packages import import_silenced
import_silenced("openvino")
print("openvino_telemetry" in sys.modules, sys.modules["openvino.tools.ovc.telemetry_utils"].tm.__name__)
import openvino_telemetry
"""
    assert run_python(code, tmp_path).split() == ["False", "openvino.tools.ovc.telemetry_stub"]
    assert list(tmp_path.rglob("*")) == []


def test_started_processes_inherit_the_switches(tmp_path: Path) -> None:
    code = """
import os
from nlgauge.io.packages import import_silenced
import_silenced("onnxruntime"), import_silenced("huggingface_hub")
print(os.environ["ORT_DISABLE_TELEMETRY"], os.environ["HF_HUB_DISABLE_TELEMETRY"])
"""
    assert run_python(code, tmp_path).split() == ["1", "1"]
