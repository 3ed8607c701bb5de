"""Options that combine layers and choose tokens, shared by metrics on token vectors."""

from __future__ import annotations

from typing import Any

from nlgauge.core.kinds import Choice, Float, Kind, NumberList
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.vectors.points import PUNCTUATION, ROUTING_DENOMINATORS, ROUTING_KERNELS, SUBWORDS, Routing

#: Constants of routing over layers: default, kind, help, and whether it is optional in signatures.
_ROUTING: dict[str, tuple[Any, Kind, str, bool]] = {
    "step": (1.0, Float(1e-6, 1e6), "step size of layer routing (alpha)", False),
    "epsilon": (0.05, Float(1e-12, 1e6), "change of the agreement below which layer routing stops", False),
    "kernel": ("epanechnikov", Choice(*ROUTING_KERNELS), "kernel of layer routing", True),
    "denominator": (
        "weighted",
        Choice(*ROUTING_DENOMINATORS),
        "divisor of layer routing; weighted: sum of gamma k'; published: sum of k'",
        True,
    ),
}

#: The aggregation that an option applies to.
_OWNERS = {"exponents": "pmeans"} | dict.fromkeys((f"routing_{name}" for name in _ROUTING), "kde-routing")


def exponents_option(*, optional: bool = False) -> Any:
    """The exponents of power means over layers."""
    return option(
        "-inf+1+inf",
        NumberList(finite=False),
        help="exponents of the power means; -inf: minimum, 1: mean, inf: maximum",
        optional=optional,
    )


def routing_option(name: str) -> Any:
    """A constant of routing over layers: step, epsilon, kernel or denominator."""
    default, kind, help_text, optional = _ROUTING[name]
    return option(default, kind, help=help_text, optional=optional)


def routing_of(recipe: Any) -> Routing:
    """The constants of routing in a recipe."""
    return Routing(*(getattr(recipe, f"routing_{name}") for name in _ROUTING))


def subwords_option(default: Any = BY_PROFILE, *, optional: bool = False) -> Any:
    """The word pieces to keep."""
    help_text = "word pieces to keep: the first of each word, all, or their average"
    return option(default, Choice(*SUBWORDS), help=help_text, optional=optional)


def punctuation_option(default: Any = BY_PROFILE, *, optional: bool = False) -> Any:
    """Whether to drop punctuation."""
    return option(default, Choice(*PUNCTUATION), help="whether to drop punctuation tokens", optional=optional)


def unused_by(aggregation: str) -> dict[str, str]:
    """Options that apply to another aggregation, with the reason."""
    return {
        name: f"has no effect with aggregation={aggregation} (only with aggregation={owner})"
        for name, owner in _OWNERS.items()
        if owner != aggregation
    }
