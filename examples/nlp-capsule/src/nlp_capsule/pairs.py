"""Questions and answers made of data-to-text: what an assistant meant to say, and how people put it.

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
    """What to learn from and what to be tried on."""

    training: AnswerPairs
    test: AnswerPairs


def load_pairs(folder: Path, *, seed: int = 0) -> SplitPairs:
    """From the files `d2t/bagel.jsonl` and `d2t/sfhot.jsonl` below `folder`; a fifth of the acts is the test."""
    said: dict[str, set[str]] = {}
    for name in ("bagel", "sfhot"):
        path = folder / "d2t" / f"{name}.jsonl"
        if not path.is_file():
            msg = f"{path} is not there"
            raise InputError(msg)
        for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n"):
            record = json.loads(line)
            said.setdefault(record["source"], set()).update(record["references"])
    acts = sorted(said)
    order = [acts[at] for at in np.random.default_rng([seed, 2]).permutation(len(acts))]
    test = order[: len(order) // 5]
    known = {answer for act in test for answer in said[act]}
    training = {act: said[act] - known for act in order[len(test) :] if said[act] - known}
    return SplitPairs(_joined(training), _joined({act: said[act] for act in test}))


def _joined(said: dict[str, set[str]]) -> AnswerPairs:
    answers = sorted({answer for own in said.values() for answer in own})
    places = {answer: place for place, answer in enumerate(answers)}
    acts = sorted(said)
    return AnswerPairs(acts, answers, [frozenset(places[answer] for answer in said[act]) for act in acts])
