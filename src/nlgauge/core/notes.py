"""Notes about texts that a run had to treat specially: by segment, counted in the result, warned of once.

A run never truncates, drops or replaces a text silently: it is noted here.

Messages number segments from 0, as results do.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from nlgauge.core.corpus import Corpus, TextNames
from nlgauge.core.metric import Comparison, Metric, TextMetric
from nlgauge.core.score import Note, SegmentNotes, count_notes, order_notes
from nlgauge.core.tokens import TokenizedCorpus
from nlgauge.core.vector_metric import COVERED_SCRIPTS, VectorMetric, offer_multilingual
from nlgauge.errors import (
    ConvergenceWarning,
    EmptyPairError,
    EmptyTextWarning,
    InputError,
    LanguageWarning,
    TooLongError,
    TruncationWarning,
    UnknownWordWarning,
    WindowsWarning,
    ZeroWeightWarning,
    user_stacklevel,
)
from nlgauge.text.languages import (
    LANGUAGE_NAMES,
    count_scripts,
    foreign_script,
    language_of_texts,
    single_language,
    warn_if_unsupported,
    warn_of_other_language,
)
from nlgauge.text.tokenizer import Tokens

#: The number of segments that a message names before "...".
MAX_NAMED_SEGMENTS = 10

#: Counts that are in a signature even if they are 0.
_ALWAYS_IN_SIGNATURE = ("truncated", "empty")


@contextmanager
def naming_documents(corpus: Corpus) -> Iterator[None]:
    """Add the segment to an error about a document, which an annotator or a metric raises without it."""
    try:
        yield
    except InputError as error:
        place = None if error.document is None else _place_of(error.document, corpus)
        if place is None:
            raise
        msg = f"{place}: {error}"
        raise type(error)(msg) from error


def _place_of(document: str, corpus: Corpus) -> str | None:
    role = ", hypothesis" if any(corpus.references) else ""
    for system, texts in corpus.systems.items():
        if document in texts:
            return f"{corpus.names.place(system, texts.index(document))}{role}"
    for index, group in enumerate(corpus.references):
        if document in group:
            role = "source" if corpus.against_source else f"reference {group.index(document)}"
            return f"{corpus.names.place('', index)}, {role}"
    return None


def run_fields(notes: SegmentNotes) -> dict[str, str]:
    """The fields of the run part of a signature."""
    return count_fields(count_notes(notes))


def count_fields(counts: Mapping[str, int]) -> dict[str, str]:
    """The fields of a signature for counts by note."""
    return {name: str(count) for name, count in counts.items() if count or name in _ALWAYS_IN_SIGNATURE}


def check_tokens(tokenized: TokenizedCorpus, *, long: str, empty: str) -> dict[str, SegmentNotes]:
    """Note each system's texts that a model treats specially; refuse those that the options refuse."""
    corpus, tokens = tokenized.corpus, tokenized.tokens
    names, limit = corpus.names, tokenized.limit
    notes = {}
    for system, hypotheses in corpus.systems.items():
        truncated, unknown, blank, in_windows = [], [], [], []
        for index, (hypothesis, references) in enumerate(zip(hypotheses, corpus.references, strict=True)):
            sides = [tokens[hypothesis], *(tokens[text] for text in references)]
            if any(side.cut for side in sides):
                truncated.append(index)
                if long == "error":
                    raise TooLongError(
                        _format_too_long(
                            names.place(system, index), sides, limit, against_source=corpus.against_source
                        )
                    )
            if any(side.windows for side in sides):
                in_windows.append(index)
            if any(side.unknown for side in sides):
                unknown.append(index)
            if any(side.empty for side in sides):
                blank.append(index)
                if references and all(side.empty for side in sides):
                    other = "source" if corpus.against_source else "reference"
                    left_out = any(side.left_out for side in sides)
                    _refuse_empty_pair(names.place(system, index), empty, other=other, left_out=left_out)
        notes[system] = order_notes(
            {"truncated": truncated, "empty": blank, "unknown": unknown, "windows": in_windows}
        )
        if empty == "error":
            corpus.refuse_empty_pairs(blank)
    return notes


def check_texts(corpus: Corpus, *, empty: str) -> dict[str, SegmentNotes]:
    """Note each system's empty texts, for metrics without a model."""
    notes = {}
    for system, hypotheses in corpus.systems.items():
        blank = []
        for index, (hypothesis, references) in enumerate(zip(hypotheses, corpus.references, strict=True)):
            sides = [not text.strip() for text in (hypothesis, *references)]
            if any(sides):
                blank.append(index)
                if all(sides) and references:
                    _refuse_empty_pair(corpus.names.place(system, index), empty)
        notes[system] = order_notes({"empty": blank})
        if empty == "error":
            corpus.refuse_empty_pairs(blank)
    return notes


def warn_about_tokens(
    tokenized: TokenizedCorpus,
    notes: Mapping[str, SegmentNotes],
    *,
    metrics: Iterable[Metric],
    languages: Collection[str] = (),
) -> None:
    """Warn of the notes of `check_tokens`; languages in `languages` have been checked already."""
    names = tokenized.corpus.names
    _warn(
        TruncationWarning,
        _segments("truncated", notes),
        f"truncated to the model's limit of {tokenized.limit} tokens; use long='windows' to score whole texts",
        names,
    )
    if tokenized.windows is not None:
        size, stride, _ = tokenized.windows
        message = f"longer than {size} tokens, read in windows of {size} tokens with a stride of {stride}"
        _warn(WindowsWarning, _segments("windows", notes), message, names)
    warn_about_empty(notes, names, metrics)
    _warn_about_unknown(tokenized, notes)
    _warn_about_scripts(tokenized)
    _warn_about_function_words(tokenized, languages)


def warn_about_fallbacks(comparisons: Sequence[Mapping[str, Sequence[Comparison]]], names: TextNames) -> None:
    """Warn of pairs without weight, and of approximate scores."""
    pairs = [
        (index, comparison)
        for by_system in comparisons
        for of_system in by_system.values()
        for index, comparison in enumerate(of_system)
    ]
    warn_about_weights((index for index, comparison in pairs if comparison.zero_weight), names)
    warn_about_convergence((index for index, comparison in pairs if comparison.unconverged), names)


def warn_about_weights(segments: Iterable[int], names: TextNames) -> None:
    """Warn of texts without weight."""
    message = "idf or a stop-word list left a text without any weight, so all its tokens weigh the same"
    _warn(ZeroWeightWarning, segments, message, names)


def warn_about_convergence(segments: Iterable[int], names: TextNames) -> None:
    """Warn of approximate scores."""
    _warn(ConvergenceWarning, segments, "Sinkhorn did not converge; the score is approximate", names)


def warn_about_note(note: Note, segments: Iterable[int], message: str, names: TextNames) -> None:
    """Warn of segments with a note of a metric, unless the note is only counted."""
    if note.warning is not None:
        _warn(note.warning, segments, message, names)


def warn_about_languages(metrics: Iterable[Metric], *, named_by_data: Iterable[str] = ()) -> None:
    """Warn of each language, named by a recipe or the data, that the recipe's model does not support."""
    of_data = tuple(named_by_data)
    is_read: dict[tuple[str, str], bool] = {}
    for metric in metrics:
        if isinstance(metric, VectorMetric):
            against_source = metric.against == "source"
            for language, read in (
                (metric.lang, True),
                (metric.src_lang, against_source),
                *((code, False) for code in of_data),
            ):
                if language:
                    is_read[metric.model, language] = is_read.get((metric.model, language), False) or read
    for (model, language), read in is_read.items():
        warn_if_unsupported(model, language, read=read, stacklevel=user_stacklevel())


def warn_about_text_language(metric: TextMetric, corpus: Corpus) -> None:
    """Warn of references in a language that a metric without a model does not suit."""
    if problem := metric.language_problem(corpus.reference_groups):
        warnings.warn(problem, LanguageWarning, stacklevel=user_stacklevel())


def _format_too_long(name: str, sides: Sequence[Tokens], limit: int, *, against_source: bool) -> str:
    side = next(number for number, tokens in enumerate(sides) if tokens.cut)
    role = "hypothesis" if side == 0 else "source" if against_source else f"reference {side - 1}"
    text = f"{name}: the {role}" if len(sides) > 1 else name
    count = len(sides[side]) + sides[side].cut
    return (
        f"{text} has {count} tokens, over the limit of {limit}; "
        "shorten it, truncate it (long='truncate'), or read it in windows (long='windows')"
    )


def _refuse_empty_pair(name: str, empty: str, *, other: str = "reference", left_out: bool = False) -> None:
    if empty == "error":
        both = (
            f"no word of hypothesis and {other} has a vector"
            if left_out
            else f"hypothesis and {other} are both empty"
        )
        msg = f"{name}: {both}, so the score is undefined; remove the segment, or score it 0 (empty='zero')"
        raise EmptyPairError(msg)


def warn_about_empty(notes: Mapping[str, SegmentNotes], names: TextNames, metrics: Iterable[Metric]) -> None:
    """Warn of empty texts, with what each of the metrics does about them."""
    owners: dict[str, dict[str, None]] = {}
    for metric in metrics:
        owners.setdefault(metric.describe_empty(), {})[metric.name] = None
    outcomes = [
        outcome if len(owners) == 1 else f"{outcome} by {' and '.join(names_of)}"
        for outcome, names_of in owners.items()
        if outcome
    ]
    message = ", ".join(["empty hypothesis or reference", *outcomes])
    _warn(EmptyTextWarning, _segments("empty", notes), message, names)


def _warn_about_unknown(tokenized: TokenizedCorpus, notes: Mapping[str, SegmentNotes]) -> None:
    message = f"tokens unknown to model {tokenized.encoder.model!r}; the score is unreliable"
    if any(tokens.left_out for tokens in tokenized.tokens.values()):
        message = "words without a vector were left out"
    _warn(UnknownWordWarning, _segments("unknown", notes), message, tokenized.corpus.names)


def _warn_about_scripts(tokenized: TokenizedCorpus) -> None:
    """Warn of texts in scripts that the model does not support, and name a model that does."""
    corpus, model = tokenized.corpus, tokenized.encoder.model
    columns = [*corpus.systems.values(), *itertools.zip_longest(*corpus.references, fillvalue="")]
    script_of_text = {text: _foreign_script(text, tokenized) for text in dict.fromkeys(itertools.chain(*columns))}
    foreign = [
        (index, script) for texts in columns for index, text in enumerate(texts) if (script := script_of_text[text])
    ]
    scripts = sorted({script for _, script in foreign})
    message = f"{' and '.join(scripts)} script, which model {model!r} does not support"
    message += f"; the score is unreliable; {offer_multilingual(scripts, model=model)}"
    _warn(LanguageWarning, (index for index, _ in foreign), message, corpus.names)


def _warn_about_function_words(tokenized: TokenizedCorpus, checked: Collection[str]) -> None:
    """Warn of texts whose words are of another language than the only one of the model."""
    corpus, model = tokenized.corpus, tokenized.encoder.model
    own = single_language(model)
    if not own:
        return
    known = {own, *(language.partition("-")[0] for language in checked)}
    for texts in (itertools.chain(*corpus.systems.values()), itertools.chain(*corpus.references)):
        language = language_of_texts(texts)
        if language and language not in known:
            known.add(language)
            guess = f"texts look {LANGUAGE_NAMES[language]}"
            warn_of_other_language(model, guess, language, stacklevel=user_stacklevel())


def _foreign_script(text: str, tokenized: TokenizedCorpus) -> str:
    """The script of a text if the model does not support it; of an unlisted model, judged by unknown tokens."""
    covered = COVERED_SCRIPTS.get(tokenized.encoder.model)
    if covered is not None:
        return foreign_script(text, covered)
    tokens = tokenized.tokens.get(text)
    if tokens is None or tokens.left_out or tokens.unknown * 2 <= np.count_nonzero(~tokens.is_special):
        return ""
    return next(iter(count_scripts(text)), "")


def _segments(note: str, notes: Mapping[str, SegmentNotes]) -> Iterator[int]:
    """Segments with a note, of any system."""
    return (segment for own in notes.values() for segment in own.get(note, ()))


def _warn(category: type[Warning], segments: Iterable[int], message: str, names: TextNames) -> None:
    numbers = sorted(set(segments))
    if not numbers:
        return
    places = "index " if names.name is str else ""  # of lists, where lines of files would count from 1
    places += _list_places([names.name(number) for number in numbers[:MAX_NAMED_SEGMENTS]])
    places += ", ..." if len(numbers) > MAX_NAMED_SEGMENTS else ""
    count = f"{len(numbers)} {names.unit}{'s' if len(numbers) > 1 else ''}"
    warnings.warn(f"{count} ({places}): {message}", category, stacklevel=user_stacklevel())


def _list_places(places: list[str]) -> str:
    """Names of segments; a common word comes once: lines 1, 2, 3.

    >>> _list_places(["line 1", "line 2"]), _list_places(["0", "1"])
    ('lines 1, 2', '0, 1')
    """
    numbers = [place.removeprefix("line ") for place in places]
    if len(places) > 1 and all(
        number.isdigit() and number != place for number, place in zip(numbers, places, strict=True)
    ):
        return f"lines {', '.join(numbers)}"
    return ", ".join(places)
