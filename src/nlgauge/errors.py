"""Errors and warnings of nlgauge.

    NlgaugeError
    ├── InputError (ValueError)             a text, a list of texts or a file that cannot be scored
    │   ├── EmptyPairError                  hypothesis and reference are both empty
    │   ├── TooLongError                    a text is over the limit of the model or metric
    │   ├── UnknownTextError                all tokens of a text are unknown to the model
    │   └── FileFormatError                 a file does not have the expected format
    ├── RecipeError (ValueError)            an unknown metric or option, or an invalid value
    │   └── SignatureError                  a signature that cannot be parsed, resolved or reproduced
    ├── BaselineError (LookupError)         rescaling without a baseline
    ├── AlignmentNotFoundError (RuntimeError)  two languages could not be aligned
    ├── ModelError (RuntimeError)           a model that cannot be used
    │   ├── ModelNotFoundError              ... because it is not installed and could not be downloaded
    │   ├── DigestError                     ... because a checksum does not match
    │   └── UnsupportedModelError           ... because the engine does not support its architecture
    ├── ServiceError (RuntimeError)         a service is not reachable, or failed
    └── MissingExtraError (ImportError)     an optional dependency is not installed

    NlgaugeWarning (UserWarning)
    ├── TruncationWarning                   texts were truncated to the model's limit
    ├── WindowsWarning                      long texts were read in windows (`long="windows"`)
    ├── EmptyTextWarning                    empty texts were scored 0, or by their distance to the origin
    ├── ZeroWeightWarning                   a text had no weight left; uniform weights were used
    ├── ConvergenceWarning                  an iteration did not converge
    ├── UnknownWordWarning                  texts contain tokens or words unknown to the model
    ├── ExtrapolationWarning                a learned metric got scores outside the range of its training data
    ├── NoNounWarning                       texts without a noun were scored 0 by a metric of nouns
    ├── NoFocusWarning                      texts share no focus with any of their references
    ├── LanguageWarning                     a language or script that the model does not support
    └── DataWarning                         a data set has a limitation that affects results

`nlgauge.errors.NlgaugeError` catches all errors; the built-in class in brackets works, too.
"""

from __future__ import annotations

import difflib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class NlgaugeError(Exception):
    """Base of all errors of nlgauge."""


class InputError(NlgaugeError, ValueError):
    """A text, a list of texts or a file cannot be scored."""

    document: str | None = None
    """The text of the error, if its segment is not known yet."""


class EmptyPairError(InputError):
    """Hypothesis and reference are both empty, so the score is undefined."""


class TooLongError(InputError):
    """A text is over the model's limit with `long="error"`, or too long for a metric."""


class UnknownTextError(InputError):
    """All tokens of a text are unknown to the model, which cannot tell such texts apart."""


class FileFormatError(InputError):
    """A file does not have the expected format."""


class RecipeError(NlgaugeError, ValueError):
    """A metric or option is unknown, or the value of an option is invalid."""


class SignatureError(RecipeError):
    """A signature cannot be parsed, resolved or reproduced."""


class BaselineError(NlgaugeError, LookupError):
    """Rescaling was requested without a baseline for this model, language and layer."""


class AlignmentNotFoundError(NlgaugeError, RuntimeError):
    """No alignment of two languages was good enough; no file was written."""


class ModelError(NlgaugeError, RuntimeError):
    """A model cannot be used."""


class ModelNotFoundError(ModelError):
    """A model is not installed and could not be downloaded."""


class DigestError(ModelError):
    """The checksum of a file does not match."""


class UnsupportedModelError(ModelError):
    """The engine does not support this architecture."""


class ServiceError(NlgaugeError, RuntimeError):
    """A service is not reachable, refused a request, or failed."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status, or None without an answer."""


class MissingExtraError(NlgaugeError, ImportError):
    """An optional dependency is not installed; the message has the pip command."""


class NlgaugeWarning(UserWarning):
    """Base of all warnings. Results count them, too."""


class WindowsWarning(NlgaugeWarning):
    """Long texts were read in windows (`long="windows"`)."""


class TruncationWarning(NlgaugeWarning):
    """Texts were truncated to the model's limit."""


class EmptyTextWarning(NlgaugeWarning):
    """Empty texts were scored 0, or by their distance to the origin."""


class ZeroWeightWarning(NlgaugeWarning):
    """Idf or token filters left a text without weight; uniform weights were used."""


class ConvergenceWarning(NlgaugeWarning):
    """An iterative solver did not converge, so a score is approximate."""


class ExtrapolationWarning(NlgaugeWarning):
    """A score of a member of a learned metric is outside the range of its training data."""


class UnknownWordWarning(NlgaugeWarning):
    """Texts contain tokens unknown to the model, or words without a vector."""


class NoNounWarning(NlgaugeWarning):
    """Texts without a noun were scored 0 by a metric of nouns."""


class NoFocusWarning(NlgaugeWarning):
    """Texts share no focus with any reference, so a distance between foci is not informative."""


class LanguageWarning(NlgaugeWarning):
    """The model does not support the language, or the script of a text."""


class DataWarning(NlgaugeWarning):
    """A data set has a limitation that affects results, such as rows left out or gold scores that are not human."""


def user_stacklevel() -> int:
    """The stack level of the user's own line, for warnings to point to."""
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


def refuse_word(option: str, value: str, known: Iterable[str], *, file: str, names: str = "") -> None:
    """Refuse the value of an option that takes names and files if it is neither, nor written like a path.

    `file` says what the file is. `names` lists the names in the message (default: all that are known).
    """
    if value.replace("-", "_").isidentifier() and not os.path.exists(value):
        words = list(known)
        listed = names or ", ".join(words)
        msg = f"{option} must be {listed} or {file}, got {value!r}{did_you_mean(value, words)}"
        raise RecipeError(msg)


def closest_name(name: str, known: Iterable[str]) -> str:
    """The known name that is spelt most alike, or starts alike; empty where none is."""
    spellings = {spelling.casefold(): spelling for spelling in known}
    matches = difflib.get_close_matches(name.casefold(), sorted(spellings, reverse=True), n=1, cutoff=0.7)
    if not matches and len(name) >= _LEAST_START:
        matches = [spelling for spelling in spellings if spelling.startswith(name.casefold())]
    return spellings[matches[0]] if matches else ""


def closest_file(name: str, files: Iterable[str]) -> str:
    """The file whose name is spelt most alike, judged without the extension if it is the same; else empty.

    >>> closest_file("missing.txt", ["russian.txt"]), closest_file("sytem-a.txt", ["system-a.txt"])
    ('', 'system-a.txt')
    """
    stem, dot, suffix = name.rpartition(".")
    names = list(files)
    stems = {file.removesuffix(dot + suffix): file for file in names if stem and file.endswith(dot + suffix)}
    if closest := closest_name(stem, stems):
        return stems[closest]
    return closest_name(name, [file for file in names if file not in stems.values()])


__all__ = sorted(name for name, value in globals().items() if isinstance(value, type))
