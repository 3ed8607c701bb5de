"""`nlgauge normalise`."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines
from tests.text.trees import conllu

from nlgauge.text.typology import WORD_ORDER, Typology

PARSED = conllu("""
1 La DET 2 det
2 casa NOUN 5 nsubj
3 bianca ADJ 2 amod
4 è AUX 5 cop
5 vuota ADJ 0 root +
6 . PUNCT 5 punct
""") + conllu("""
1 Il DET 2 det
2 gatto NOUN 0 root
3-4 del
3 di ADP 5 case
4 il DET 5 det
5 vicino NOUN 2 nmod +
6 ! PUNCT 2 punct
""")


@pytest.fixture
def parsed(folder: Path) -> Path:
    (folder / "it.conllu").write_text(PARSED, encoding="utf-8")
    (folder / "it.conllu.gz").write_bytes(gzip.compress(PARSED.encode()))
    return folder


@pytest.mark.parametrize("name", ["it.conllu", "it.conllu.gz"])
@pytest.mark.usefixtures("parsed")
def test_normalise_prints_one_sentence_per_line(run: Run, name: str) -> None:
    result = run("normalise", name, "--rules", "contractions", "adjectives", "objects", "--lang", "it")
    assert result == (0, "La bianca casa è vuota.\nIl gatto di il vicino!\n", "")


def test_to_a_file(run: Run, parsed: Path) -> None:
    rules = ("--rules", "contractions", "adjectives", "punctuation", "--lang", "it")
    assert run("normalise", "it.conllu", *rules, "-o", "out.txt") == (0, "", "")
    assert (parsed / "out.txt").read_text(encoding="utf-8") == "La bianca casa è vuota\nIl gatto di il vicino\n"


def test_standard_input(run: Run) -> None:
    result = run("normalise", "-", "--input-format", "conllu", "--rules", "contractions", stdin=PARSED.encode())
    assert result == (0, "La casa bianca è vuota.\nIl gatto di il vicino!\n", "")


def test_text_keeps_its_lines(run: Run, folder: Path) -> None:
    write_lines(folder / "plain.txt", ["It's here.", "...", "", "a - b"])
    assert run("normalise", "plain.txt", "--rules", "punctuation") == (0, "Its here\n\n\na b\n", "")


def test_invalid_rules_and_files_are_refused(run: Run, refused: Refusal, parsed: Path) -> None:
    assert "'objects' needs parsed sentences, but a.txt is text" in refused(
        2, "normalise", "a.txt", "--rules", "objects"
    )
    assert "unknown rule 'verbs'" in refused(2, "normalise", "it.conllu", "--rules", "verbs")
    (parsed / "bad.conllu").write_text(PARSED.replace("\t", " "), encoding="utf-8")
    message = refused(1, "normalise", "bad.conllu", "--rules", "objects", "-o", "out.txt")
    assert "bad.conllu, line 1: expected 10 tab-separated columns" in message
    assert not (parsed / "out.txt").exists()
    assert run("normalise", "it.conllu").status == 2


def test_rules_by_the_features_of_wals(
    run: Run, refused: Refusal, parsed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adjectives follow the noun in this Italian, not in this English, and objects follow the verb in both."""
    answers = np.array([[0, 0], [1, 0], [np.nan, 0]], dtype=np.float32)
    questions = tuple(WORD_ORDER.values())
    table = Typology(questions, {"eng": 0, "ita": 1, "deu": 2}, answers)
    monkeypatch.setattr("nlgauge.apps.cli.build.load_typology", lambda: table)
    chosen = run("normalise", "it.conllu", "--rules", "contractions", "wals", "--lang", "it")
    named = run("normalise", "it.conllu", "--rules", "contractions", "adjectives", "--lang", "it")
    assert chosen.out == named.out
    assert chosen.err == "rules by WALS for it toward en: adjectives\n"
    none = run("normalise", "it.conllu", "--rules", "contractions", "wals", "--lang", "en", "--toward", "it")
    assert none.err == "rules by WALS for en toward it: none\n"
    unknown = run("normalise", "it.conllu", "--rules", "wals", "--lang", "de")
    assert "WALS does not say whether the rule 'adjectives' applies to 'de' and 'en'" in unknown.err
    assert "add --lang" in refused(2, "normalise", "it.conllu", "--rules", "wals")
    assert "only with --rules wals" in refused(
        2, "normalise", "it.conllu", "--rules", "contractions", "--toward", "en"
    )
    del parsed
