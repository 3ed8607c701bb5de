"""Time all variants of DiscoScore in one call: `make bench-documents`.

Uses SummEval if available ($NLGAUGE_DATA): 100 articles, 16 systems, 11 references; otherwise generated texts of the
same lengths. The call starts without annotations and vectors, and the target applies to all of it. Tagging, encoding
and the same call with tagged texts are also timed separately.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nlgauge
from benchmarks.corpus import made_texts
from benchmarks.harness import Bar, machine, peak_rss, say
from nlgauge.encoders.base import encode_texts
from nlgauge.encoders.load import load_encoder
from nlgauge.io.store.resolve import resolve
from nlgauge.text.annotators import SpacyAnnotator, load_annotator

__all__ = ["RECIPES", "main"]

_LIMIT_S = 60.0
_SENTENCES, _WORDS, _REFERENCES, _SYSTEMS, _ARTICLES = 3, 20, 11, 16, 100

#: Tables 1, 3, 4 and 6 of the paper, as released and as corrected, and their baselines. DS-Focus has P, R and their
#: mean as components.
RECIPES = [
    recipe
    for profile in ("released", "corrected")
    for focus in ("nn", "entity")
    for recipe in (
        f"ds-focus:profile={profile},focus={focus}",
        f"ds-sent:profile={profile},focus={focus}",
        f"ds-sent:profile={profile},focus={focus},adjacency=weighted",
    )
] + [
    "ds-focus:min_mentions=2",
    "ds-sent:adjacency=none",
    "ds-sent:match=greedy",
    "ds-sent:match=optimal",
    "focus-frequency",
]


class Documents(NamedTuple):
    """System outputs, and the references of each article."""

    systems: dict[str, list[str]]
    references: list[list[str]]
    origin: str

    @property
    def distinct(self) -> list[str]:
        """All distinct texts."""
        texts = [*(text for outputs in self.systems.values() for text in outputs)]
        return list(dict.fromkeys(texts + [text for group in self.references for text in group]))


def summaries() -> Documents:
    """SummEval, or generated texts of the same size."""
    folder = os.environ.get("NLGAUGE_DATA")
    path = Path(folder or ".") / "summ" / "summeval.jsonl"
    if not folder or not path.is_file():
        return _made()
    systems: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        systems.setdefault(row["system"], {})[row["doc"]] = row
    first = next(iter(systems.values()))
    outputs = {name: [rows[article]["hypothesis"] for article in first] for name, rows in systems.items()}
    return Documents(outputs, [row["references"] for row in first.values()], "SummEval")


def _made() -> Documents:
    count = _ARTICLES * (_SYSTEMS + _REFERENCES)
    sentences = [f"{text} ." for text in made_texts(count * _SENTENCES, _WORDS)]
    texts = [" ".join(sentences[i : i + _SENTENCES]) for i in range(0, len(sentences), _SENTENCES)]
    systems = {f"system-{i}": texts[i * _ARTICLES : (i + 1) * _ARTICLES] for i in range(_SYSTEMS)}
    rest = texts[_SYSTEMS * _ARTICLES :]
    groups = [rest[i : i + _REFERENCES] for i in range(0, len(rest), _REFERENCES)]
    return Documents(systems, groups, "generated texts")


def main(argv: Sequence[str] | None = None) -> int:
    """Time each part once and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.documents", description=__doc__)
    parser.add_argument("--model", default="minilm", help="encoder (%(default)s)")
    parser.add_argument("--articles", type=int, metavar="N", help="number of articles (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to this file")
    options = parser.parse_args(argv)
    documents = summaries()
    texts = Documents(
        {name: outputs[: options.articles] for name, outputs in documents.systems.items()},
        documents.references[: options.articles],
        documents.origin,
    )
    warnings.simplefilter("ignore", nlgauge.errors.NlgaugeWarning)
    nlgauge.score(
        ["A cat sat."], ["A cat."], metric="discoscore:focus=entity", model=options.model
    )  # imports, models
    annotator, distinct = load_annotator("spacy-en"), len(texts.distinct)
    before = annotator.annotated
    timed = _timed(texts, options.model)
    tagged = annotator.annotated - before
    environment = machine(["numpy", "onnxruntime", "spacy"])
    outputs = sum(map(len, texts.systems.values()))
    print(f"{len(RECIPES)} recipes, {outputs} outputs of {texts.origin}, {distinct} distinct texts, {options.model}")
    print(f"{'':<48}{'s':>8}{'CPU s':>22}")
    for name, (elapsed, used) in timed.items():
        print(f"{name:<48}{elapsed:>8.2f}{used:>22.2f}")
    print(f"{'peak RSS':<48}{peak_rss():>8.2f} GB")
    print("; ".join(f"{key} {value}" for key, value in environment.items()), end="\n\n")
    print(Bar("all variants in one call", timed["all variants in one call"][0], _LIMIT_S, "s", at_most=True))
    print(Bar("tagged texts per distinct text", tagged / distinct, 1.0, at_most=True))
    if options.json:
        report = {
            "machine": environment,
            "seconds": timed,
            "tagged": tagged,
            "distinct": distinct,
            "peak_gb": peak_rss(),
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def _timed(texts: Documents, model: str) -> dict[str, tuple[float, float]]:
    """Seconds and CPU seconds of the call and of its parts."""

    def run() -> None:
        # Only recipes with vectors have the option `model`.
        metrics = [recipe if recipe == "focus-frequency" else f"{recipe},model={model}" for recipe in RECIPES]
        nlgauge.score_systems(texts.systems, texts.references, metric=metrics)

    plain = SpacyAnnotator(resolve("spacy-en").path, name="spacy-en", sentences="rules", trees=False)

    def tag() -> None:
        plain.annotate(texts.distinct)

    def encode() -> None:
        encoder = load_encoder(model)
        tokens = encoder.tokenizer.encode(texts.distinct)
        for start in range(0, len(tokens), 256):
            encode_texts(encoder, tokens[start : start + 256], (round(encoder.layers * 2 / 3),), batch_tokens=4096)

    parts: dict[str, Callable[[], None]] = {
        "all variants in one call": run,
        "... again, with all texts tagged": run,
        "tagging alone": tag,
        "encoding alone": encode,
    }
    times = {}
    for name, part in parts.items():
        start, used = time.perf_counter(), time.process_time()
        part()
        times[name] = time.perf_counter() - start, time.process_time() - used
        say(f"{name}: {times[name][0]:.1f} s")
    return times


if __name__ == "__main__":
    sys.exit(main())
