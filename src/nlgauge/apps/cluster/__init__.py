"""Score tables of any size: shards in processes, on a Ray cluster or as jobs of a batch system (docs/cluster.md).

import nlgauge.apps.cluster as many

many.score("pairs.parquet", "scores/", columns={"hyp": "mt", "ref": "ref"}, executor=many.Local(8))
print(many.merge("scores/").scores)
"""

from nlgauge.apps.cluster.driver import Prediction, Run, dry_run, score
from nlgauge.apps.cluster.executors import Executor, Local, Ray, Shard
from nlgauge.apps.cluster.parts import Merged, RowError, merge
from nlgauge.apps.cluster.shards import parse_columns

__all__ = [
    "Executor",
    "Local",
    "Merged",
    "Prediction",
    "Ray",
    "RowError",
    "Run",
    "Shard",
    "dry_run",
    "merge",
    "parse_columns",
    "score",
]
