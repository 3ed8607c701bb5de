"""Answer selection by the cosine of the poses of question and answer.

    s(q, a) = cos(v_q, v_a)

One network computes both poses. In the paper each text has one final capsule. The released rule then has no effect: a
softmax over one output is 1 for every input, and the pose is the squashed mean of the proposals. Here the number of
final capsules is an option, and the pose of a text is their concatenation.

Training and loss of this head are neither in the paper nor released (D7.11). We draw wrong answers for each right
one, and minimise the cross-entropy of choosing the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nlgauge.errors import InputError, RecipeError
from nlp_capsule.network import CapsuleNetwork
from nlp_capsule.routing import length
from nlp_capsule.training import TrainingPlan, run_epochs

__all__ = ["AnswerPairs", "Question", "draw_candidates", "pose_of", "score_answers", "train_answers"]

#: Temperature: divides the cosine before the softmax, because its range is too small.
_TEMPERATURE = 0.1


@dataclass(frozen=True)
class AnswerPairs:
    """Questions, all answers, and the right answers of each question."""

    questions: list[str]
    answers: list[str]
    right: list[frozenset[int]]
    """For each question, indices in `answers`."""

    def __post_init__(self) -> None:
        if len(self.questions) != len(self.right) or not all(self.right):
            msg = f"each of the {len(self.questions)} questions needs at least one right answer"
            raise InputError(msg)


class Question(NamedTuple):
    """The candidates of one question."""

    candidates: list[int]
    """Indices in the answers."""
    right: list[int]
    """1 or 0 for each candidate."""


def draw_candidates(pairs: AnswerPairs, *, positive: float = 0.12, seed: int = 0) -> list[Question]:
    """For each question its right answers and as many wrong ones that `positive` of all are right, as in TREC QA."""
    drawn = []
    for number, own in enumerate(pairs.right):
        wrong = np.setdiff1d(np.arange(len(pairs.answers)), list(own))
        many = min(len(wrong), round(len(own) * (1 - positive) / positive))
        chosen = np.random.default_rng([seed, number]).permutation(wrong)[:many]
        drawn.append(Question([*sorted(own), *chosen.tolist()], [1] * len(own) + [0] * many))
    return drawn


def pose_of(network: CapsuleNetwork, texts: Tensor) -> Tensor:
    """(batch, final capsules * width), of length 1."""
    flat = network(texts).poses.flatten(1)
    return flat / length(flat).unsqueeze(-1)


def train_answers(
    network: CapsuleNetwork,
    questions: NDArray[np.int64],
    answers: NDArray[np.int64],
    right: Sequence[frozenset[int]],
    plan: TrainingPlan,
) -> list[float]:
    """Train on rows of word numbers; `plan.negatives` wrong answers (7 where None) for each right one."""
    pairs = [(number, answer) for number, own in enumerate(right) for answer in sorted(own)]
    negatives = 7 if plan.negatives is None else plan.negatives
    if negatives < 1:
        msg = f"negatives must be 1 or more, got {negatives}"
        raise RecipeError(msg)
    if len(answers) <= negatives + max(map(len, right)):
        msg = f"{len(answers)} answers are too few to draw {negatives} wrong ones for each right one"
        raise InputError(msg)

    def step(chosen: NDArray[np.int64], epoch: int) -> Tensor:
        rows = []
        for i in chosen.tolist():
            number, answer = pairs[i]
            chance = np.random.default_rng([plan.seed, epoch, i])
            wrong = [other for other in chance.permutation(len(answers)).tolist() if other not in right[number]]
            rows.append([answer, *wrong[:negatives]])
        question_poses = pose_of(network, torch.from_numpy(questions[[pairs[i][0] for i in chosen]]))
        offered = pose_of(network, torch.from_numpy(answers[np.ravel(rows)])).view(len(chosen), negatives + 1, -1)
        cosines = torch.einsum("bd,bnd->bn", question_poses, offered)
        return -(cosines / _TEMPERATURE).log_softmax(dim=1)[:, 0].mean()

    return run_epochs(network, len(pairs), plan, step)


@torch.no_grad()
def score_answers(
    network: CapsuleNetwork,
    questions: NDArray[np.int64],
    answers: NDArray[np.int64],
    asked: Sequence[Question],
    *,
    batch: int = 256,
) -> list[NDArray[np.float64]]:
    """For each question, the cosines of its candidates."""
    q, a = (
        torch.cat([pose_of(network, torch.from_numpy(rows[i : i + batch])) for i in range(0, len(rows), batch)])
        for rows in (questions, answers)
    )
    return [(a[question.candidates] @ q[i]).double().numpy() for i, question in enumerate(asked)]
