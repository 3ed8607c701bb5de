"""What of a model's config.json its vectors depend on, as one digest.

The same weights are another model with another number of heads or another epsilon. Which keys matter depends on the
family and on the engine, so every key counts but those that are known to move no number; a key that is written out
with its default value therefore counts too. Order, white space and the keys below do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nlgauge.files.digests import text_digest

__all__ = ["HARMLESS_KEYS", "config_digest"]

#: Where a file came from, what only training or generation reads, and types that are always float32 here.
HARMLESS_KEYS = frozenset(
    {
        "_commit_hash",
        "_name_or_path",
        "_num_labels",
        "architectures",
        "attention_probs_dropout_prob",
        "classifier_dropout",
        "dtype",
        "finetuning_task",
        "gradient_checkpointing",
        "hidden_dropout_prob",
        "id2label",
        "initializer_range",
        "label2id",
        "problem_type",
        "task_specific_params",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    }
)


def config_digest(config: Mapping[str, Any]) -> str:
    """sha256 of the keys that matter.

    >>> config_digest({"layer_norm_eps": 1e-12, "use_cache": True}) == config_digest({"layer_norm_eps": 1e-12})
    True
    """
    kept = {key: value for key, value in config.items() if key not in HARMLESS_KEYS}
    return text_digest(json.dumps(kept, sort_keys=True))
