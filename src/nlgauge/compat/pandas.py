"""Scores of a frame's columns: `import nlgauge.compat.pandas`, then `frame.nlgauge.score(hyp="mt", ref="ref")`.

>>> import pandas as pd
>>> frame = pd.DataFrame({"mt": ["A cat sat."], "ref": ["A cat sat."]}, index=["first"])
>>> frame.nlgauge.score(hyp="mt", ref="ref").round(3)
       precision  recall   f1
first        1.0     1.0  1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nlgauge.errors import InputError, MissingExtraError
from nlgauge.names import did_you_mean
from nlgauge.recipes.metric import Metric
from nlgauge.recipes.signature import Signature
from nlgauge.scoring import score

try:
    import pandas as pd
except ImportError as error:
    _MISSING = "nlgauge.compat.pandas needs pandas: pip install 'nlgauge[frame]'"
    raise MissingExtraError(_MISSING) from error

__all__ = ["FrameScores"]


@pd.api.extensions.register_dataframe_accessor("nlgauge")
class FrameScores:
    """What `frame.nlgauge` is."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def score(
        self,
        *,
        hyp: str,
        ref: str | Sequence[str] | None = None,
        source: str | None = None,
        metric: str | Metric | Signature = "bertscore",
        **options: Any,
    ) -> pd.DataFrame:
        """A column per component, a row per row of the frame and with its index, so that `frame.join` takes it.

        `ref` may name several columns. Options are those of `nlgauge.score`. `attrs` of the result have the
        `signature` and the `system_score`.
        """
        columns = [] if ref is None else [ref] if isinstance(ref, str) else list(ref)
        found = score(
            self._texts(hyp),
            ref_streams=[self._texts(name) for name in columns] or None,
            sources=None if source is None else self._texts(source),
            metric=metric,
            **options,
        )
        frame = pd.DataFrame(dict(found.segments), index=self._frame.index)
        frame.attrs |= {"signature": str(found.signature), "system_score": found.system_score}
        return frame

    def _texts(self, column: str) -> list[str]:
        if column not in self._frame.columns:
            known = [str(name) for name in self._frame.columns]
            msg = f"the frame has no column {column!r}; it has {', '.join(known)}{did_you_mean(str(column), known)}"
            raise InputError(msg)
        if (same := int((self._frame.columns == column).sum())) > 1:
            msg = f"the frame has {same} columns called {column!r}; rename all but one"
            raise InputError(msg)
        values = self._frame[column].tolist()
        for index, value in zip(self._frame.index, values, strict=True):
            if not isinstance(value, str):
                msg = (
                    f"column {column!r}, row {index!r}: expected a text, got {value!r}; fill or drop what is missing"
                )
                raise InputError(msg)
        return values
