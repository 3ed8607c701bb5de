"""Hypothesis strategies for texts and for the corpora of contract tests."""

from __future__ import annotations

from hypothesis import strategies as st

from nlgauge.text.conllu import Sentence, Word, spell

WORDS = """the a ferry committee repaired bread storm of wages twenty minutes was cancelled because nobody letters
to museum windowless isn't antidisestablishmentarianism 3.14 Ōsaka naïve 東京 ! , — 🙂""".split()  # noqa: SIM905

#: Text of one to thirty words; a corpus of ten has very unequal lengths.
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)

#: At least ten texts: torchmetrics' mis-ordering after sorting by length shows in >99 % of such corpora.
corpora = st.lists(st.tuples(texts, texts), min_size=10, max_size=14)

#: Any text of a user's file, without surrogates and control characters.
any_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=80)


@st.composite
def trees(draw: st.DrawFn) -> Sentence:
    """Sentence of one to nine words in any tree, projective or not; forms are distinct except commas."""
    size = draw(st.integers(1, 9))
    order = draw(st.permutations(range(1, size + 1)))
    words: dict[int, Word] = {}
    for place, own in enumerate(order):
        head = draw(st.sampled_from(order[:place])) if place else 0
        relation = draw(st.sampled_from(["obj", "amod", "aux", "nmod", "det", "punct"]))
        upos = "PUNCT" if relation == "punct" else draw(st.sampled_from(["NOUN", "VERB", "ADJ"]))
        form = "," if upos == "PUNCT" and draw(st.booleans()) else f"w{own}x"
        words[own] = Word(form, upos, {}, head, relation, draw(st.booleans()))
    parsed = tuple(words[own] for own in range(1, size + 1))
    return Sentence(parsed, (), spell(parsed, ()))
