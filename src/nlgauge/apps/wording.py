"""Options in messages as each application spells them.

The library names an option as Python does (`empty='zero'`, `refs=`). The command line shows the flag, and the service
the field of the request as JSON. An option of a metric that the application does not have itself is shown where the
application takes options of metrics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from nlgauge.core.registry import METRICS

#: Keywords whose name depends on the command or request: names to look for, in this order.
_OTHER_NAMES = {
    "hyps": ("hyps", "hyp", "hyp_text"),
    "refs": ("refs", "ref", "ref_text"),
    "sources": ("sources", "source", "source_text"),
}

#: Keywords that not every application has. An alternative (", or ... input_format='tsv'") is left out without them.
_OPTIONAL = {"input_format"}

#: What follows a keyword without a value.
_NO_VALUE = r"=(?=[\s;,.)]|$)"


def in_flags(message: str, flags: Iterable[str]) -> str:
    """Replace Python keywords in a message of the library by flags.

    >>> in_flags("remove the segment, or score it 0 (empty='zero')", ["empty"])
    'remove the segment, or score it 0 (--empty zero)'
    >>> in_flags("score these pairs 0 (unknown='zero')", ["empty"])
    'score these pairs 0 (-m NAME:unknown=zero)'
    >>> in_flags("add references (refs=) or sources (sources=)", ["refs", "source"])
    'add references (--refs) or sources (--source)'
    >>> in_flags("or write it anyway with unproven=True", ["unproven"])
    'or write it anyway with --unproven'
    """
    names = set(flags)
    message = _replace(
        message,
        names,
        known=lambda name, value: f"{_flag(name)} {value}".rstrip(),
        of_metric=lambda name, value: f"-m NAME:{name}={value}" if value else f"{name}=",
    )
    if names:  # a file of an option, and the option that a message is about
        message = re.sub(_any_of(names) + r"=(FILE|PATH)\b", lambda match: f"{_flag(match[1])} {match[2]}", message)
        message = re.sub(rf"^{_any_of(names)}(?= must )", lambda match: _flag(match[1]), message)
    return message


def in_fields(message: str, fields: Iterable[str]) -> str:
    """Replace Python keywords in a message of the library by fields of a request.

    >>> in_fields("remove the segment, or score it 0 (empty='zero')", ["empty", "options"])
    "remove the segment, or score it 0 ('empty': 'zero')"
    >>> in_fields("score these pairs 0 (unknown='zero')", ["empty", "options"])
    "score these pairs 0 ('options': {'unknown': 'zero'})"
    >>> in_fields("add references (refs=) or sources (sources=)", ["ref", "source"])
    "add references ('ref') or sources ('source')"
    >>> in_fields("unknown metric 'blue'; did you mean 'bleu'? See 'nlgauge list'", ["metric"])
    "unknown metric 'blue'; did you mean 'bleu'? See GET /v1/metrics"
    """
    names = set(fields)
    message = re.sub(r"'nlgauge (list|show [\w-]+)'", "GET /v1/metrics", message)
    message = message.replace("'nlgauge models list'", "GET /v1/models")
    if "options" in names:
        message = re.sub(r"^unknown keyword (?='[^']*' for )", "unknown field in 'options': ", message)
    if names:
        message = re.sub(_any_of(names) + r"=True\b", lambda match: f"{match[1]!r}: true", message)
    return _replace(
        message,
        names,
        known=lambda name, value: f"{name!r}: {value!r}" if value else repr(name),
        of_metric=lambda name, value: f"'options': {{{name!r}: {value!r}}}" if value else f"{name!r} in 'options'",
    )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _replace(
    message: str, names: Collection[str], *, known: Callable[[str, str], str], of_metric: Callable[[str, str], str]
) -> str:
    """Replace `name='value'` and `name=` of the application's own names, then `name='value'` of the metrics."""
    spelled = {name: name for name in names}
    for keyword, others in _OTHER_NAMES.items():
        if own := next((name for name in others if name in names), None):
            spelled[keyword] = own
    for absent in _OPTIONAL - spelled.keys() if spelled else ():
        message = re.sub(rf", or [^,;]*\b{absent}='[^']*'( \([^)]*\))?", "", message)
    if spelled:
        for end in (r"='([^']*)'", r"=True\b", _NO_VALUE):
            message = re.sub(
                _any_of(spelled) + end,
                lambda match: known(spelled[match[1]], match[2] if match.lastindex == 2 else ""),
                message,
            )
    options = {name for metric in METRICS.values() for name in metric.options()} - set(names)
    message = re.sub(_any_of(options) + r"='([^']*)'", lambda match: of_metric(match[1], match[2]), message)
    return re.sub(_any_of(options) + _NO_VALUE, lambda match: of_metric(match[1], ""), message)


def _any_of(names: Iterable[str]) -> str:
    """A pattern of whole names, not inside a recipe, a signature or quotes."""
    return rf"(?<![\w:,=\-'|])({'|'.join(sorted(names, key=len, reverse=True))})"
