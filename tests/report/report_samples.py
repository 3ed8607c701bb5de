"""Comparisons for tests of the HTML report: small and plain, hostile, and as large as the page must bear."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from typing import Any, NamedTuple

import numpy as np
from tests.studies.compare.made_scores import scores_of

from nlgauge.core.signature import Signature
from nlgauge.report.inputs import PairExplanation, ReportTexts
from nlgauge.studies.compare.comparison import SystemComparison
from nlgauge.studies.compare.system_scores import SystemScores
from nlgauge.studies.compare.systems import compare_systems

REFERENCES = [
    "The ferry was called off because of the storm.",
    "Bread is good.",
    "ذهب الولد إلى المدرسة صباحا.",
    "猫がソファーで寝ている。",
    "She has been writing letters to her grandmother since March.",
    "A family of ducks 🦆 crossed the road.",
]

#: What somebody might put into a name or a text to make the page run it, or to break out of where it stands.
HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "{{data}} {{script}} ${x} \\u003cb\\u003e <!-- <b>bold</b> &lt;i&gt;",
    "tab\there\nline\x00nul \ud800 half",
    "javascript:window.hacked=1",
]


class Sample(NamedTuple):
    """What `write_report` takes."""

    comparison: SystemComparison
    scores: list[SystemScores]
    texts: ReportTexts


def sample(systems: int = 2, segments: int = 40, metrics: tuple[str, ...] = ("bertscore", "chrf")) -> Sample:
    """Systems that differ by a little, with texts; the first one is best."""
    rng = np.random.default_rng(7)
    names = tuple(
        f"system-{'abcdefgh'[index]}" if systems <= 8 else f"system-{index:02d}" for index in range(systems)
    )
    tables = []
    for metric in metrics:
        hard = rng.normal(0.7, 0.1, (segments, 1))
        values = hard + rng.normal(0, 0.03, (segments, systems)) - 0.03 * np.arange(systems)
        scale = 100 if metric == "chrf" else 1
        higher = metric != "baryscore"
        tables.append(
            scores_of(
                metric,
                names,
                scale * (values if higher else 1 - values),
                higher_is_better=higher,
                signature=f"{metric}|refs:1",
            )
        )
    references = [[REFERENCES[index % len(REFERENCES)]] for index in range(segments)]
    outputs = {name: [f"{texts[0]} {name} {index}" for index, texts in enumerate(references)] for name in names}
    return made(tables, ReportTexts(outputs, references))


def made(tables: list[SystemScores], texts: ReportTexts, **options: Any) -> Sample:
    comparison = compare_systems(tables, **{"permutations": 200, "resamples": 200} | options)
    return Sample(comparison, tables, texts)


def hostile() -> Sample:
    """Names and texts that look like markup, in all places where users' words go."""
    segments = 12
    rng = np.random.default_rng(3)
    names = tuple(HOSTILE[:4])
    values = rng.normal(0.6, 0.1, (segments, 4)) - 0.1 * np.arange(4)
    instances = tuple(f"{HOSTILE[index % 3]} {index}" for index in range(segments))
    signature = str(Signature("m", {"text": HOSTILE[0]}))
    tables = [
        scores_of(metric, names, values, signature=signature, instances=instances)
        for metric in (HOSTILE[2], "<b>m</b>")
    ]
    lines = [HOSTILE[index % len(HOSTILE)] for index in range(segments)]
    return made(tables, ReportTexts(dict.fromkeys(names, lines), [[line] for line in lines], lines))


def large() -> Sample:
    """20 systems x 3,000 segments x 3 metrics, with texts of the length of news sentences."""
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghijklmnoprstuvwy", k=draw.randint(2, 9))) for _ in range(8000)]

    def word() -> str:
        return words[min(int(draw.paretovariate(0.6)), len(words) - 1)]

    references = [[" ".join(word() for _ in range(draw.randint(8, 35)))] for _ in range(3000)]
    plain = sample(20, 3000, ("bertscore", "chrf", "baryscore"))
    outputs = {}
    for index, name in enumerate(plain.scores[0].systems):
        wrong = 0.2 + 0.02 * index
        outputs[name] = [
            " ".join(word() if draw.random() < wrong else kept for kept in texts[0].split()) for texts in references
        ]
    return made(plain.scores, ReportTexts(outputs, references))


def explained(sample: Sample, segments: list[int], *, metric: str = "bertscore") -> list[PairExplanation]:
    """Explanations as `Explanation.to_dict` gives them: words matched by their places."""
    result = []
    for system, outputs in sample.texts.systems.items():
        for segment in segments:
            assert sample.texts.references is not None
            texts = (outputs[segment], sample.texts.references[segment][0])
            result.append(PairExplanation(metric, system, segment, explanation(*texts)))
    return result


def explanation(hypothesis: str, reference: str) -> dict[str, Any]:
    """A record like `Explanation.to_dict()`."""
    sides = [_words(text) for text in (hypothesis, reference)]
    links: list[dict[str, Any]] = []
    for index in range(min(map(len, sides))):
        values = {"weight": 0.1, "similarity": 1 - 0.05 * index, "cost": None}
        links += [
            {"kind": kind, "hypothesis": index, "reference": index, **values} for kind in ("forward", "backward")
        ]
    links.append(
        {"kind": "forward", "hypothesis": None, "reference": 0, "weight": 0.1, "similarity": 0.5, "cost": None}
    )
    return {
        "hypothesis": {"text": hypothesis, "words": sides[0]},
        "reference": {"text": reference, "words": sides[1]},
        "against": "reference",
        "sentence": f"{hypothesis}: a sentence.",
        "links": links,
        "attributions": [
            {"kind": "linear", "of": of, "side": side, "values": [0.1] * len(words)}
            for of, side, words in (("precision", "hypothesis", sides[0]), ("recall", "reference", sides[1]))
        ],
    }


def _words(text: str) -> list[dict[str, Any]]:
    return [{"text": word, "removed": "stop word" if word == "the" else ""} for word in text.split()]


def unpacked(page: str, name: str = "page-data") -> dict[str, Any]:
    """The data of a page, as a browser would read it."""
    result = re.search(rf'<script type="application/gzip;base64" id="{name}">([A-Za-z0-9+/=]*)</script>', page)
    assert result is not None
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(result[1])))
    return content
