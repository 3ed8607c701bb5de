"""The table of operations that the command line, the service and its clients offer.

`docs/extending.md` shows how to add one.
"""

from __future__ import annotations

from functools import cache

from nlgauge.core.operations import (
    CANDIDATES,
    DOCUMENTS,
    LISTS,
    PAIR,
    SEGMENTS,
    SYSTEMS,
    Operation,
    added_operations,
    check_names,
)
from nlgauge.errors import RecipeError

_EXPLAIN = "nlgauge.studies.explain.explanation:ExplainOptions"

_BUILT_IN = (
    Operation(
        name="score",
        function="nlgauge.core.scoring:score_systems",
        inputs=SYSTEMS,
        result="nlgauge.core.score_table:ScoreTable",
        help="score system outputs with one or more metrics",
        metric="several",
        command=False,  # written separately: it saves runs, scores tables in shards and merges them
    ),
    Operation(
        name="compare",
        function="nlgauge.studies.compare.systems:compare",
        inputs=SYSTEMS,
        result="nlgauge.studies.compare.comparison:ScoredComparison",
        help="score systems and test differences for significance",
        options=("nlgauge.studies.compare.comparison:CompareSettings",),
        metric="several",
        command=False,  # written separately: it reads saved runs, and its gate sets the exit status
    ),
    Operation(
        name="compare-until-certain",
        function="nlgauge.studies.compare.until_certain:compare_until_certain",
        inputs=SYSTEMS,
        result="nlgauge.studies.compare.early_comparison:EarlyComparison",
        help="compare systems on as many segments as a certain verdict needs",
        options=("nlgauge.studies.compare.stopping:StopRule",),
        metric="several",
        command=False,  # `nlgauge compare --until-certain`
        without=("alignments",),
    ),
    Operation(
        name="rank",
        function="nlgauge.core.rank:rank",
        inputs=CANDIDATES,
        result="nlgauge.core.rank:Ranking",
        help="choose the best of several candidates for each segment",
        options=("nlgauge.core.pruning:PruneOptions",),
        pairs="nlgauge.core.rank:count_pairs",
        without=("alignments",),
    ),
    Operation(
        name="matrix",
        function="nlgauge.core.pairs:matrix",
        inputs=LISTS,
        result="nlgauge.core.pairs:ScoreMatrix",
        help="score every text of one list against every text of another",
        pairs="nlgauge.core.pairs:count_pairs",
        without=("alignments",),
    ),
    Operation(
        name="explain",
        function="nlgauge.studies.explain.pairs:explain_pair",
        inputs=PAIR,
        result="nlgauge.studies.explain.explanation:Explanation",
        help="explain the score of one pair by its word matches and contributions",
        options=(_EXPLAIN,),
        command=False,  # written separately: its texts are arguments, not files
        without=("alignments",),
    ),
    Operation(
        name="explain-pairs",
        function="nlgauge.studies.explain.pairs:explain_pairs",
        inputs=SEGMENTS,
        result="nlgauge.studies.explain.explanation:Explanations",
        help="explain the score of each pair of a corpus",
        options=(_EXPLAIN,),
        group="explain",
        at_once=False,
        without=("alignments",),
    ),
    Operation(
        name="explain-corpus",
        function="nlgauge.studies.explain.corpus:explain_corpus",
        inputs=SEGMENTS,
        result="nlgauge.studies.explain.corpus:CorpusSummary",
        help="summarise which words contribute to the scores of a corpus",
        options=(_EXPLAIN, "nlgauge.studies.explain.corpus:CorpusOptions"),
        group="explain",
        at_once=False,
        command="nlgauge.apps.cli.explain:change_corpus",
        without=("alignments", "shapley", "leave_one_out", "lime", "beside", "matrix"),
    ),
    Operation(
        name="discourse",
        function="nlgauge.studies.discourse:discourse",
        inputs=DOCUMENTS,
        result="nlgauge.studies.discourse:Discourse",
        help="compute discourse features of documents",
        options=("nlgauge.studies.discourse:DiscourseOptions",),
        metric="none",
        group="study",
        at_once=False,
        command="nlgauge.apps.cli.studies:change_discourse",
    ),
    Operation(
        name="sensitivity",
        function="nlgauge.studies.sensitivity.measure:sensitivity",
        inputs=SYSTEMS,
        result="nlgauge.studies.sensitivity.results:Sensitivity",
        help="measure how preprocessing changes scores and ranks",
        options=("nlgauge.studies.sensitivity.measure:SensitivityOptions",),
        metric="several",
        group="study",
        at_once=False,
        command="nlgauge.apps.cli.studies:change_sensitivity",
        without=("alignments",),
    ),
)


#: Other methods of the service's clients.
CLIENT_METHODS = ("close", "compare_systems", "describe", "job", "metrics", "models", "score", "stress", "submit")


@cache
def operations() -> dict[str, Operation]:
    """All operations by name, those of installed packages last."""
    added = added_operations()
    known = (*_BUILT_IN, *added)
    check_names(known)
    for operation in added:
        if operation.method in CLIENT_METHODS or operation.method.startswith("_"):
            taken = ", ".join(CLIENT_METHODS)
            msg = (
                f"operation {operation.name!r}: its function cannot be a method of nlgauge.Client under the name "
                f"{operation.method!r}; rename the function (no leading underscore, and none of {taken})"
            )
            raise RecipeError(msg)
    return {operation.name: operation for operation in known}
