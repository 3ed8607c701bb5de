"""The plan that a model's int8 weights are made by: one that comes with the library, or one of the user's own."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path

from nlgauge.encoders.engines.quantised.plan import Plan
from nlgauge.errors import InputError, ModelError
from nlgauge.files.cache_dir import cache_dir
from nlgauge.files.digests import short_digest
from nlgauge.models.resolve import ModelFiles

__all__ = ["forget_own_plan", "keep_own_plan", "plan_of", "shipped_plan"]

_SHIPPED = Path(__file__).parent / "shipped"


def plan_of(files: ModelFiles) -> Plan:
    """The user's own plan for a model, else the shipped one, else an error that says how to make one."""
    with contextlib.suppress(InputError):  # there is none
        own = Plan.load(_own(files.digest))
        if own.weights == files.digest:
            return own
    shipped = shipped_plan(files.digest)
    if shipped is None:
        msg = (
            f"model {files.name!r} has no int8 plan yet; make one from texts like those to be scored: "
            f"nlgauge models quantise {files.name} --corpus FILE"
        )
        raise ModelError(msg)
    return shipped


def shipped_plan(digest: str) -> Plan | None:
    """The plan that comes with the library for a model of that digest."""
    return _shipped().get(digest)


def keep_own_plan(plan: Plan) -> Path:
    """Put a plan where `plan_of` finds it, and say where."""
    path = _own(plan.weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    plan.save(path)
    return path


def forget_own_plan(digest: str) -> bool:
    """Go back to the shipped plan of a model; whether there was one of the user's own."""
    path = _own(digest)
    there = path.is_file()
    path.unlink(missing_ok=True)
    return there


def _own(digest: str) -> Path:
    return cache_dir() / "int8" / f"{short_digest(digest)}.json"


@cache
def _shipped() -> dict[str, Plan]:
    return {plan.weights: plan for plan in map(Plan.load, sorted(_SHIPPED.glob("*.json")))}
