"""What had to be decided about texts: noted by segment, counted in the result, warned of once.

Nothing is truncated, dropped or replaced in silence: whatever a run does to a text ends up here.
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
    one_language_of,
    warn_if_unsupported,
    warn_of_other_language,
)
from nlgauge.text.tokenizer import Tokens

#: Segments that a message names one by one; the rest are counted, or "...".
MAX_NAMED_SEGMENTS = 10

#: Counts that a signature has even where they are 0.
_ALWAYS_IN_SIGNATURE = ("truncated", "empty")


@contextmanager
def naming_documents(corpus: Corpus) -> Iterator[None]:
    """Say where a document stands that an annotator, or a metric, does not know the place of."""
    try:
        yield
    except InputError as error:
        place = None if error.document is None else _place_of(error.document, corpus)
        if place is None:
            raise
        msg = f"{place}: {error}"
        raise type(error)(msg) from error


def _place_of(document: str, corpus: Corpus) -> str | None:
    what = ", hypothesis" if any(corpus.references) else ""
    for system, texts in corpus.systems.items():
        if document in texts:
            return f"{corpus.names.place(system, texts.index(document))}{what}"
    for at, group in enumerate(corpus.references):
        if document in group:
            what = "source" if corpus.against_source else f"reference {group.index(document)}"
            return f"{corpus.names.place('', at)}, {what}"
    return None


def run_fields(notes: SegmentNotes) -> dict[str, str]:
    """The run part of a signature."""
    return count_fields(count_notes(notes))


def count_fields(counts: Mapping[str, int]) -> dict[str, str]:
    """Counts by kind of note, as a signature has them."""
    return {name: str(count) for name, count in counts.items() if count or name in _ALWAYS_IN_SIGNATURE}


def check_tokens(tokenized: TokenizedCorpus, *, long: str, empty: str) -> dict[str, SegmentNotes]:
    """What each system's texts make us decide under a model; refuses what the options say to refuse."""
    corpus, tokens = tokenized.corpus, tokenized.tokens
    names, limit = corpus.names, tokenized.limit
    notes = {}
    for system, hypotheses in corpus.systems.items():
        truncated, unknown, blank, in_windows = [], [], [], []
        for at, (hypothesis, references) in enumerate(zip(hypotheses, corpus.references, strict=True)):
            sides = [tokens[hypothesis], *(tokens[text] for text in references)]
            if any(side.cut for side in sides):
                truncated.append(at)
                if long == "error":
                    raise TooLongError(
                        _too_long(names.place(system, at), sides, limit, against_source=corpus.against_source)
                    )
            if any(side.windows for side in sides):
                in_windows.append(at)
            if any(side.unknown for side in sides):
                unknown.append(at)
            if any(side.empty for side in sides):
                blank.append(at)
                if references and all(side.empty for side in sides):
                    other = "source" if corpus.against_source else "reference"
                    left_out = any(side.left_out for side in sides)
                    _refuse_empty_pair(names.place(system, at), empty, other=other, left_out=left_out)
        notes[system] = order_notes(
            {"truncated": truncated, "empty": blank, "unknown": unknown, "windows": in_windows}
        )
        if empty == "error":
            corpus.refuse_empty_pairs(blank)
    return notes


def check_texts(corpus: Corpus, *, empty: str) -> dict[str, SegmentNotes]:
    """The same where no model looks at the texts, so that nothing is too long."""
    notes = {}
    for system, hypotheses in corpus.systems.items():
        blank = []
        for at, (hypothesis, references) in enumerate(zip(hypotheses, corpus.references, strict=True)):
            sides = [not text.strip() for text in (hypothesis, *references)]
            if any(sides):
                blank.append(at)
                if all(sides) and references:
                    _refuse_empty_pair(corpus.names.place(system, at), empty)
        notes[system] = order_notes({"empty": blank})
        if empty == "error":
            corpus.refuse_empty_pairs(blank)
    return notes


def warn_about_tokens(
    tokenized: TokenizedCorpus,
    notes: Mapping[str, SegmentNotes],
    *,
    languages: Collection[str] = (),
) -> None:
    """Warn of what `check_tokens` noted; `languages` are those that the recipes name, and have been judged by."""
    names = tokenized.corpus.names
    _warn(
        TruncationWarning,
        _segments("truncated", notes),
        f"texts were truncated to the limit of {tokenized.limit} tokens, and the rest of them was not scored; "
        "to score whole texts, use long='windows'",
        names,
    )
    if tokenized.windows is not None:
        size, stride, _ = tokenized.windows
        what = f"texts over {size} tokens were read in windows of {size}, one every {stride} tokens"
        _warn(WindowsWarning, _segments("windows", notes), what, names)
    warn_about_empty(notes, names)
    _warn_about_unknown(tokenized, notes)
    _warn_about_scripts(tokenized)
    _warn_about_function_words(tokenized, languages)


def warn_about_fallbacks(comparisons: Sequence[Mapping[str, Sequence[Comparison]]], names: TextNames) -> None:
    """Warn of what metrics had to do while they compared."""
    pairs = [
        (at, comparison)
        for by_system in comparisons
        for found in by_system.values()
        for at, comparison in enumerate(found)
    ]
    warn_about_weights((at for at, comparison in pairs if comparison.zero_weight), names)
    warn_about_convergence((at for at, comparison in pairs if comparison.unconverged), names)


def warn_about_weights(found: Iterable[int], names: TextNames) -> None:
    """Warn of texts without weight."""
    what = "idf, or the removal of tokens, left a text without weight; uniform weights were used"
    _warn(ZeroWeightWarning, found, what, names)


def warn_about_convergence(found: Iterable[int], names: TextNames) -> None:
    """Warn of approximate values."""
    _warn(ConvergenceWarning, found, "Sinkhorn did not converge; the value is approximate", names)


def warn_about_note(note: Note, found: Iterable[int], what: str, names: TextNames) -> None:
    """Warn of segments that a metric noted, unless they are only counted."""
    if note.warning is not None:
        _warn(note.warning, found, what, names)


def warn_about_languages(metrics: Iterable[Metric], *, named_by_data: Iterable[str] = ()) -> None:
    """Warn of each language that a recipe, or the data, names and the recipe's model does not know."""
    of_data = tuple(named_by_data)
    named: dict[tuple[str, str], bool] = {}
    for one in metrics:
        if isinstance(one, VectorMetric):
            against_source = one.against == "source"
            for language, read in (
                (one.lang, True),
                (one.src_lang, against_source),
                *((code, False) for code in of_data),
            ):
                if language:
                    named[one.model, language] = named.get((one.model, language), False) or read
    for (model, language), read in named.items():
        warn_if_unsupported(model, language, read=read, stacklevel=user_stacklevel())


def warn_about_text_language(metric: TextMetric, corpus: Corpus) -> None:
    """Warn of references in a language that a metric of texts scores badly."""
    if problem := metric.language_problem(corpus.reference_groups):
        warnings.warn(problem, LanguageWarning, stacklevel=user_stacklevel())


def _too_long(name: str, sides: Sequence[Tokens], limit: int, *, against_source: bool) -> str:
    side = next(number for number, tokens in enumerate(sides) if tokens.cut)
    what = "hypothesis" if side == 0 else "source" if against_source else f"reference {side - 1}"
    text = f"{name}: the {what}" if len(sides) > 1 else name
    count = len(sides[side]) + sides[side].cut
    return (
        f"{text} has {count} tokens, over the limit of {limit}; "
        "shorten it, allow truncation (long='truncate'), or read it in windows (long='windows')"
    )


def _refuse_empty_pair(name: str, empty: str, *, other: str = "reference", left_out: bool = False) -> None:
    if empty == "error":
        both = (
            f"no word of hypothesis and {other} has a vector"
            if left_out
            else f"hypothesis and {other} are both empty"
        )
        msg = f"{name}: {both}, so no score is defined; remove the segment, or score it 0 (empty='zero')"
        raise EmptyPairError(msg)


def warn_about_empty(notes: Mapping[str, SegmentNotes], names: TextNames) -> None:
    """Warn of empty texts, whether or not a model looks at them."""
    what = "empty text: scored 0 before rescaling (distances: as the metric has it, mostly that to the origin)"
    _warn(EmptyTextWarning, _segments("empty", notes), what, names)


def _warn_about_unknown(tokenized: TokenizedCorpus, notes: Mapping[str, SegmentNotes]) -> None:
    what = f"tokens unknown to model {tokenized.encoder.model!r} share one vector, whatever they say"
    if any(tokens.left_out for tokens in tokenized.tokens.values()):
        what = "words without a vector were left out"
    _warn(UnknownWordWarning, _segments("unknown", notes), what, tokenized.corpus.names)


def _warn_about_scripts(tokenized: TokenizedCorpus) -> None:
    """Warn of texts in scripts that the model was not trained on, and name a model that was."""
    corpus, model = tokenized.corpus, tokenized.encoder.model
    columns = [*corpus.systems.values(), *itertools.zip_longest(*corpus.references, fillvalue="")]
    script_of_text = {text: _foreign_script(text, tokenized) for text in dict.fromkeys(itertools.chain(*columns))}
    found = [(at, script) for texts in columns for at, text in enumerate(texts) if (script := script_of_text[text])]
    scripts = sorted({script for _, script in found})
    what = f"texts in {' and '.join(scripts)} script, which model {model!r} does not cover, so scores mean little"
    what += f"; {offer_multilingual(scripts, model=model)}"
    _warn(LanguageWarning, (at for at, _ in found), what, corpus.names)


def _warn_about_function_words(tokenized: TokenizedCorpus, named: Collection[str]) -> None:
    """Warn of texts that are plainly in another language than the only one of the model."""
    corpus, model = tokenized.corpus, tokenized.encoder.model
    own = one_language_of(model)
    if not own:
        return
    judged = {own, *(language.partition("-")[0] for language in named)}
    for texts in (itertools.chain(*corpus.systems.values()), itertools.chain(*corpus.references)):
        language = language_of_texts(texts)
        if language and language not in judged:
            judged.add(language)
            what = f"texts look {LANGUAGE_NAMES[language]}"
            warn_of_other_language(model, what, language, stacklevel=user_stacklevel())


def _foreign_script(text: str, tokenized: TokenizedCorpus) -> str:
    """The script of a text that the model does not cover: by what is known of it, or else by its unknown tokens."""
    covered = COVERED_SCRIPTS.get(tokenized.encoder.model)
    if covered is not None:
        return foreign_script(text, covered)
    tokens = tokenized.tokens.get(text)
    if tokens is None or tokens.left_out or tokens.unknown * 2 <= np.count_nonzero(~tokens.is_special):
        return ""
    return next(iter(count_scripts(text)), "")


def _segments(note: str, notes: Mapping[str, SegmentNotes]) -> Iterator[int]:
    """Segments that a note names for one of the systems."""
    return (segment for own in notes.values() for segment in own.get(note, ()))


def _warn(category: type[Warning], found: Iterable[int], what: str, names: TextNames) -> None:
    segments = sorted(set(found))
    if not segments:
        return
    named = ", ".join(map(names.name, segments[:MAX_NAMED_SEGMENTS])) + (
        ", ..." if len(segments) > MAX_NAMED_SEGMENTS else ""
    )
    many = "s" if len(segments) > 1 else ""
    warnings.warn(f"{len(segments)} {names.unit}{many} ({named}): {what}", category, stacklevel=user_stacklevel())
