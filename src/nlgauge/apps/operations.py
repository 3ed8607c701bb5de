"""The table of operations: what the command line, the service and its clients offer, one entry each.

`docs/extending.md` shows how to add one.
"""

from __future__ import annotations

from functools import cache

from nlgauge.core.operations import (
    CANDIDATES,
    LISTS,
    Operation,
    added_operations,
    check_names,
)

_BUILT_IN = (
    Operation(
        name="rank",
        function="nlgauge.core.rank:rank",
        inputs=CANDIDATES,
        result="nlgauge.core.rank:Ranking",
        help="choose the best of several candidates for each segment",
        pairs="nlgauge.core.rank:count_pairs",
    ),
    Operation(
        name="matrix",
        function="nlgauge.core.matrix:matrix",
        inputs=LISTS,
        result="nlgauge.core.matrix:ScoreMatrix",
        help="score every text of one list against every text of another",
        pairs="nlgauge.core.matrix:count_pairs",
    ),
)


@cache
def operations() -> dict[str, Operation]:
    """All operations by name, those of installed packages last."""
    known = (*_BUILT_IN, *added_operations())
    check_names(known)
    return {operation.name: operation for operation in known}
