"""Everything nlgauge raises on purpose, and the warnings it counts.

    NlgaugeError
    ├── InputError (ValueError)             a text, a list of texts or a file that cannot be scored
    │   ├── EmptyPairError                  both sides of a pair are empty
    │   ├── TooLongError                    a text is over the model's limit and `long="error"`
    │   └── FileFormatError                 a file is not what its name says
    ├── RecipeError (ValueError)            an unknown metric or option, or a value it does not take
    │   └── SignatureError                  a signature that does not parse, or does not fit what is here
    ├── BaselineError (LookupError)         rescaling asked for where no baseline exists
    ├── ModelError (RuntimeError)           a model that cannot be used
    │   ├── ModelNotFoundError              ... because it is not here and could not be fetched
    │   ├── DigestError                     ... because its bytes are not the known ones
    │   └── UnsupportedModelError           ... because this engine does not know its architecture
    └── MissingExtraError (ImportError)     an optional dependency that is not installed

    NlgaugeWarning (UserWarning)
    ├── TruncationWarning                   texts were cut at the model's limit
    ├── EmptyTextWarning                    texts without a token were scored 0, or as a distance to the origin
    ├── ZeroWeightWarning                   idf gave a text no weight at all; uniform weights were used
    ├── ConvergenceWarning                  an iteration stopped before it came to rest
    ├── UnknownWordWarning                  words without a vector were left out
    ├── LanguageWarning                     a language was named that the model was not trained on
    ├── DataWarning                         a data set holds something that a user must know of
    └── OldNameWarning (DeprecationWarning) a name was used that will be gone in 0.3

Catch `nlgauge.NlgaugeError` for all of them, or the builtin in brackets where you would anyway.
"""

from __future__ import annotations

__all__ = [
    "BaselineError",
    "ConvergenceWarning",
    "DataWarning",
    "DigestError",
    "EmptyPairError",
    "EmptyTextWarning",
    "FileFormatError",
    "InputError",
    "LanguageWarning",
    "MissingExtraError",
    "ModelError",
    "ModelNotFoundError",
    "NlgaugeError",
    "NlgaugeWarning",
    "OldNameWarning",
    "RecipeError",
    "SignatureError",
    "TooLongError",
    "TruncationWarning",
    "UnknownWordWarning",
    "UnsupportedModelError",
    "ZeroWeightWarning",
]


class NlgaugeError(Exception):
    """Root of all errors that nlgauge raises on purpose."""


class InputError(NlgaugeError, ValueError):
    """A text, a list of texts or a file cannot be scored as it is."""


class EmptyPairError(InputError):
    """Hypothesis and reference are both empty, so no score is defined."""


class TooLongError(InputError):
    """A text is longer than the model reads, and the caller asked not to truncate."""


class FileFormatError(InputError):
    """A file does not hold what its name or the caller says."""


class RecipeError(NlgaugeError, ValueError):
    """A metric, an option or an option's value is not known."""


class SignatureError(RecipeError):
    """A signature cannot be read, or names something that is not here."""


class BaselineError(NlgaugeError, LookupError):
    """Rescaling was asked for, but there is no baseline for this model, language and layer."""


class ModelError(NlgaugeError, RuntimeError):
    """A model cannot be used."""


class ModelNotFoundError(ModelError):
    """A model is neither here nor could it be fetched."""


class DigestError(ModelError):
    """A file's bytes are not the ones that are known under its name."""


class UnsupportedModelError(ModelError):
    """The engine does not know this architecture."""


class MissingExtraError(NlgaugeError, ImportError):
    """An optional dependency is not installed; the message has the pip command."""


class NlgaugeWarning(UserWarning):
    """Root of the warnings. Each is also counted in the result."""


class TruncationWarning(NlgaugeWarning):
    """Texts were cut at the model's limit."""


class EmptyTextWarning(NlgaugeWarning):
    """Texts without a single token were scored 0, or as a distance to the origin."""


class ZeroWeightWarning(NlgaugeWarning):
    """Inverse document frequency gave a text no weight; uniform weights were used instead."""


class ConvergenceWarning(NlgaugeWarning):
    """An iterative solver stopped at its limit, or broke down, so a value is not exact."""


class UnknownWordWarning(NlgaugeWarning):
    """Words that a file of word vectors does not hold were left out of their texts."""


class LanguageWarning(NlgaugeWarning):
    """A language was named that the model was not trained on, so its vectors mean little there."""


class DataWarning(NlgaugeWarning):
    """A data set holds something that a user must know of: rows left out, a gold column that is no human score."""


class OldNameWarning(NlgaugeWarning, DeprecationWarning):
    """A name was used that has a new one; the old one works until 0.3."""
