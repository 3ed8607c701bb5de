"""Recipes with frozen scores and their corpus; the contract and stage tests use the same recipes."""

from __future__ import annotations

from pathlib import Path

from tests.frozen.inputs import SOURCES, VECTORS

#: Files used by recipes: bounds of SentSim from `nlgauge build bounds`, and word vectors.
FILES = Path(__file__).parent / "files"

#: Contract tests: recipes whose scores depend only on a pair.
ALONE = [
    "bertscore",
    "bertscore:layer=6,multiref=mean",
    "bertscore:layer=0",
    "bertscore:rescale=yes",
    "moverscore:idf=none",
    "moverscore:profile=v2,idf=none",
    "moverscore:profile=paper,idf=none,n=2",
    "moverscore:idf=none,aggregation=barycentre",
    "smd:idf=none",
    "smd:profile=web",
    "baryscore:idf=none",
    "sentsim:combine=sss+bertscore+wmd+smd,bounds=bounds-source.json",
    "sentsim:combine=sss+wmdo,wmdo_matches=words,against=refs,bounds=bounds-refs.json",
    "xmoverscore",
    "xmoverscore:profile=head,trim=0",
    "xmoverscore:profile=paper,idf=none",
    "xmoverscore:unit=sentence",
    "learned",
    "bleu",
    "chrf",
    "rouge1",
    "rouge2",
    "rougel",
    "lexical-graph:vectors=vectors.txt",
    "discoscore",
    "ds-focus",
    "ds-sent",
    "entity-graph",
    "focus-frequency",
    "lc",
    "lexical-chain",
    "rc",
]

#: Contract tests: values depend on rounding, so they are not compared (tests/frozen/comparing.py).
ROUNDING_DECIDES = ["baryscore:profile=released"]

#: Stage tests: recipes whose scores depend on more than a pair. Metrics without options are above, or here with idf.
STAGES = [
    "baryscore",
    "moverscore",
    "sentsim",
    "smd",
    "bertscore:idf=both",
    "bertscore:idf=refs,layer=2,lowercase=yes",
    "moverscore:n=2,max_tokens=8",
    "sentsim:combine=all,against=refs,model=minilm",
    "xmoverscore:transforms=position-norm",
]

#: Other common options.
MORE = [
    "bertscore:multiref=best-each,stopwords=iso-en",
    "bertscore:model=mpnet,rescale=yes",
    "bertscore:model=muse,against=source",
    "bertscore:window=model",
    "moverscore:profile=web",
    "baryscore:measures=W+SD_1",
    "xmoverscore:profile=paper",
    "bleu:case=lower,smooth=floor",
    "chrf:words=2",
    "rougel:stemmer=yes",
    "ds-focus:profile=paper",
    "ds-sent:adjacency=weighted",
]

RECIPES = [*ALONE, *ROUNDING_DECIDES, *STAGES, *MORE]

#: Its bounds are for one reference.
ONE_REFERENCE = frozenset(recipe for recipe in RECIPES if "bounds-refs" in recipe)

#: Metrics without an encoder, and so without the option `unknown`.
WITHOUT_VECTORS = frozenset(
    {"bleu", "chrf", "rouge1", "rouge2", "rougel", "lc", "rc"}
    | {"entity-graph", "lexical-graph", "lexical-chain", "focus-frequency"}
)

#: Longer than 512 tokens.
LONG = " ".join(f"Station {number} of the line was closed on day {number * 7 % 31 + 1}." for number in range(48))

SYSTEMS = {
    "terse": [
        "Ferry cancelled, storm.",
        "Letters since March.",
        "",
        "Witnesses: no.",
        "The bakery sells bread. The bread is rye. The bakery is on the corner.",
        "🛸",
        "He waited. The stairs were cold. He had no key, and the stairs were dark.",
        "Bridge: 20 minutes.",
        LONG,
        "Phone off!",
    ],
    "fluent": [
        "The ferry was called off because of the storm.",
        "She has been writing letters to her grandmother since March.",
        "The committee is going to publish the report at the end of this week, as the chair of the committee said.",
        "Two out of three witnesses were unable to identify the driver.",
        "The corner bakery sells the best rye bread in the town. People like the bread. The bakery opens at six.",
        "For the third year in a row, prices 🛸 increased faster than wages.",
        "He had forgotten his key and waited an hour on the stairs. The key lay on the table.",
        "The new bridge will make the trip twenty minutes shorter.",
        "All stations of the line were closed. The line opens again in May.",
        "Please turn off your phone before the concert starts.",
    ],
}

REFERENCES = [
    ["The ferry was cancelled because of the storm.", "A storm stopped the ferry."],
    ["She has been writing letters to her grandmother since March."],
    ["The committee will publish its report at the end of the week.", "The report will be out by Friday."],
    ["Two of the three witnesses could not identify the driver."],
    ["The bakery on the corner sells the best rye bread in town. The bread is fresh. The bakery opens early."],
    ["Prices rose faster than wages for the third year in a row."],
    ["He forgot the key and had to wait on the stairs for an hour. The stairs were cold. The key was at home."],
    ["The new bridge will shorten the journey by twenty minutes.", "Journeys get shorter: a new bridge."],
    ["Every station of the line was closed in turn. The line was repaired. The stations open again in May."],
    ["Please switch off your telephone before the concert begins."],
]

#: The German sources of these segments.
GERMAN = [
    *SOURCES[:8],
    "Alle Bahnhöfe der Linie waren nacheinander geschlossen. Im Mai öffnen sie wieder.",
    SOURCES[9],
]

__all__ = ["FILES", "GERMAN", "ONE_REFERENCE", "RECIPES", "REFERENCES", "SYSTEMS", "VECTORS", "WITHOUT_VECTORS"]
