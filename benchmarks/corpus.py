"""Texts for benchmarks: WMT17 if available, otherwise generated texts of the same lengths.

`$NLGAUGE_DATA` names the folder of data sets. Without it all texts are generated from a seed, so a benchmark runs
anywhere. Results name the origin of their texts, because only results on the same texts are comparable.
"""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Pairs", "Systems", "made_texts", "pairs", "systems"]

_SEED = 20170907
_PAIRS = 1120
_DIRECTIONS = ("cs-en", "de-en")

# Statistics of the 1,120 pairs, measured once (words are separated by white space; deciles 0, 10, ..., 100 %).
_REFERENCE_WORDS = (2, 10, 13, 16, 18, 20, 23, 26, 31, 36, 73)
#: Words of the hypothesis per word of its reference.
_LENGTH_RATIO = (0.5, 0.79, 0.87, 0.92, 0.97, 1.0, 1.04, 1.08, 1.13, 1.23, 2.13)
#: Share of pairs whose reference also occurs in another pair (978 of the 1,120 are distinct).
_REPEATED = 142 / 1120
#: Share of system outputs identical to those of another system (de-en, first 500 segments, ten systems).
_SHARED = 0.14
#: Share of a hypothesis' words that occur in its reference.
_KEPT = 0.69

# Frequent words, and some that a WordPiece vocabulary splits: 1.13 tokens per word (the pairs: 1.16).
_WORD_LIST = """
the of and to in a that is was for on with as by at from his he it be has had are an which their this were
but not they who have been its after said new more one will also about when there two people first would all
year other years out up only can over time some could into last most than government police them him against
three under city because made between before country under many where state while since president during
school former party still national both world company market week court house public four days minister
right support report home group million high team season game part several next early five long small
including night members water north local later win found young children woman story morning evening river
bridge station office doctor question answer letter window garden music winter summer village teacher price
unemployment refurbishment Bundestag Schwarzenegger Kaczynski coalition's microelectronics wholeheartedly
Novosibirsk undersecretary
"""
_WORDS = tuple(_WORD_LIST.split())


class Pairs(NamedTuple):
    """Hypotheses with one reference each."""

    hypotheses: list[str]
    references: list[str]
    origin: str


class Systems(NamedTuple):
    """Outputs of several systems for the same references."""

    outputs: dict[str, list[str]]
    references: list[str]
    origin: str


def pairs() -> Pairs:
    """The 1,120 pairs: segment judgements of WMT17 cs-en and de-en, or generated ones like them."""
    folder = _data_folder("wmt17/testset")
    if folder is None:
        return _generated_pairs()
    hypotheses, references = [], []
    for direction in _DIRECTIONS:
        with (folder / f"testset_{direction}.tsv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                hypotheses.append(row["translation"])
                references.append(row["reference"])
    return Pairs(hypotheses, references, "WMT17 cs-en and de-en")


def systems(count: int = 10, segments: int = 500) -> Systems:
    """The first systems (by file name) and segments of WMT17 de-en, or generated ones like them."""
    root = _data_folder("wmt17")
    files = sorted((root / "system-outputs/de-en").glob("*.de-en")) if root is not None else []
    if root is None or len(files) < count:
        return _generated_systems(count, segments)
    references = _lines(root / "references/newstest2017-deen-ref.en", segments)
    outputs = {file.name.split(".")[1]: _lines(file, segments) for file in files[:count]}
    return Systems(outputs, references, "WMT17 de-en")


def made_texts(count: int, words: int, *, seed: int = _SEED) -> list[str]:
    """Generate distinct texts of one length in words."""
    source = random.Random(seed)
    texts = dict.fromkeys(_sentence(source, words) for _ in range(count))
    while len(texts) < count:
        texts[_sentence(source, words)] = None
    return list(texts)


def _data_folder(name: str) -> Path | None:
    root = os.environ.get("NLGAUGE_DATA")
    folder = Path(root) / name if root else None
    return folder if folder is not None and folder.is_dir() else None


def _lines(path: Path, count: int) -> list[str]:
    # Not splitlines(), which also breaks at separators inside a segment; some files start with a byte order mark.
    lines = path.read_text(encoding="utf-8-sig").split("\n")[:count]
    if len(lines) < count:
        msg = f"{path.name} has {len(lines)} lines, expected at least {count}"
        raise ValueError(msg)
    return lines


def _generated_pairs() -> Pairs:
    source = random.Random(_SEED)
    distinct = [_sentence(source, _words(source)) for _ in range(round(_PAIRS * (1 - _REPEATED)))]
    references = distinct + source.choices(distinct, k=_PAIRS - len(distinct))
    return Pairs([_version(source, text) for text in references], references, "generated")


def _generated_systems(count: int, segments: int) -> Systems:
    source = random.Random(_SEED + 1)
    references = [_sentence(source, _words(source)) for _ in range(segments)]
    outputs: dict[str, list[str]] = {}
    for number in range(1, count + 1):
        before = list(outputs.values())
        # The first system has no earlier one to agree with, so the others agree a little more often.
        share = _SHARED * count / max(1, count - 1)
        outputs[f"system-{number}"] = [
            source.choice(before)[i] if before and source.random() < share else _version(source, text)
            for i, text in enumerate(references)
        ]
    return Systems(outputs, references, "generated")


def _words(source: random.Random) -> int:
    return round(_quantile(_REFERENCE_WORDS, source.random()))


def _quantile(deciles: Sequence[float], share: float) -> float:
    place = share * (len(deciles) - 1)
    below = min(int(place), len(deciles) - 2)
    return deciles[below] + (place - below) * (deciles[below + 1] - deciles[below])


def _sentence(source: random.Random, words: int) -> str:
    return " ".join([*source.choices(_WORDS, k=words - 1), "."])


def _version(source: random.Random, reference: str) -> str:
    """Imitate a system's output: another length, some words replaced."""
    words = reference.split()
    length = max(2, round(len(words) * _quantile(_LENGTH_RATIO, source.random())))
    matches = (i < len(words) and source.random() < _KEPT for i in range(length - 1))
    return " ".join([*(words[i] if keep else source.choice(_WORDS) for i, keep in enumerate(matches)), "."])
