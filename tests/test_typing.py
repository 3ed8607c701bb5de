"""Keywords as an editor and a type checker see them: the file that lists them is up to date, and mypy reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs import write_keywords

ROOT = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())

ACCEPTED = """
from pathlib import Path
import nlgauge

h, r = ["A cat sat."], ["The cat sat."]
nlgauge.score(h, r, "bertscore", layer=4, idf=Path("counts.json"), threads=2, lang="en")
nlgauge.score_systems({"a": h}, r, ["chrf", nlgauge.metrics.BLEU()], long="windows")
nlgauge.rank([h], None, "bertscore", rescale=True)
nlgauge.matrix(h, r, "moverscore", n=2)
nlgauge.explain_pair(h[0], r[0], "bertscore", shapley=True, words="blanks")
nlgauge.explain_corpus(h, r, "bertscore", annotator="spacy-en", component="f1")
nlgauge.studies.stress.stress(h, r, ["chrf"], words=2, lang="en")
nlgauge.compare_systems(nlgauge.score_systems({"a": h, "b": r}, r), test="t", permutations=1000)
nlgauge.Client().score(h, r, "bertscore", layer=4)
"""

REFUSED = {
    'nlgauge.score(h, r, metric="bertscore", layr=4)': "layr",
    'nlgauge.score(h, r, metric="bertscore", layer=4.5)': '"layer"',
    'nlgauge.score(h, r, metrics=["bertscore"])': "metrics",
    'nlgauge.matrix(h, r, "bertscore", alignments=True)': "alignments",
    'nlgauge.explain_pair(h[0], r[0], side="both")': '"side"',
    'nlgauge.compare_systems({"m": {"a": [1.0]}}, permutation=10)': "permutation",
    "nlgauge.Client().rank([h], layr=4)": "layr",
}


def run_mypy(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "snippet.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "snippet.py"]
    return subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache")],
        cwd=folder,
        env={"MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
    )


def test_the_file_of_keywords_is_up_to_date() -> None:
    assert write_keywords.TARGET.read_text(encoding="utf-8") == write_keywords.file_text(), (
        "run: python -m docs.write_keywords"
    )


def test_a_changed_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "keywords.py"
    changed.write_text(write_keywords.file_text().replace("layer:", "layers:"), encoding="utf-8")
    monkeypatch.setattr(write_keywords, "TARGET", changed)
    assert write_keywords.main(["--check"]) == 1
    write_keywords.main([])
    assert write_keywords.main(["--check"]) == 0


@pytest.mark.slow
def test_mypy_accepts_the_options_of_metrics_and_analyses(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    done = run_mypy(tmp_path, ACCEPTED)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_refuses_misspelt_options_and_wrong_values(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    first = 'import nlgauge\n\nh, r = ["A cat sat."], ["The cat sat."]\n'
    done = run_mypy(tmp_path, first + "\n".join(REFUSED) + "\n")
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == len(REFUSED), done.stdout + done.stderr
    for number, (error, name) in enumerate(zip(errors, REFUSED.values(), strict=True), start=4):
        assert error.startswith(f"snippet.py:{number}:"), done.stdout
        assert name in error
