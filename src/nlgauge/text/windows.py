"""Overlapping windows for texts over a model's limit.

    text         t_0 t_1 ............................................... t_(n-1)
    window 0     [CLS] t_0 ................ t_(c-1) [SEP]
    window 1                   [CLS] t_s ................ t_(s+c-1) [SEP]
    last window                           [CLS] t_(n-c) ............. t_(n-1) [SEP]

A window has as many tokens as the model reads at once, special ones included; c of them belong to the text. Windows
begin every `stride` tokens; the last one is moved back to end with the text, so all have the same length. The vectors
of a token come from the window whose middle is nearest; of two equally near windows, from the earlier. The special
tokens before the text come from the first window, those after it from the last. So the window of a token depends only
on its position and the length of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import RecipeError

if TYPE_CHECKING:
    from nlgauge.text.tokenizer import TextTokenizer

#: Values of a recipe's `window` that are not numbers: truncate texts, or use the model's limit.
NO_WINDOWS, MODEL_WINDOW = "none", "model"

#: A tokenizer with this limit reads texts of any length.
NO_LIMIT = 1_000_000


class TextWindow(NamedTuple):
    """One window of a text."""

    places: NDArray[np.intp]
    """Indices of its tokens in the text, special ones included."""
    used_rows: slice
    """Rows of the window whose vectors are used."""
    rows_in_text: slice
    """Indices of these rows in the text."""


class Windows(NamedTuple):
    """Size and position of the windows of long texts."""

    size: int
    """Tokens of a window, special ones included."""
    stride: int
    """Tokens from the start of a window to the start of the next."""
    frame: tuple[int, int]
    """Number of special tokens before and after a text."""

    @property
    def content(self) -> int:
        """Tokens of the text in one window."""
        return self.size - sum(self.frame)

    def starts(self, length: int) -> NDArray[np.intp]:
        """First token of each window, for a text of `length` tokens without special ones.

        >>> Windows(size=8, stride=3, frame=(1, 1)).starts(11).tolist()
        [0, 3, 5]
        """
        last = max(0, length - self.content)
        return np.append(np.arange(0, last, self.stride, dtype=np.intp), last)

    def cut(self, length: int) -> list[TextWindow]:
        """The windows of a text of `length` tokens, special ones included.

        >>> [(w.places.tolist(), w.rows_in_text) for w in Windows(size=5, stride=2, frame=(1, 1)).cut(7)]
        [([0, 1, 2, 3, 6], slice(0, 4, None)), ([0, 3, 4, 5, 6], slice(4, 7, None))]
        """
        head, tail = self.frame
        starts = self.starts(length - head - tail)
        # Token p is at least as near to the middle of window k as to that of k + 1 while 2p <= s_k + s_(k+1) + c - 1.
        ends = np.append((starts[:-1] + starts[1:] + self.content - 1) // 2 + 1 + head, length)
        begins = np.append(0, ends[:-1])
        outside = np.r_[0:head], np.r_[length - tail : length]
        return [
            TextWindow(
                np.concatenate([outside[0], head + np.r_[start : start + self.content], outside[1]]),
                slice(begin - start, end - start),
                slice(begin, end),
            )
            for start, begin, end in zip(starts.tolist(), begins.tolist(), ends.tolist(), strict=True)
        ]


class Reading(NamedTuple):
    """A recipe's options for texts over the model's limit."""

    window: int | str = NO_WINDOWS
    """Tokens of a window, or none (truncate texts), or model (its limit)."""
    stride: int | None = None
    """None: windows overlap by half of their text."""

    def up_to(self, limit: int) -> Reading:
        """The same for a second model; with a lower limit, it gets windows of that size that overlap by half."""
        return self if isinstance(self.window, str) or self.window <= limit else Reading(limit)

    def windows(self, tokenizer: TextTokenizer, *, limit: int, model: str) -> Windows | None:
        """The windows for a tokenizer; None without windows, or if the model has no limit."""
        if self.window == NO_WINDOWS or (self.window == MODEL_WINDOW and limit >= NO_LIMIT):
            return None
        frame = tokenizer.frame
        least, size = sum(frame) + 1, limit if isinstance(self.window, str) else self.window
        if not least <= size <= limit:
            msg = f"window must be {least} to {limit} for model {model!r}, special tokens included, got {size}"
            raise RecipeError(msg)
        content = size - sum(frame)
        step = max(1, content // 2) if self.stride is None else self.stride
        if step > content:
            msg = (
                f"stride must be 1 to {content} for a window of {size} tokens, got {step}: a longer stride would "
                "skip tokens"
            )
            raise RecipeError(msg)
        return Windows(size, step, frame)


#: Texts over the limit are truncated.
CUT = Reading()
