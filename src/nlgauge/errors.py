"""Errors that nlgauge raises on purpose, and warnings that it counts.

    NlgaugeError
    ├── InputError (ValueError)             a text, a list of texts or a file that cannot be scored
    │   ├── EmptyPairError                  both sides of a pair are empty
    │   ├── TooLongError                    a text over the model's limit (`long="error"`), or too long for a metric
    │   ├── UnknownTextError                a text holds nothing but tokens that the model does not know
    │   └── FileFormatError                 a file is not what its name says
    ├── RecipeError (ValueError)            an unknown metric or option, or a value it does not take
    │   └── SignatureError                  a signature that does not parse, or does not fit what is here
    ├── BaselineError (LookupError)         rescaling asked for where no baseline exists
    ├── AlignmentNotFoundError (RuntimeError)  two languages that could not be brought together
    ├── ModelError (RuntimeError)           a model that cannot be used
    │   ├── ModelNotFoundError              ... because it is not here and could not be fetched
    │   ├── DigestError                     ... because its bytes are not the known ones
    │   └── UnsupportedModelError           ... because this engine does not know its architecture
    ├── ServiceError (RuntimeError)         a service that cannot be reached, or that failed
    └── MissingExtraError (ImportError)     an optional dependency that is not installed

    NlgaugeWarning (UserWarning)
    ├── TruncationWarning                   texts were cut at the model's limit
    ├── WindowsWarning                      texts over the model's limit were read in windows, as was asked for
    ├── EmptyTextWarning                    texts without a token were scored 0, or as a distance to the origin
    ├── ZeroWeightWarning                   idf gave a text no weight at all; uniform weights were used
    ├── ConvergenceWarning                  an iteration stopped before it came to rest
    ├── UnknownWordWarning                  texts hold tokens or words that the model does not know
    ├── NoNounWarning                       texts without a noun were scored 0 by a metric of nouns
    ├── NoFocusWarning                      texts share no focus with any of their references
    ├── LanguageWarning                     a language, or the script of a text, that the model was not trained on
    └── DataWarning                         a data set holds something that a user must know of

Catch `nlgauge.errors.NlgaugeError` for all of them, or the builtin in brackets where you would anyway.
"""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NlgaugeError(Exception):
    """Root of all errors that nlgauge raises on purpose."""


class InputError(NlgaugeError, ValueError):
    """A text, a list of texts or a file cannot be scored as it is."""

    document: str | None = None
    """The text that it is about, where whoever raised it knew the text and not its place."""


class EmptyPairError(InputError):
    """Hypothesis and reference are both empty, so no score is defined."""


class TooLongError(InputError):
    """A text is longer than the model reads, and the caller asked not to truncate; or it is too long for a metric."""


class UnknownTextError(InputError):
    """A text holds nothing but tokens that the model does not know, so all such texts look alike to it."""


class FileFormatError(InputError):
    """A file does not hold what its name or the caller says."""


class RecipeError(NlgaugeError, ValueError):
    """A metric, an option or an option's value is not known."""


class SignatureError(RecipeError):
    """A signature cannot be read, or names something that is not here."""


class BaselineError(NlgaugeError, LookupError):
    """Rescaling was asked for, but there is no baseline for this model, language and layer."""


class AlignmentNotFoundError(NlgaugeError, RuntimeError):
    """No map between two languages was good enough to be kept; there is no file of a bad one."""


class ModelError(NlgaugeError, RuntimeError):
    """A model cannot be used."""


class ModelNotFoundError(ModelError):
    """A model is neither here nor could it be fetched."""


class DigestError(ModelError):
    """A file's bytes are not the ones that are known under its name."""


class UnsupportedModelError(ModelError):
    """The engine does not know this architecture."""


class ServiceError(NlgaugeError, RuntimeError):
    """A service cannot be reached, does not answer, refuses to, or has failed."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; None where there was no answer."""


class MissingExtraError(NlgaugeError, ImportError):
    """An optional dependency is not installed; the message has the pip command."""


class NlgaugeWarning(UserWarning):
    """Root of the warnings. Each is also counted in the result."""


class WindowsWarning(NlgaugeWarning):
    """Texts over the model's limit were read in windows, as was asked for."""


class TruncationWarning(NlgaugeWarning):
    """Texts were cut at the model's limit."""


class EmptyTextWarning(NlgaugeWarning):
    """Texts without a single token were scored 0, or as a distance to the origin."""


class ZeroWeightWarning(NlgaugeWarning):
    """Inverse document frequency gave a text no weight; uniform weights were used instead."""


class ConvergenceWarning(NlgaugeWarning):
    """An iterative solver stopped at its limit, or broke down, so a value is not exact."""


class UnknownWordWarning(NlgaugeWarning):
    """Texts hold tokens that the model does not know, or words that a file of word vectors does not hold."""


class NoNounWarning(NlgaugeWarning):
    """Texts without a noun were scored 0 by a metric of nouns."""


class NoFocusWarning(NlgaugeWarning):
    """Texts share no focus with any of their references, so that a distance between foci says little of them."""


class LanguageWarning(NlgaugeWarning):
    """A language was named, or a text is in a script, that the model was not trained on."""


class DataWarning(NlgaugeWarning):
    """A data set holds something that a user must know of: rows left out, a gold column that is no human score."""


def user_stacklevel() -> int:
    """How far up the stack the user's own line is, so that a warning points there."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


#: Letters that the start of a name must have to stand for it.
_LEAST_START = 3


def did_you_mean(name: str, known: Iterable[str], *, see: str = "") -> str:
    """The end of a message about an unknown name: the closest known name, and the command that lists all.

    >>> did_you_mean("bertscor", ["bertscore", "bleu"], see="nlgauge list")
    "; did you mean 'bertscore'? See 'nlgauge list'"
    >>> did_you_mean("mover", ["moverscore", "xmoverscore"])
    "; did you mean 'moverscore'?"
    >>> did_you_mean("comet", ["moverscore"], see="nlgauge list")
    "; see 'nlgauge list'"
    """
    if closest := closest_name(name, known):
        return f"; did you mean {closest!r}?" + (f" See {see!r}" if see else "")
    return f"; see {see!r}" if see else ""


def closest_name(name: str, known: Iterable[str]) -> str:
    """The known name that is spelt most alike, or starts alike; empty where none is."""
    spellings = {spelling.casefold(): spelling for spelling in known}
    matches = difflib.get_close_matches(name.casefold(), spellings, n=1, cutoff=0.7)
    if not matches and len(name) >= _LEAST_START:
        matches = [spelling for spelling in spellings if spelling.startswith(name.casefold())]
    return spellings[matches[0]] if matches else ""


__all__ = sorted(name for name, value in globals().items() if isinstance(value, type))
