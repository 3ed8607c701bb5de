"""Score columns of a frame: `import nlgauge.apps.compat.pandas`, then `frame.nlgauge.score(hyp="mt", ref="ref")`.

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


#: Text arguments of `nlgauge.score` and the arguments here that name columns instead.
_COLUMNS_HERE = {"hyps": "hyp", "refs": "ref", "ref_streams": "ref", "sources": "source"}


class FrameScores:
    """Accessor `frame.nlgauge`."""

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
        """Score a column; the result has a column per component and the frame's index, for `frame.join`.

        `ref` can name several columns, and cells can contain lists of texts. Options are those of `nlgauge.score`.
        `attrs` of the result has `signature` and `system_score`.
        """
        for name, argument in _COLUMNS_HERE.items():
            if name in options:
                msg = f"{name}= takes texts; name a column of the frame with {argument}="
                raise InputError(msg)
        columns = self._reference_columns(ref)
        if self._frame.empty:
            msg = "nothing to score: the frame has no rows"
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

    def _reference_columns(self, ref: Any) -> list[Hashable]:
        """List the columns of references; with multi-level columns a tuple is one name."""
        if ref is None:
            return []
        if (
            isinstance(ref, str)
            or not isinstance(ref, Iterable)
            or (isinstance(ref, tuple) and self._has_column(ref))
        ):
            return [ref]
        return list(ref)

    def _has_column(self, column: Hashable) -> bool:
        return column in self._frame.columns

    def _references(self, columns: Sequence[Hashable]) -> list[list[str]]:
        """Collect the references of each row; a cell is a text or a list of texts."""
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
        """Iterate over index and cell of each row."""
        if not self._has_column(column):
            names = [str(name) for name in self._frame.columns]
            hint = did_you_mean(str(column), names)
            msg = f"the frame has no column {column!r}; its columns are {', '.join(names)}{hint}"
            raise InputError(msg)
        cells = self._frame[column]
        if isinstance(cells, pd.DataFrame):
            duplicates = [name for name in self._frame.columns if name == column]
            fix = "rename all but one" if duplicates else f"name one of them, such as {(column, cells.columns[0])!r}"
            msg = f"the frame has {cells.shape[1]} columns called {column!r}; {fix}"
            raise InputError(msg)
        return zip(self._frame.index, cells.tolist(), strict=True)


# Not a decorator: without pandas the documentation shows the class, and a stand-in would wrap it.
pd.api.extensions.register_dataframe_accessor("nlgauge")(FrameScores)


def _text(value: Any, column: Hashable, index: Any) -> str:
    if isinstance(value, str):
        return value
    is_missing = value is None or value is pd.NA or isinstance(value, float)
    fix = "fill or drop missing values" if is_missing else "convert it with astype(str)"
    msg = f"column {column!r}, row {index!r}: expected a text, got {value!r}; {fix}"
    raise InputError(msg)
