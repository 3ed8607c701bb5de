"""Re-mappings for rows of published tables, fitted to parallel text that the rows are not tested on.

Papers fit a map for each language pair on other text. Here it is another year's newstest: the first 2,000 sources and
references (the number of the paper). A language pair that no other year has uses the lines of its own newstest that
are not judged; where all lines are scored, as in tables of systems, there is no parallel text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nlgauge.data.cards import find_data_card, locate
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.loaders.wmt import WmtPackage
from nlgauge.encoders.load import load_encoder
from nlgauge.encoders.sentences import load_sentence_encoder
from nlgauge.errors import InputError
from nlgauge.studies.alignment.from_texts import VectorPairs, fit_vectors, sentences_of_texts, words_of_texts
from nlgauge.studies.alignment.word_spaces import AlignmentInputs

if TYPE_CHECKING:
    from nlgauge.studies.published.reproduce import Request

#: Number of pairs of texts in the paper.
PAIRS = 2000

_YEARS = (2017, 2018, 2019)


class ParallelText(NamedTuple):
    """Sources with their references, and where they come from."""

    source: Sequence[str]
    target: Sequence[str]
    description: str


def find_parallel_text(table: JudgementTable, langpair: str, at: str | Path) -> ParallelText:
    """Find parallel text for a language pair of a WMT data set, without its judged lines."""
    if not re.fullmatch(r"wmt1[789]", table.name):
        msg = f"re-mappings are fitted for packages of WMT17 to WMT19 only, not for {table.name}"
        raise InputError(msg)
    year = 2000 + int(table.name.removeprefix("wmt"))
    judged = {source for source, pair in zip(table.source or (), table.langpair, strict=True) if pair == langpair}
    for other in (*sorted(set(_YEARS) - {year}, key=lambda other: (abs(other - year), -other)), year):
        name = f"wmt{other % 100}"
        path = locate(find_data_card(name), at)
        if path is None:
            continue
        try:
            sources, references = WmtPackage(path, other).translations(langpair)
        except InputError:
            continue  # the year does not have the language pair
        pairs = [pair for pair in zip(sources, references, strict=True) if pair[0] not in judged]
        if pairs:
            pairs = pairs[:PAIRS]
            where = f"the first {len(pairs):,} pairs of texts of {name}"
            if other == year:
                where = f"{len(pairs):,} pairs of texts of {name} that are not judged"
            return ParallelText([source for source, _ in pairs], [reference for _, reference in pairs], where)
    msg = f"no parallel text of {langpair} to fit on, other than the test set; add the newstest of another year"
    raise InputError(msg)


class Remappings:
    """Maps of a language pair by level and method; vectors are computed once for all methods."""

    def __init__(self, request: Request, table: JudgementTable, langpair: str, folder: Path) -> None:
        self.request, self.table, self.langpair, self.folder = request, table, langpair, folder
        self._vectors = cache(self._compute_vectors)

    @cached_property
    def text(self) -> ParallelText:
        """The parallel text; raises InputError if there is none."""
        return find_parallel_text(self.table, self.langpair, self.request.at or "")

    def file(self, level: str, method: str) -> str:
        """Fit a map, and return its file."""
        path = self.folder / f"{level}-{method}.npz"
        if not path.exists():
            fit_vectors(self._vectors(level), name=method).save(path)
        return str(path)

    def _compute_vectors(self, level: str) -> VectorPairs:
        name, loading = self.request.model_name, self.request.run.loading
        if level == "sentence":
            return sentences_of_texts(load_sentence_encoder(name, **loading), self.text.source, self.text.target)
        encoder = load_encoder(name, **loading)
        # XMoverScore compares vectors of the last layer.
        layer = encoder.layers if self.request.layer is None else self.request.layer
        return words_of_texts(AlignmentInputs(encoder, self.text.source, self.text.target, layer))
