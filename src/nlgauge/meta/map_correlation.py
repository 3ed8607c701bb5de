"""What a map between languages does for a metric that compares translations with their sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nlgauge.errors import InputError
from nlgauge.scoring import score
from nlgauge.stats import correlate

__all__ = ["check_rated", "xmoverscore_correlation"]


def check_rated(sources: Sequence[str], hyps: Sequence[str], human: Sequence[float]) -> None:
    """Refuse translations that cannot be correlated with people's scores."""
    if not len(sources) == len(hyps) == len(human):
        msg = f"expected as many sources, outputs and scores, got {len(sources)}, {len(hyps)} and {len(human)}"
        raise InputError(msg)
    if len(human) < 3 or not np.isfinite(human).all():
        msg = "a correlation needs three or more finite scores of people"
        raise InputError(msg)


def xmoverscore_correlation(
    sources: Sequence[str], hyps: Sequence[str], human: Sequence[float], *, transforms: str = "none", **options: Any
) -> float:
    """Pearson's r of people's scores with XMoverScore without a language model, under the transforms of a file.

    The chapter's RFEval leaves the language model out, so that only vectors count.
    """
    check_rated(sources, hyps, human)
    found = score(hyps, sources=sources, metric="xmoverscore", lm="none", transforms=transforms, **options)
    return correlate(found.segments[found.main], human).value
