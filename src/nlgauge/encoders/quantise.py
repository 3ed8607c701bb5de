"""Make the plan by which a model is computed in eight bits (`nlgauge models quantise`)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from nlgauge.encoders.engines.graph_encoder import GraphEncoder
from nlgauge.encoders.engines.quantised.calibrate import STRENGTH, calibrate
from nlgauge.encoders.engines.quantised.plan import Plan
from nlgauge.encoders.engines.quantised.plans import forget_own_plan, keep_own_plan, plan_of
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.loaded import release_models
from nlgauge.errors import DataWarning, UnsupportedModelError, user_stacklevel
from nlgauge.models.resolve import resolve

__all__ = ["ENOUGH_TEXTS", "quantise_model", "use_shipped_plan"]

#: From fewer texts, ranges miss values that occur in others.
ENOUGH_TEXTS = 100


def quantise_model(
    model: str,
    texts: Sequence[str],
    *,
    about: str = "",
    strength: float = STRENGTH,
    threads: int | None = None,
    progress: bool = False,
) -> Plan:
    """Take the ranges of a model's products from texts, and compute the model by them in eight bits from now on.

    The plan is kept in the cache folder and takes the place of the shipped one. Scores made by another plan have
    another signature and do not compare.
    """
    encoder = load_encoder(model, threads=threads, progress=progress)
    if not isinstance(encoder, GraphEncoder):
        msg = f"model {model!r} brings its own engine, which does not compute in eight bits"
        raise UnsupportedModelError(msg)
    if len(texts) < ENOUGH_TEXTS:
        msg = (
            f"{len(texts)} texts are few to take the ranges of an int8 model from; take at least {ENOUGH_TEXTS}, "
            "like those to be scored"
        )
        warnings.warn(msg, DataWarning, stacklevel=user_stacklevel())
    plan = calibrate(encoder, texts, about=about, strength=strength)
    keep_own_plan(plan)
    release_models()  # one that is loaded has the plan that it was loaded with
    return plan


def use_shipped_plan(model: str, *, progress: bool = False) -> Plan:
    """Go back to the plan that comes with the library, or an error where there is none."""
    files = resolve(model, progress=progress)
    forget_own_plan(files.digest)
    release_models()
    return plan_of(files)
