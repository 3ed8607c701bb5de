"""A recipe made ready for many pairs: models, tokens, idf, the recipe part of the signature. Nothing is encoded yet.

Idf that is counted on the texts at hand counts each hypothesis and each reference once, as `nlgauge.score` does for
a corpus of these texts, however many pairs a text is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from nlgauge._version import __version__
from nlgauge.corpus.texts import Corpus
from nlgauge.corpus.tokens import TokenizedCorpus
from nlgauge.engine.notes import (
    check_texts,
    check_tokens,
    warn_about_empty,
    warn_about_languages,
    warn_about_text_language,
    warn_about_tokens,
)
from nlgauge.engine.prepare import (
    AnyVectorMetric,
    PreparedMetric,
    PreparedTextMetric,
    SignatureCheck,
    as_asked,
    load_for,
    prepare_metric,
    read_texts,
)
from nlgauge.engine.unknown import UnknownPairs, refuse_unknown
from nlgauge.errors import InputError, RecipeError, TooLongError
from nlgauge.pairs.plan import PairPlan
from nlgauge.recipes.metric import Metric, TextMetric
from nlgauge.recipes.run_options import RunOptions
from nlgauge.recipes.signature import GRAMMAR, Signature
from nlgauge.recipes.vector_metric import VectorMetric
from nlgauge.scores import SegmentNotes
from nlgauge.text import Tokens
from nlgauge.transforms.position_norm import POSITION_NORM

__all__ = ["PreparedPairs", "blank_side", "prepare_pairs"]


@dataclass(frozen=True, eq=False)
class PreparedPairs:
    """A recipe and a plan, ready to be compared."""

    plan: PairPlan
    """With the texts as the recipe reads them: in lower case, where it says so."""
    one: PreparedMetric | PreparedTextMetric
    notes: SegmentNotes
    """By number of the plan's texts."""
    options: RunOptions

    @property
    def metric(self) -> Metric:
        """The recipe."""
        return self.one.metric


def prepare_pairs(recipe: Metric, plan: PairPlan, options: RunOptions, check: SignatureCheck) -> PreparedPairs:
    """Load, tokenise, count and check; what had to be decided about texts is warned of here."""
    recipe = as_asked(recipe, options)
    _refuse(recipe, options)
    if isinstance(recipe, TextMetric):
        return _prepare_texts(recipe, plan, options, check)
    if not isinstance(recipe, VectorMetric):
        msg = f"metric {recipe.name!r} compares neither vectors nor texts, so it has no scores of pairs"
        raise RecipeError(msg)
    warn_about_languages([recipe])
    view = _tokenise(recipe, plan, options)
    if recipe.lowercase == "yes":
        lowered = view.corpus
        plan = replace(plan, hypotheses=lowered.systems[""], references=[group[0] for group in lowered.references])
    listed = replace(view, corpus=plan.listed, memo={})
    notes = check_tokens(listed, long="truncate", empty="zero")[""]
    if options.long == "error" and notes.truncated:
        raise TooLongError(_too_long(plan, notes.truncated[0], view))
    if recipe.unknown == "error" and recipe.reads_with(view.encoder):
        found = dict(_unknown_texts(plan, view.tokens))
        refuse_unknown(list(found), list(found.values()), view.encoder.model)
    if options.empty == "error":
        plan.refuse_empty(notes.empty)
    warn_about_tokens(listed, {"": notes}, plan.names, languages=[recipe.lang] if recipe.lang else [])
    one = prepare_metric(recipe, view, {"": notes}, UnknownPairs(), options)
    if one.uses_neighbours:
        msg = f"transforms={POSITION_NORM!r} looks at a text's neighbours in a corpus, which pairs do not have"
        raise RecipeError(msg)
    recipe.check_recipe(one.signature.recipe, one.state)
    check(0, one.signature)
    return PreparedPairs(plan, one, notes, options)


def blank_side(left: Tokens, right: Tokens, *, equal: bool) -> str | None:
    """Which text of a pair holds nothing but unknown tokens, where that makes it look like any other such text."""
    if left.empty or right.empty or equal:
        return None
    return "hypothesis" if left.only_unknown else "reference" if right.only_unknown else None


def _refuse(recipe: Metric, options: RunOptions) -> None:
    if recipe.whole_corpus:
        frozen = "freeze them: bounds=FILE ('nlgauge sentsim calibrate' makes it)"
        what = f"; {frozen}" if "bounds" in recipe.options() else ""
        msg = (
            f"{recipe.name} scales the score of a pair by the lowest and highest values of a corpus, "
            f"and pairs of many texts are no corpus{what}"
        )
        raise RecipeError(msg)
    if options.alignments:
        msg = "alignments are not kept for many pairs; leave alignments= out, and give a pair to nlgauge.score"
        raise RecipeError(msg)


def _tokenise(recipe: AnyVectorMetric, plan: PairPlan, options: RunOptions) -> TokenizedCorpus:
    """Hypotheses and references, not necessarily of one number, each a document of idf."""
    if plan.same and recipe.against == "source":
        msg = (
            f"{recipe.name} compares with the source, and none was given to compare the texts with; "
            f"give the sources, or compare the texts with each other: {recipe.name}:against=refs"
        )
        raise InputError(msg)
    corpus = Corpus({"": plan.hypotheses}, [(text,) for text in plan.references], sources=plan.references)
    corpus = corpus.compared_with(recipe.against, metric=recipe.name)
    corpus = corpus.lowered if recipe.lowercase == "yes" else corpus
    encoder = load_for(recipe.model, [recipe], options)
    texts = dict.fromkeys([*corpus.systems[""], *(text for group in corpus.references for text in group)])
    if recipe.unknown == "zero":
        texts[""] = None  # stands in for texts that are counted as empty
    return TokenizedCorpus(corpus, encoder, *read_texts(encoder, list(texts), recipe.encoding))


def _too_long(plan: PairPlan, at: int, view: TokenizedCorpus) -> str:
    tokens = view.tokens[plan.texts[at]]
    return (
        f"{plan.names.name(at)} has {len(tokens) + tokens.cut} tokens, over the limit of {view.limit}; "
        "shorten it, allow truncation (long='truncate'), or read it in windows (long='windows')"
    )


def _unknown_texts(plan: PairPlan, tokens: Mapping[str, Tokens]) -> Iterator[tuple[str, str]]:
    """Names and texts of nothing but unknown tokens, of those that are compared with a text that they are not."""
    noted = [at for at, text in enumerate(plan.texts) if tokens[text].only_unknown]
    if not noted:
        return
    left, right = plan.split(noted)
    for flags in ((left, right | True), (left | True, right)):
        for row, column in plan.pairs_of(*flags):
            x, y = plan.hypotheses[row], plan.references[column]
            side = blank_side(tokens[x], tokens[y], equal=x.strip() == y.strip())
            if side == "hypothesis":
                yield plan.name_hypothesis(row), x
            elif side == "reference":
                yield plan.name_reference(column), y


def _prepare_texts(recipe: TextMetric, plan: PairPlan, options: RunOptions, check: SignatureCheck) -> PreparedPairs:
    refs = "none" if recipe.against == "nothing" else "1"
    signature = Signature(
        recipe.name, recipe.describe_texts() | {"refs": refs, "nlgauge": __version__, "sig": GRAMMAR}
    )
    check(0, signature)
    notes = check_texts(plan.listed, empty="zero")
    if options.empty == "error":
        plan.refuse_empty(notes[""].empty)
    warn_about_empty(notes, plan.names)
    corpus = Corpus({"": plan.hypotheses}, [(text,) for text in plan.references])
    warn_about_text_language(recipe, corpus)
    return PreparedPairs(plan, PreparedTextMetric(recipe, corpus, notes, signature), notes[""], options)
