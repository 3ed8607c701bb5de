"""`nlgauge align train` on a small encoder made on disk, killed on the way and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.apps.cli.conftest import Refusal, Run, write_lines
from tests.studies.alignment.two_languages import bitext, write_encoder

from nlgauge.studies.alignment.word_aligner import write_alignments

TRAIN = ("align", "train", "--model", "./tiny", "--parallel", "left.txt", "right.txt", "--threads", "1")
OPTIONS = ("--alignments", "links.txt", "--batch", "6", "--save-every", "2", "--learning-rate", "2e-3")


@pytest.fixture
def texts(folder: Path) -> Path:
    made = bitext(60)
    write_lines(folder / "left.txt", made.source)
    write_lines(folder / "right.txt", made.target)
    write_alignments(folder / "links.txt", made.links or ())
    return folder


@pytest.mark.torch
def test_a_killed_command_goes_on_to_the_same_bytes(run: Run, texts: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    write_encoder(texts / "tiny")
    result = run(*TRAIN, *OPTIONS, "--epochs", "2", "-o", "whole")
    assert (result.status, result.out) == (0, ""), result.err
    assert "links of 60 pairs of texts (0 left out), 2 epochs (epochs), " in result.err
    assert "in texts kept apart, cosine of linked words " in result.err
    command = [sys.executable, "-m", "nlgauge", *TRAIN, *OPTIONS, "--epochs", "500", "-o", "parts"]
    running = subprocess.Popen(command, cwd=texts, env=os.environ, stderr=subprocess.DEVNULL)
    while not any((texts / "parts" / "checkpoints").glob("step-*")):
        assert running.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not (texts / "parts" / "model.safetensors").exists()
    result = run(*TRAIN, *OPTIONS, "--epochs", "2", "-o", "parts")
    assert result.status == 0, result.err
    first, second = ((texts / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert first == second


@pytest.mark.torch
def test_without_links_and_with_two_languages(run: Run, refused: Refusal, texts: Path) -> None:
    pytest.importorskip("torch", reason="the extra 'torch' is not installed")
    write_encoder(texts / "tiny")
    both = ("--parallel", "left.txt", "right.txt", "--sentences", "20", "--epochs", "1", "-o", "two")
    result = run(*TRAIN, *both)
    assert result.status == 0, result.err
    assert "of 40 pairs of texts (0 left out), 1 epochs" in result.err
    write_lines(texts / "few.txt", ["ubb"])
    few = ("align", "train", "--model", "./tiny", "--parallel", "few.txt", "right.txt", "-o", "few")
    assert "few.txt and right.txt have 1 and 60" in refused(1, *few)
    assert "1 pairs of texts have a link" in refused(1, *TRAIN, "--sentences", "1", "-o", "few")


def test_invalid_training_commands_are_refused(refused: Refusal, texts: Path) -> None:
    two = ("--parallel", "left.txt", "right.txt")
    assert "one file for each --parallel, got 1 for 2" in refused(
        2, *TRAIN, *two, "--alignments", "links.txt", "-o", "m"
    )
    assert "--epochs must be a whole number from 1" in refused(2, *TRAIN, "--epochs", "0", "-o", "m")
    assert not (texts / "m").exists()
