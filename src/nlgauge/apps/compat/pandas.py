"""Scores of a frame's columns: `import nlgauge.apps.compat.pandas`, then `frame.nlgauge.score(hyp="mt", ref="ref")`.

>>> import pandas as pd
>>> frame = pd.DataFrame({"mt": ["A cat sat."], "ref": ["A cat sat."]}, index=["first"])
>>> frame.nlgauge.score(hyp="mt", ref="ref").round(3)
       precision  recall   f1
first        1.0     1.0  1.0
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgauge.core.metric import Metric
from nlgauge.core.scoring import score
from nlgauge.core.signature import Signature
from nlgauge.errors import InputError, did_you_mean
from nlgauge.io.packages import require

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

    from nlgauge.core.keywords import ScoreKeywords
else:
    pd = require("pandas", "plot")

__all__ = ["FrameScores"]


#: Texts of `nlgauge.score`, which are columns here.
_COLUMNS_HERE = {"hyps": "hyp", "refs": "ref", "ref_streams": "ref", "sources": "source"}


class FrameScores:
    """What `frame.nlgauge` is."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def score(
        self,
        *,
        hyp: Hashable,
        ref: Hashable | Sequence[Hashable] = None,
        source: Hashable = None,
        metric: str | Metric | Signature = "bertscore",
        **options: Unpack[ScoreKeywords],
    ) -> pd.DataFrame:
        """A column per component, a row per row of the frame and with its index, so that `frame.join` takes it.

        `ref` may name several columns, and its cells may hold lists of texts. Options are those of `nlgauge.score`.
        `attrs` of the result have the `signature` and the `system_score`.
        """
        for name, here in _COLUMNS_HERE.items():
            if name in options:
                msg = f"{name}= takes texts, and a frame has columns; name them with {here}="
                raise InputError(msg)
        columns = self._several(ref)
        if self._frame.empty:
            msg = "the frame has no rows, so there is nothing to score"
            raise InputError(msg)
        result = score(
            self._texts(hyp),
            self._references(columns) if columns else None,
            sources=None if source is None else self._texts(source),
            metric=metric,
            **options,
        )
        frame = pd.DataFrame(dict(result.segments), index=self._frame.index)
        frame.attrs |= {"signature": str(result.signature), "system_score": result.system_score}
        return frame

    def _several(self, ref: Any) -> list[Hashable]:
        """Columns of references; in a frame with levels of columns a tuple is the name of one."""
        if ref is None:
            return []
        if isinstance(ref, str) or not isinstance(ref, Iterable) or (isinstance(ref, tuple) and self._has(ref)):
            return [ref]
        return list(ref)

    def _has(self, column: Hashable) -> bool:
        return column in self._frame.columns

    def _references(self, columns: Sequence[Hashable]) -> list[list[str]]:
        """By row the references of all columns; a cell is a text, or a list of texts."""
        groups: list[list[str]] = [[] for _ in range(len(self._frame))]
        for column in columns:
            for group, (index, cell) in zip(groups, self._cells(column), strict=True):
                texts = list(cell) if isinstance(cell, list | tuple | np.ndarray) else [cell]
                if not texts:
                    msg = f"column {column!r}, row {index!r}: the list is empty; a row needs at least one reference"
                    raise InputError(msg)
                group += [_text(text, column, index) for text in texts]
        return groups

    def _texts(self, column: Hashable) -> list[str]:
        return [_text(cell, column, index) for index, cell in self._cells(column)]

    def _cells(self, column: Hashable) -> Iterable[tuple[Any, Any]]:
        """The index and the cell of each row."""
        if not self._has(column):
            known = [str(name) for name in self._frame.columns]
            msg = f"the frame has no column {column!r}; it has {', '.join(known)}{did_you_mean(str(column), known)}"
            raise InputError(msg)
        cells = self._frame[column]
        if isinstance(cells, pd.DataFrame):
            same = [name for name in self._frame.columns if name == column]
            fix = "rename all but one" if same else f"name one of them, such as {(column, cells.columns[0])!r}"
            msg = f"the frame has {cells.shape[1]} columns called {column!r}; {fix}"
            raise InputError(msg)
        return zip(self._frame.index, cells.tolist(), strict=True)


# Not as a decorator: the site shows the class where pandas is not installed, and a stand-in would wrap it.
pd.api.extensions.register_dataframe_accessor("nlgauge")(FrameScores)


def _text(value: Any, column: Hashable, index: Any) -> str:
    if isinstance(value, str):
        return value
    missing = value is None or value is pd.NA or isinstance(value, float)
    fix = "fill or drop what is missing" if missing else "make it a text (astype(str))"
    msg = f"column {column!r}, row {index!r}: expected a text, got {value!r}; {fix}"
    raise InputError(msg)
