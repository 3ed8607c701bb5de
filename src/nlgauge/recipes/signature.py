"""The signature: every choice that moves a score, in one line that can be read back.

    bertscore|layer:4|idf:none|...|nlgauge:0.1.0||truncated:0|empty:0
    \\_____________ recipe part ______________/  \\____ run part ____/

The recipe part says how a score was made and parses back into a recipe; two scores are comparable when
their recipe parts are equal. The run part counts what happened to the texts at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from nlgauge.errors import SignatureError

__all__ = ["OPTIONAL_FIELDS", "RUNNER_FIELDS", "FieldDifference", "Signature"]

#: Fields of a signature that a metric of vectors has where they are not as usual.
OPTIONAL_FIELDS = ("casing", "cut", "unknown", "steps")

#: Fields of a signature that every metric has, after its own. `refs` counts references, or says `source`.
RUNNER_FIELDS = ("refs", "model", "weights", "tokenizer", "maxlen", "engine", "nlgauge")

#: Short names, in the spirit of sacreBLEU's. A key without an entry keeps its name.
ABBREVIATIONS = {
    "profile": "p",
    "model": "m",
    "weights": "w",
    "tokenizer": "t",
    "maxlen": "ml",
    "layer": "l",
    "layers": "ls",
    "aggregation": "ag",
    "exponents": "ex",
    "subwords": "sw",
    "punctuation": "pu",
    "stopwords": "st",
    "specials": "sp",
    "values": "va",
    "idf": "i",
    "refs": "#",
    "multiref": "mr",
    "rescale": "rs",
    "case": "c",
    "casing": "cas",
    "tokenize": "tok",
    "smooth": "s",
    "chars": "nc",
    "words": "nw",
    "beta": "b",
    "stemmer": "sm",
    "measure": "me",
    "sacrebleu": "sb",
    "rouge_score": "rg",
    "engine": "e",
    "nlgauge": "v",
    "truncated": "tr",
    "empty": "em",
    "zero_weight": "zw",
    "unconverged": "uc",
    "unknown": "uk",
    "idf_hyps": "ih",
    "combine": "co",
    "weighting": "wt",
    "flip": "fl",
    "links": "li",
    "sentence": "se",
    "bounds": "bo",
    "range": "ra",
    "pairs": "pr",
    "unit": "un",
    "trim": "tm",
    "lm_weight": "lw",
    "steps": "sx",
}

#: What `nlgauge signature show` says about a key.
MEANINGS = {
    "metric": "metric",
    "profile": "set of choices where paper and released code disagree",
    "model": "encoder by name",
    "weights": "sha256 of the encoder's weights (first digits)",
    "tokenizer": "sha256 of the tokenizer (first digits)",
    "maxlen": "longest text in tokens; longer ones are truncated and counted",
    "layer": "layer whose vectors are compared (0 is the embedding layer)",
    "layers": "layers that are aggregated",
    "aggregation": "how layers become one vector per token",
    "exponents": "exponents of the power means (-inf the smallest, 1 the mean, inf the largest)",
    "values": "what is computed: W (exact transport), SD_r (entropic, regularisation r)",
    "n": "tokens per n-gram",
    "subwords": "pieces of a word that are kept",
    "punctuation": "whether punctuation is dropped",
    "specials": "whether special tokens such as [CLS] stay",
    "stopwords": "words dropped [digest of the list]",
    "idf": "inverse document frequency: none, or where from [digest of the table]",
    "refs": "references per segment (var: the number varies), or source: compared with the text that was translated",
    "multiref": "rule that joins the scores against several references",
    "rescale": "no, or the baseline that scores are rescaled with: shipped-LANGUAGE or file [digest]",
    "case": "whether case counts",
    "casing": "lower: texts were put in lower case before they were read",
    "cut": "longest text in tokens by choice, below that of the model",
    "steps": "what was done to token vectors [digest of the file, languages]",
    "tokenize": "tokenizer of BLEU",
    "smooth": "smoothing of BLEU",
    "chars": "longest character n-gram",
    "words": "longest word n-gram",
    "beta": "weight of recall",
    "stemmer": "whether words are stemmed",
    "measure": "what stands for the metric",
    "sacrebleu": "version of the package that computed the score",
    "rouge_score": "version of the package that computed the score",
    "engine": "what computed the vectors, with its version",
    "nlgauge": "version of this library",
    "truncated": "segments in which a text was cut at maxlen",
    "empty": "segments in which a side had no token",
    "zero_weight": "segments in which idf, or the removal of tokens, left a text without weight",
    "unconverged": "segments in which an iteration stopped before it came to rest",
    "unknown": "in the recipe: what a text of nothing but unknown tokens gets (zero, or score: as it is); "
    "in the run: segments with tokens that the model does not know",
    "idf_hyps": "digest of the idf table of this system's own outputs",
    "combine": "parts of SentSim that are joined",
    "weighting": "weight of each part",
    "flip": "how a distance B enters: as e^(1-B) (1-b) or as e^-B (-b)",
    "links": "matches of WMDo: from the flow, or equal words",
    "sentence": "model of sentence vectors [digest]",
    "bounds": "what parts are scaled by: the range over this corpus, or a frozen file [digest]",
    "range": "digest of the range of each part over this corpus, on which every score depends",
    "pairs": "pairs that the range was taken over",
    "unit": "what is compared: n-grams of words, or one vector of each sentence",
    "trim": "share of the flow's smallest masses that is dropped",
    "lm": "language model of the fluency term [digest]",
    "lm_weight": "weight of the fluency term",
}


class FieldDifference(NamedTuple):
    """One key on which two signatures disagree; None where a side lacks it."""

    part: Literal["recipe", "run"]
    key: str
    left: str | None
    right: str | None


@dataclass(frozen=True)
class Signature:
    """Ordered `key:value` fields of the recipe and of the run."""

    metric: str
    recipe: Mapping[str, str]
    run: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.recipe_part}||{_join(self.run)}" if self.run else self.recipe_part

    @property
    def recipe_part(self) -> str:
        """The part that two comparable scores share."""
        return "|".join([_escape(self.metric), *([_join(self.recipe)] if self.recipe else [])])

    def short(self) -> str:
        """The same with abbreviated keys, for a table's caption; it does not parse back into a recipe."""
        return str(Signature(self.metric, _abbreviated(self.recipe), _abbreviated(self.run)))

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read a signature back.

        >>> Signature.parse("bertscore|layer:4||empty:0").recipe["layer"]
        '4'
        """
        recipe_text, _, run_text = text.strip().partition("||")
        metric, _, fields = recipe_text.partition("|")
        if not metric or ":" in metric:
            msg = f"a signature starts with the metric's name and '|', got {text!r}"
            raise SignatureError(msg)
        return cls(_unescape(metric), _split(fields, text), _split(run_text, text))

    def difference(self, other: Signature) -> list[FieldDifference]:
        """Fields on which the two disagree, recipe first, in this signature's order."""
        found: list[FieldDifference] = []
        if self.metric != other.metric:
            found.append(FieldDifference("recipe", "metric", self.metric, other.metric))
        sides: list[tuple[Literal["recipe", "run"], Mapping[str, str], Mapping[str, str]]] = [
            ("recipe", self.recipe, other.recipe),
            ("run", self.run, other.run),
        ]
        for part, left, right in sides:
            for key in [*left, *(key for key in right if key not in left)]:
                if left.get(key) != right.get(key):
                    found.append(FieldDifference(part, key, left.get(key), right.get(key)))
        return found


def _abbreviated(fields: Mapping[str, str]) -> dict[str, str]:
    return {ABBREVIATIONS.get(key, key): value for key, value in fields.items()}


def _escape(value: str) -> str:
    # Only what would break the grammar is escaped, so that ordinary values stay readable.
    return "".join(quote(char, safe="") if char in "|%" or char.isspace() else char for char in value)


def _unescape(value: str) -> str:
    return unquote(value)


def _join(fields: Mapping[str, str]) -> str:
    return "|".join(f"{key}:{_escape(value)}" for key, value in fields.items())


def _split(text: str, whole: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in text.split("|") if text else []:
        key, colon, value = part.partition(":")
        if not colon or not key:
            msg = f"expected 'key:value' between bars, got {part!r} in signature {whole!r}"
            raise SignatureError(msg)
        if key in fields:
            msg = f"key {key!r} stands twice in signature {whole!r}"
            raise SignatureError(msg)
        fields[key] = _unescape(value)
    return fields
