"""What a reader of a comparison must know beside its numbers, in sentences."""

from __future__ import annotations

from nlgauge.compare.draws import Sample
from nlgauge.compare.intervals import LEAST_UNITS, NARROW
from nlgauge.compare.pairs import LEAST_FOR_A_VERDICT, smallest_p
from nlgauge.compare.results import MetricComparison
from nlgauge.compare.settings import CompareSettings
from nlgauge.errors import SignatureError
from nlgauge.recipes.composite import member_signatures
from nlgauge.recipes.signature import Signature
from nlgauge.stats.bootstrap import FEW

__all__ = ["notes", "own_idf_notes"]

#: Names listed before "and N more".
_NAMES = 5
#: Share of ties from which on they are mentioned.
_MANY_TIES = 0.25


def notes(found: MetricComparison, sample: Sample, settings: CompareSettings) -> tuple[str, ...]:
    """What was decided, or must be doubted, about the comparison by one metric."""
    if len(found.systems) < 2:
        return ("one system has nothing to be compared with",)
    return (
        *_size(found, sample, settings),
        *own_idf_notes(found.signature),
        *_opposed(found, settings),
        *_copies(sample),
        *_strengths(found, settings),
        *_winners(found),
    )


def own_idf_notes(signature: str) -> list[str]:
    """Metrics that weigh a system's output by idf of that output alone, with the recipe that does not."""
    try:
        members = member_signatures(Signature.parse(signature))
    except SignatureError:  # scores of another tool
        return []
    metrics = dict.fromkeys(one.metric for one in members if one.recipe.get("idf", "").startswith("both["))
    return [
        f"{metric} counts idf on each system's own output, so that the same output of two systems can get different "
        f"scores; to avoid this, add idf=refs to the recipe: {metric}:idf=refs"
        for metric in metrics
    ]


def _size(found: MetricComparison, sample: Sample, settings: CompareSettings) -> list[str]:
    unit = "documents" if found.documents is not None else "instances"
    said = []
    if sample.units < LEAST_UNITS:
        said.append(f"{sample.units} {unit}: no intervals, and no difference is called significant")
    elif sample.units < LEAST_FOR_A_VERDICT:
        said.append(
            f"{sample.units} {unit}: fewer than {LEAST_FOR_A_VERDICT}, so no difference is called significant"
        )
    drawn = settings.test in ("bootstrap", "randomisation") and settings.correction == "holm"
    enough = sample.units >= LEAST_FOR_A_VERDICT
    least = smallest_p(settings, units=sample.units, differing=found.n) if drawn and enough else 0.0
    if least * len(found.pairs) >= settings.alpha:
        said.append(
            f"{settings.score_draws} draws cannot show a difference after Holm's correction for {len(found.pairs)} "
            "pairs; take more permutations, or test t"
        )
    if LEAST_UNITS <= sample.units < FEW:
        said.append(NARROW)
    if sample.table.statistics is not None:
        others = ["effect", *(name for name in settings.tests if name not in ("bootstrap", "randomisation"))]
        said.append(f"{', '.join(others)}: of the scores of instances, not of the corpus score")
        turned = [row for row in found.pairs if row.effect is not None and row.effect * row.difference < 0]
        if turned:
            named = _named([f"{row.first} and {row.second}" for row in turned])
            said.append(f"instances favour the other system than the corpus score does (see effect): {named}")
    elif found.documents is not None:
        others = [name for name in settings.tests if name in ("wilcoxon", "sign", "sign-ties-in", "mood")]
        if others:
            said.append(f"{', '.join(others)}: instances of a document are taken for independent")
    if settings.ratings and not settings.shuffles:
        said.append("Elo and TrueSkill depend on the order of systems and instances; shuffles average over orders")
    if settings.ranking == "median":
        said.append(
            "ranked by the median, but scores, intervals, tests and clusters are of the mean (or corpus score)"
        )
    if settings.ranking == "bt" and settings.test not in ("sign", "sign-ties-in", "wilcoxon"):
        said.append(f"ranked by Bradley-Terry, but test {settings.test} is about scores; sign fits")
    return said


def _opposed(found: MetricComparison, settings: CompareSettings) -> list[str]:
    """Pairs whose test is on the other side than their scores, so that neither system is called better."""
    pairs = [row for row in found.pairs if row.opposed]
    said = []
    for row in pairs[:_NAMES]:
        other = row.second if row.favoured == row.first else row.first
        scores = f"the score of {other} is better" if row.difference else "their scores are equal"
        said.append(
            f"test {settings.test} favours {row.favoured} over {other} (p = {row.p_adjusted:.2g}), but {scores}: "
            "neither is called better"
        )
    if len(pairs) > _NAMES:
        said.append(f"test and score are opposed for {len(pairs) - _NAMES} more pairs; none has a verdict")
    return said


def _copies(sample: Sample) -> list[str]:
    """Systems with the same scores everywhere: a file given twice, or two names for one system."""
    groups: dict[bytes, list[str]] = {}
    for name, column in zip(sample.table.systems, sample.table.values.T, strict=True):
        groups.setdefault((column + 0.0).tobytes(), []).append(name)
    return [f"{_named(group)} have the same score on every instance" for group in groups.values() if len(group) > 1]


def _strengths(found: MetricComparison, settings: CompareSettings) -> list[str]:
    said = []
    if found.diagnostics.ties == 1:
        return ["all systems tie on every instance"]
    if found.diagnostics.ties > _MANY_TIES:
        said.append(f"{found.diagnostics.ties:.0%} of comparisons tie; ties count by policy {settings.ties}")
    if not found.connected:
        said.append(
            "wins do not lead from every system to every other one, so Bradley-Terry strengths have no finite size; "
            "their order stands"
        )
    for what, names in (
        ("never won an instance", [row.system for row in found.systems if row.never_won]),
        ("never lost an instance", [row.system for row in found.systems if row.never_lost]),
    ):
        if names:
            said.append(f"{_named(names)} {what}")
    return said


def _winners(found: MetricComparison) -> list[str]:
    said = []
    strengths = {row.system: row.bradley_terry for row in found.systems}
    if found.condorcet is not None and strengths[found.condorcet] < strengths[found.bt_winner]:
        said.append(
            f"{found.condorcet} beats every other system on more instances than it loses, yet {found.bt_winner} has "
            "the highest Bradley-Terry strength"
        )
    ranks = {row.system: row.rank for row in found.systems}
    if ranks[found.bt_winner] > 1 and found.diagnostics.ties < 1:
        said.append(f"{found.winner} comes first, but {found.bt_winner} has the highest Bradley-Terry strength")
    return said


def _named(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES} more"
