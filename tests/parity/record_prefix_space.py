"""Records what bert-score 0.3.13 gives for a RoBERTa under transformers 4, which puts a space before each text.

    make .venv-bertscore/.installed
    .venv-bertscore/bin/python -m tests.parity.record_prefix_space tests/golden/roberta_prefix_space.json

The model is written anew (`tests/encoders/byte_level_models.py`), its weights are random. `make test-long` runs the
command again and compares. Nothing of nlgauge is imported here.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.encoders.byte_level_models import PAIRS, write_roberta

LAYER = 2

#: Texts that begin or end otherwise than with a word, and some with white space around them.
ODD = [
    ("  Two blanks before the text", "two blanks before the text"),
    ("\tA tab, and a line end\n", "A tab and no line end"),
    ('"Quoted" from the start', "Quoted from the start"),
    ("...", "?!"),
    ("émigrés wrote in 1923", "1923 emigrants wrote"),
    ("the", "The"),
    ("of the of the", "the of the of"),
    ("storm", "The storm"),
]


def record() -> dict[str, Any]:
    """P, R and F of the slow tokenizer (the default of bert-score), with idf, and of the fast tokenizer."""
    import bert_score

    with tempfile.TemporaryDirectory() as name:
        folder = write_roberta(Path(name) / "roberta")
        pairs = [*PAIRS, *ODD]
        hyps, refs = map(list, zip(*pairs, strict=True))
        options = {"model_type": str(folder), "num_layers": LAYER, "device": "cpu", "nthreads": 0, "batch_size": 1}
        calls: dict[str, dict[str, Any]] = {
            "slow": {},
            "slow-idf": {"idf": True},
            "fast": {"use_fast_tokenizer": True},
        }
        scores = {
            call: [
                [round(float(value), 6) for value in part] for part in bert_score.score(hyps, refs, **options, **own)
            ]
            for call, own in calls.items()
        }
        digests = {
            file: hashlib.sha256((folder / file).read_bytes()).hexdigest()
            for file in ("model.safetensors", "vocab.json", "merges.txt")
        }
    packages = ("bert-score", "transformers", "tokenizers", "torch")
    return {
        "about": "P, R, F of bert-score; written by: python -m tests.parity.record_prefix_space FILE",
        "packages": {name: version(name).partition("+")[0] for name in packages},
        "model": digests,
        "layer": LAYER,
        "pairs": pairs,
        "scores": scores,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")
