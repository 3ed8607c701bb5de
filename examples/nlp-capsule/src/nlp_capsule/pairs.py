"""Questions and answers from data-to-text corpora: dialogue acts and their human wordings.

A question is a dialogue act of BAGEL or SFHOTEL, such as `inform(name=none,area=citycentre)`; its right answers are
the sentences that people wrote for it. No act of the test is among those of training, nor an answer to it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nlgauge.errors import InputError
from nlp_capsule.answers import AnswerPairs

__all__ = ["SplitPairs", "load_pairs"]


class SplitPairs(NamedTuple):
    """Training and test pairs."""

    training: AnswerPairs
    test: AnswerPairs


def load_pairs(folder: Path, *, seed: int = 0) -> SplitPairs:
    """Load `d2t/bagel.jsonl` and `d2t/sfhot.jsonl` in `folder`; a fifth of the acts is the test."""
    wordings: dict[str, set[str]] = {}
    for name in ("bagel", "sfhot"):
        path = folder / "d2t" / f"{name}.jsonl"
        if not path.is_file():
            msg = f"{path} is not there"
            raise InputError(msg)
        for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n"):
            record = json.loads(line)
            wordings.setdefault(record["source"], set()).update(record["references"])
    acts = sorted(wordings)
    order = [acts[i] for i in np.random.default_rng([seed, 2]).permutation(len(acts))]
    test = order[: len(order) // 5]
    test_answers = {answer for act in test for answer in wordings[act]}
    training = {act: wordings[act] - test_answers for act in order[len(test) :] if wordings[act] - test_answers}
    return SplitPairs(_join_pairs(training), _join_pairs({act: wordings[act] for act in test}))


def _join_pairs(wordings: dict[str, set[str]]) -> AnswerPairs:
    answers = sorted({answer for own in wordings.values() for answer in own})
    places = {answer: place for place, answer in enumerate(answers)}
    acts = sorted(wordings)
    return AnswerPairs(acts, answers, [frozenset(places[answer] for answer in wordings[act]) for act in acts])
