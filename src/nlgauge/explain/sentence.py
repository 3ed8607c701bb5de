"""An explanation as a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nlgauge.explain.explanation import Attribution, Explanation, Link

__all__ = ["in_words"]

#: Words that a sentence names.
_MOST_NAMED = 3

#: Of all weight, what a word must have to be named; and of a cost, what a move must cost.
_LEAST_SHARE = 0.02


def in_words(explanation: Explanation) -> str:
    """What the score is, and what did most for or against it."""
    parts = [_head(explanation)]
    if any(link.kind == "flow" for link in explanation.links):
        parts.append(_dear_moves(explanation))
    else:
        parts += [_weak_matches(explanation, "forward"), _weak_matches(explanation, "backward")]
    parts += [_strongest(explanation, one) for one in explanation.attributions if one.kind != "linear"]
    return " ".join(part for part in parts if part)


def _head(explanation: Explanation) -> str:
    rest = [f"{name} {value:.3f}" for name, value in explanation.scores.items() if name != explanation.main]
    more = f" ({', '.join(rest)})" if rest else ""
    better = "" if explanation.higher_is_better else ", lower is better"
    name = "" if explanation.main in ("score", explanation.metric) else f" {explanation.main}"
    return f"{explanation.metric}{name} is {explanation.score:.3f}{more}{better}."


def _dear_moves(explanation: Explanation) -> str:
    moves = [link for link in explanation.links if link.kind == "flow" and link.cost is not None]
    total = sum(link.weight * (link.cost or 0.0) for link in moves)
    if total <= 0:
        return "Nothing has to move: the words that count are the same." if moves else ""
    dearest = sorted(moves, key=lambda link: -link.weight * (link.cost or 0.0))[:_MOST_NAMED]
    named = [
        f"{_pair(explanation, link)} {link.weight * (link.cost or 0.0) / total:.0%}"
        for link in dearest
        if link.weight * (link.cost or 0.0) > _LEAST_SHARE * total
    ]
    return f"Dearest moves, by their share of the cost {total:.3f}: {', '.join(named)}." if named else ""


def _weak_matches(explanation: Explanation, kind: str) -> str:
    links = [
        link for link in explanation.links if link.kind == kind and link.similarity is not None and link.weight > 0
    ]
    if not links:
        return ""
    if all((link.similarity or 0.0) > 1 - 1e-3 for link in links):
        return "Every word found itself." if kind == "forward" else ""
    mean = sum(link.weight * (link.similarity or 0.0) for link in links) / sum(link.weight for link in links)
    below = [link for link in links if (link.similarity or 0.0) <= mean]
    named = [link for link in below if link.weight >= _LEAST_SHARE] or below
    weakest = sorted(named, key=lambda link: link.similarity or 0.0)[:_MOST_NAMED]
    whose = "hypothesis" if kind == "forward" else explanation.against
    texts = [f"{_pair(explanation, link, back=kind == 'backward')} {link.similarity:.2f}" for link in weakest]
    return f"Weakest matches of the {whose}: {', '.join(texts)}."


def _pair(explanation: Explanation, link: Link, *, back: bool = False) -> str:
    hypothesis = "[special]" if link.hypothesis is None else explanation.hypothesis_words[link.hypothesis].text
    reference = "[special]" if link.reference is None else explanation.reference_words[link.reference].text
    first, second = (reference, hypothesis) if back else (hypothesis, reference)
    return f"'{first}' to '{second}'"


def _strongest(explanation: Explanation, one: Attribution) -> str:
    words = explanation.words(one.side)
    up = [number for number in sorted(range(len(words)), key=lambda n: -one.values[n]) if one.values[number] > 0]
    down = [number for number in sorted(range(len(words)), key=lambda n: one.values[n]) if one.values[number] < 0]
    texts = []
    for verb, chosen in (("raise", up), ("lower", down)):
        named = [f"'{words[number].text}' {one.values[number]:+.3f}" for number in chosen[:_MOST_NAMED]]
        texts += [f"{verb} it {_listed(named)}"] if named else []
    how = {"shapley": "By Shapley values", "leave-one-out": "Left out one by one"}[one.kind]
    return f"{how}, words that {' and that '.join(texts)} ({one.of})." if texts else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
