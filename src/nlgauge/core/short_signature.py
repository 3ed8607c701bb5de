"""The short signature: one line of at most 70 characters, for a footnote, a caption or a table.

    bertscore|minilm-L4|idf:refs|nlgauge:0.2|h:3f9c21ab

It has the metric, the model with its layer, the options that are not defaults, and the version. `h:` is the start of
the sha256 of the recipe part, which everything else is folded into. The options come first that matter most; one
that does not fit is left out. `find_signature` gets the full signature back, from files or from the index of
signatures that this machine has printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from nlgauge.core.signature import (
    ENGINE_FIELDS,
    RUNNER_FIELDS,
    VERSION_FIELDS,
    Signature,
    member_key,
    plain_key,
    quote_value,
)
from nlgauge.encoders.base import DEFAULT_PRECISION, precision_name
from nlgauge.errors import InputError, RecipeError, SignatureError
from nlgauge.io.signature_index import (
    LEAST_DIGITS,
    find_recipes,
    index_folder,
    recipe_digest,
    record_recipe,
    unique_digits,
)

#: The longest short signature.
MAX_LENGTH = 70

#: How a table prints signatures.
SignatureForm: TypeAlias = Literal["short", "full"]

#: Room that a name leaves for each one after it, unless that is shorter.
_LEAST_NAME = 12

#: A short signature, or its hash alone.
_SHORT = re.compile(r"(?:\S*\|)?h:([0-9a-f]+)")

#: What follows a value in brackets, such as the digest of a file.
_BRACKETS = re.compile(r"\[[^\]]*\]")

#: A value that is a digest tells a reader nothing.
_DIGEST = re.compile(r"[0-9a-f]{12,}")

#: Backends that are not worth a word.
_USUAL_BACKENDS = ("onnxruntime", "numpy", "static")

#: Versions that are shown where there is room; the others are in the hash only.
_SHOWN_VERSIONS = ("sacrebleu", "rouge_score", "package")

_FORM: ContextVar[SignatureForm] = ContextVar("nlgauge_signature_form", default="short")


def shorten(signature: Signature, *, digits: int = LEAST_DIGITS) -> str:
    """The short form of a signature with so many digits of its hash.

    >>> shorten(Signature.parse("chrf|chars:6|words:2|beta:2|refs:1|nlgauge:0.2.0|sig:1"))
    'chrf|words:2|nlgauge:0.2|h:0b51737e'
    """
    recipe = signature.recipe
    end = f"h:{recipe_digest(signature.recipe_part)[:digits]}"
    if "nlgauge" in recipe and len(end) < MAX_LENGTH // 2:
        end = f"nlgauge:{_cut(_major_minor(recipe['nlgauge']), _LEAST_NAME)}|{end}"
    room = MAX_LENGTH - len(end)
    names = [quote_value(name) for name in (signature.metric, recipe.get("members", ""), _model(recipe)) if name]
    head = ""
    for place, name in enumerate(names, start=1):
        reserved = sum(min(len(later), _LEAST_NAME) + 1 for later in names[place:])
        width = room - len(head) - 1 - reserved
        head += f"|{_cut(name, max(width, 3))}" if width > 2 or not head else ""
    head = head[1:]
    for part in _options(signature):
        if len(head) + len(part) + 2 <= room:
            head += f"|{part}"
    return f"{head}|{end}"


def shorten_text(text: str) -> str:
    """The short form of a signature in text, as results name it; a text without fields stays as it is.

    >>> shorten_text("released")
    'released'
    """
    try:
        signature = Signature.parse(text)
    except SignatureError:
        return text
    return signature.short() if signature.recipe else text


def format_signature(signature: Signature | str) -> str:
    """A signature as a table prints it: short, unless `signature_form` says full."""
    text = str(signature)
    return text if _FORM.get() == "full" else shorten_text(text)


def prints_full_signatures() -> bool:
    """Whether tables print full signatures."""
    return _FORM.get() == "full"


@contextmanager
def signature_form(form: SignatureForm | None) -> Iterator[None]:
    """Print signatures in this form inside a `with` block; None changes nothing."""
    if form not in ("short", "full", None):
        msg = f"signature must be 'short' or 'full', got {form!r}"
        raise RecipeError(msg)
    token = _FORM.set(form or _FORM.get())
    try:
        yield
    finally:
        _FORM.reset(token)


def is_short(text: str) -> bool:
    """Whether a text is a short signature or its hash.

    >>> is_short("bertscore|minilm-L4|nlgauge:0.2|h:3f9c21ab"), is_short("h:3f9c21ab"), is_short("bertscore|layer:4")
    (True, True, False)
    """
    return _SHORT.fullmatch(text.strip()) is not None


def record(signature: Signature) -> int:
    """Add a signature to the index of this machine; returns how many digits of its hash are unique there."""
    return record_recipe(signature.recipe_part)


def find_signature(text: str, files: Iterable[str | Path] = ()) -> Signature:
    """The full signature of a short one: from these files, or from the index of this machine.

    A file is the JSON of a result, or a text that has signatures. With its run part, if the file has it.
    """
    match = _SHORT.fullmatch(text.strip())
    if match is None:
        msg = f"{text!r} is not a short signature: expected h: and hexadecimal digits, such as h:3f9c21ab"
        raise SignatureError(msg)
    digits, names = match[1], [str(path) for path in files]
    if len(digits) < LEAST_DIGITS:
        msg = f"h:{digits} is too short: give at least {LEAST_DIGITS} digits"
        raise SignatureError(msg)
    matches: dict[str, str] = {}
    for candidate in (*(line for name in names for line in _signatures_of(name)), *find_recipes(digits)):
        recipe = candidate.partition("||")[0]
        if recipe_digest(recipe).startswith(digits):
            matches.setdefault(recipe, candidate)
    if not matches:
        raise SignatureError(_not_found(digits, names))
    if len(matches) > 1:
        digests = [recipe_digest(recipe) for recipe in matches]
        longer = ", ".join(f"h:{digest[: unique_digits(digest, digests)]}" for digest in digests)
        msg = f"h:{digits} is ambiguous: {len(matches)} signatures start with it; use one of {longer}"
        raise SignatureError(msg)
    signature = Signature.parse(next(iter(matches.values())))
    stated = text.strip().rpartition("|")[0]
    if stated and stated != (own := shorten(signature, digits=len(digits)).rpartition("|")[0]):
        msg = f"h:{digits} belongs to {own!r}, not to {stated!r}; correct that part, or give h:{digits} alone"
        raise SignatureError(msg)
    return signature


def _not_found(digits: str, files: Sequence[str]) -> str:
    index = f"not produced on this machine (index: {str(index_folder())!r})"
    if files:
        names = " or ".join(map(repr, files))
        return (
            f"unknown signature h:{digits}: not in {names}, and {index}; "
            "try another result file, or ask the authors for the full signature"
        )
    return (
        f"unknown signature h:{digits}: {index}; "
        f"find it in a result file with 'nlgauge signature show h:{digits} --run FILE.json', "
        "or ask the authors for the full signature"
    )


def _signatures_of(file: str) -> list[str]:
    """The texts of a result file that could be signatures; an error if it has none."""
    if not (lines := list(_signatures_in(Path(file)))):
        msg = f"{file!r} contains no signature; use a result file, such as FILE.json of 'nlgauge score -o FILE.json'"
        raise InputError(msg)
    return lines


def _signatures_in(path: Path) -> Iterator[str]:
    """All texts of a file that could be signatures."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        msg = f"cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}"
        raise InputError(msg) from error
    try:
        yield from _texts_in(json.loads(text))
    except (ValueError, RecursionError):  # not JSON: a table, or a page
        yield from re.findall(r"[^\s\"'`<>]+\|[^\s\"'`<>]+", text)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "|" in value:
            yield value
    elif isinstance(value, Mapping | list):
        for entry in value.values() if isinstance(value, Mapping) else value:
            yield from _texts_in(entry)


# The parts of the line


def _options(signature: Signature) -> Iterator[str]:
    """Fields worth showing, most important first: precision, options that are not defaults, references, versions."""
    recipe = signature.recipe
    yield from _precision(recipe)
    for number, member in enumerate(signature.members, start=1):
        alone = member is signature
        for key, value in _changed(member).items():
            yield f"{key if alone else member_key(number, key)}:{quote_value(value)}"
    if signature.members[0] is not signature:
        own = {key: value for key, value in recipe.items() if plain_key(key) == key and key != "members"}
        yield from (
            f"{key}:{quote_value(value)}" for key, value in _changed(Signature(signature.metric, own)).items()
        )
    if recipe.get("refs", "1") not in {"1", "none"}:
        yield f"refs:{quote_value(recipe['refs'])}"
    yield from (f"{key}:{_major_minor(recipe[key])}" for key in _SHOWN_VERSIONS if key in recipe)


def _precision(recipe: Mapping[str, str]) -> Iterator[str]:
    """Precision and backend of the vectors, unless they are the usual ones."""
    engine = next((recipe[key] for key in ENGINE_FIELDS if key in recipe), "")
    if precision_name(engine) != DEFAULT_PRECISION:
        yield f"precision:{quote_value(precision_name(engine))}"
    backend = engine.partition("-")[0]
    if backend and backend not in _USUAL_BACKENDS:
        yield f"engine:{quote_value(backend)}"


def _changed(signature: Signature) -> dict[str, str]:
    """Options of a metric that are not defaults, without digests."""
    recipe = signature.recipe
    usual = _defaults(signature.metric, recipe.get("profile", "").removesuffix("*"))
    changed = {}
    for key, value in recipe.items():
        if key in _HEAD or key in RUNNER_FIELDS or key in VERSION_FIELDS or (usual and key not in usual):
            continue
        plain = _BRACKETS.sub("", value).removesuffix("*" if key == "profile" else "")
        is_model = key == "sentence" and plain == recipe.get("model")
        if plain != usual.get(key) and not is_model and not _DIGEST.fullmatch(plain):
            changed[key] = plain
    return changed


#: Fields at the front of the line.
_HEAD = ("layer", "layers", "members")


@cache
def _defaults(metric: str, profile: str) -> Mapping[str, str]:
    """The options of a metric by default, under a profile, as a signature has them; empty for an unknown metric."""
    from nlgauge.core.registry import METRICS  # which imports results, and these import this module

    if metric not in METRICS:
        return {}
    kind = METRICS[metric]
    usual = {name: entry.default_text for name, entry in kind.options().items() if entry.signed}
    try:
        recipe = kind.from_options({"profile": profile} if profile else {})
    except RecipeError:  # of an option that must be given, or a profile of another version
        return usual
    values = {name: entry.kind.show(getattr(recipe, name)) for name, entry in kind.options().items() if entry.signed}
    first = {"profile": kind.options()["profile"].default_text} if "profile" in usual else {}
    return usual | values | first


def _model(recipe: Mapping[str, str]) -> str:
    """The model without its organisation, with the layers that are compared."""
    name = recipe.get("model", "").rpartition("/")[2]
    layers = recipe.get("layers") or recipe.get("layer") or "none"
    return name if not name or layers == "none" else f"{name}-L{layers}"


def _major_minor(version: str) -> str:
    """A version, or a name and a version, without the last number.

    >>> _major_minor("0.2.0"), _major_minor("my-package-1.10.3.dev1")
    ('0.2', 'my-package-1.10')
    """
    return quote_value(re.sub(r"(\d+\.\d+)\..*", r"\1", version))


def _cut(text: str, width: int) -> str:
    """The text, or its start and end.

    >>> _cut("paraphrase-multilingual", 13)
    'paraph..ngual'
    """
    if len(text) <= width:
        return text
    if width < 5:
        return text[: max(width, 0)]
    end = (width - 2) // 2
    return f"{text[: width - 2 - end]}..{text[-end:]}"
