"""A text over a model's limit, read in overlapping windows.

    text         t_0 t_1 ............................................... t_(n-1)
    window 0     [CLS] t_0 ................ t_(c-1) [SEP]
    window 1                   [CLS] t_s ................ t_(s+c-1) [SEP]
    last window                           [CLS] t_(n-c) ............. t_(n-1) [SEP]

A window has as many tokens as the model reads at once, special ones included; c of them are the text's. Windows begin
every `stride` tokens; the last one is moved back to end with the text, so that all are of one length. Each token's
vectors come from the window in which it stands farthest from an edge, that is, whose middle is nearest; of two that
are equally near, from the earlier. The special tokens before the text come from the first window, those after it from
the last. So the window that a token is read in depends on its place and on the length of the text, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nlgauge.errors import RecipeError

if TYPE_CHECKING:
    from nlgauge.text.tokenizer import TextTokenizer

#: Values of a recipe's `window` that are no numbers: texts are cut; windows of the model's limit.
NO_WINDOWS, MODEL_WINDOW = "none", "model"

#: A tokenizer with such a limit reads texts of any length.
NO_LIMIT = 1_000_000


class TextWindow(NamedTuple):
    """One window of a text."""

    places: NDArray[np.intp]
    """The text's tokens that it holds, special ones included."""
    taken: slice
    """Which of its rows are taken."""
    at: slice
    """Where these stand in the text."""


class Windows(NamedTuple):
    """How texts that are longer than a window are read."""

    size: int
    """Tokens of a window, special ones included."""
    stride: int
    """Tokens of the text from the start of a window to the start of the next."""
    frame: tuple[int, int]
    """Special tokens before and after a text."""

    @property
    def content(self) -> int:
        """Tokens of the text that a window holds."""
        return self.size - sum(self.frame)

    def starts(self, length: int) -> NDArray[np.intp]:
        """First token of each window, of the text's own `length` tokens.

        >>> Windows(size=8, stride=3, frame=(1, 1)).starts(11).tolist()
        [0, 3, 5]
        """
        last = max(0, length - self.content)
        return np.append(np.arange(0, last, self.stride, dtype=np.intp), last)

    def cut(self, length: int) -> list[TextWindow]:
        """The windows of a text of so many tokens, special ones included.

        >>> [(w.places.tolist(), w.at) for w in Windows(size=5, stride=2, frame=(1, 1)).cut(7)]
        [([0, 1, 2, 3, 6], slice(0, 4, None)), ([0, 3, 4, 5, 6], slice(4, 7, None))]
        """
        head, tail = self.frame
        starts = self.starts(length - head - tail)
        # Token p is nearer to the middle of window k than of k + 1, or as near, while 2p <= s_k + s_(k+1) + c - 1.
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
    """What a recipe asks for about texts over a limit."""

    window: int | str = NO_WINDOWS
    """Tokens of a window, or none (texts are cut), or model (its limit)."""
    stride: int | None = None
    """None: half of a window's text is in the next one too."""

    def up_to(self, limit: int) -> Reading:
        """The same for a second model; one that reads less at once has windows of its own limit, half shared."""
        return self if isinstance(self.window, str) or self.window <= limit else Reading(limit)

    def windows(self, tokenizer: TextTokenizer, *, limit: int, model: str) -> Windows | None:
        """The windows; None where there are none, or those of a model without a limit were asked for."""
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
                f"stride must be 1 to {content}, the tokens of a text in a window of {size}, got {step}: "
                "a longer step leaves tokens unread"
            )
            raise RecipeError(msg)
        return Windows(size, step, frame)


#: Texts over the limit are cut.
CUT = Reading()
