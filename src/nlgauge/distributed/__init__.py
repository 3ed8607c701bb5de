"""Tables of any size: shards on processes, on a Ray cluster or as jobs of a batch system (docs/cluster.md).

import nlgauge.distributed as many

many.score("pairs.parquet", "scores/", columns={"hyp": "mt", "ref": "ref"}, executor=many.Local(8))
print(many.merge("scores/").scores)
"""

from nlgauge.distributed.columns import parse_columns
from nlgauge.distributed.executors import Executor, Local, Ray, Shard
from nlgauge.distributed.merged import Merged, RowError, merge
from nlgauge.distributed.prediction import Prediction, dry_run
from nlgauge.distributed.run import Run, score

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
