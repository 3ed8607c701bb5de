"""The signature: one line with every setting that affects a score, which can be parsed back.

    bertscore|layer:4|idf:none|...|nlgauge:0.2.0|sig:1||truncated:0|empty:0
    \\_____________ recipe part ______________/  \\____ run part ____/

The recipe part describes how a score is computed, and can be made a recipe again. Two scores are comparable if their
recipe parts are equal. The run part counts notes about the texts, such as truncated ones.

`BertScoreHash` reads the hash strings of the bert-score package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote

from nlgauge.core.sacrebleu_signature import refuse_sacrebleu_signature
from nlgauge.encoders.base import signed_precision
from nlgauge.errors import SignatureError

#: Fields of every metric, after its own. `refs` is the number of references, or `source`.
RUNNER_FIELDS = ("refs", "model", "weights", "tokenizer", "config", "maxlen", "engine", "nlgauge", "sig")

#: Fields with versions. Another version is a warning, not another recipe.
VERSION_FIELDS = (
    *("engine", "sentence_engine", "lm_engine", "annotator_engine"),
    *("tokenize_engine", "stemmer_engine"),
    *("sacrebleu", "rouge_score", "package", "nlgauge", "sig"),
)

#: Of these, the fields with an engine and its precision.
ENGINE_FIELDS = ("engine", "sentence_engine", "lm_engine")

#: The field with name and version of the package of a third-party metric.
PACKAGE = "package"

#: Version of the grammar and of the field names.
GRAMMAR = "1"

#: Meanings of fields, as `nlgauge signature show` prints them; options and notes add their own.
MEANINGS = {
    "metric": "metric",
    "model": "name of the encoder",
    "weights": "sha256 of the encoder's weights (first digits)",
    "tokenizer": "sha256 of the tokenizer (first digits)",
    "config": "sha256 of the entries of config.json that affect vectors (first digits); none without a config.json",
    "maxlen": "longest input of the model in tokens; longer texts are truncated, or read in windows",
    "layers": "layers that are aggregated",
    "members": "metrics that are combined; their fields have their number",
    "refs": "references per segment, or var if the number varies; source: compared with the source; none: neither",
    "sacrebleu": "version of the package that computed the score",
    "rouge_score": "version of the package that computed the score",
    "package": "package of the metric, with its version, if it is not nlgauge",
    "engine": "inference backend with its version and precision",
    "sentence_engine": "backend of the sentence model, with its version and precision",
    "lm_engine": "backend of the language model, with its version and precision",
    "annotator_engine": "package that annotated the texts, with its version",
    "tokenize_engine": "package behind BLEU's tokenizer, with its version",
    "stemmer_engine": "package that stemmed the words, with its version",
    "nlgauge": "version of nlgauge",
    "sig": "version of the signature's grammar",
    "idf_hyps": "digest of the idf table of the hypotheses",
    "idf_refs": "digest of the references on which idf is counted, and every score depends",
    "information": "digest of the references on which NIST's weights are counted, and every score depends",
    "range": "digest of the range of each part over this corpus, on which every score depends",
    "pairs": "number of pairs behind the range",
    "errors": "rows that could not be scored and are left out, of a run over many shards",
    "prune": "rule that dropped candidates early: method, confidence and references before the first drop",
    "seed": "random seed",
    "scored": "pairs that were scored, of all pairs",
    "scores": "sha256 of the file with the scores of another tool (first digits)",
    "better": "which scores of another tool are better: higher or lower",
}


def declare_fields(meanings: Mapping[str, str]) -> None:
    """Add the meanings of options or notes, by name; the first meaning of a name counts."""
    for name, meaning in meanings.items():
        MEANINGS.setdefault(name, meaning)


def member_key(number: int, key: str) -> str:
    """The field of a member (from 1) in the signature of a learned metric.

    >>> member_key(2, "layer")
    '2.layer'
    """
    return f"{number}.{key}"


def plain_key(key: str) -> str:
    """A field without the number of its member."""
    number, dot, rest = key.partition(".")
    return rest if dot and number.isdigit() else key


class FieldDifference(NamedTuple):
    """A field in which two signatures differ; None if a side lacks it."""

    part: Literal["recipe", "run"]
    key: str
    left: str | None
    right: str | None

    @property
    def field(self) -> str:
        """The key without the number of its member."""
        return plain_key(self.key)

    @property
    def of_precision(self) -> bool:
        """Whether the engines have different precisions, so that scores are not comparable."""
        if self.field not in ENGINE_FIELDS or self.left is None or self.right is None:
            return False
        return signed_precision(self.left) != signed_precision(self.right)


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
        """The part that comparable scores have in common."""
        # Names of metrics of other tools may contain a colon, which would start a field.
        metric = quote_value(self.metric).replace(":", "%3A")
        return "|".join([metric, *([_join(self.recipe)] if self.recipe else [])])

    @property
    def members(self) -> list[Signature]:
        """Recipe parts of the members of a learned metric; of any other metric the signature itself."""
        if "members" not in self.recipe:
            return [self]
        shared = {key: text for key, text in self.recipe.items() if key in RUNNER_FIELDS}
        members = []
        for number, name in enumerate(self.recipe["members"].split("+"), start=1):
            head = member_key(number, "")
            own = {key.removeprefix(head): text for key, text in self.recipe.items() if key.startswith(head)}
            members.append(Signature(name, own | shared))
        return members

    def short(self) -> str:
        """The short form, at most 70 characters, such as `bertscore|minilm-L4|nlgauge:0.2|h:3f9c21ab`.

        It is added to the index of this machine, so that `Signature.find` can resolve it. Its hash has as many digits
        as it needs to be unique there.
        """
        from nlgauge.core.short_signature import record, shorten  # which knows all metrics

        return shorten(self, digits=record(self))

    @classmethod
    def find(cls, text: str, files: Iterable[str | Path] = ()) -> Signature:
        """The full signature of a short one, or of its hash (`h:3f9c21ab`).

        It is looked up in result files, if any, and in the index of signatures that this machine has printed in short
        form. A hash without a match, or with several, is a `SignatureError`.

        >>> signature = Signature.parse("chrf|chars:6|words:2|beta:2|refs:1|nlgauge:0.2.0|sig:1")
        >>> Signature.find(signature.short()) == signature
        True
        """
        from nlgauge.core.short_signature import find_signature

        return find_signature(text, files)

    @classmethod
    def parse(cls, text: str) -> Signature:
        """Read a full signature.

        >>> Signature.parse("bertscore|layer:4||empty:0").recipe["layer"]
        '4'
        """
        if not isinstance(text, str):
            msg = f"a signature must be a text, got {text!r} ({type(text).__name__}); pass str(signature)"
            raise SignatureError(msg)
        refuse_sacrebleu_signature(text)
        recipe_text, _, run_text = text.strip().partition("||")
        metric, _, fields = recipe_text.partition("|")
        if re.fullmatch(r"(.*\|)?h:[0-9a-f]+", recipe_text):
            msg = f"{text!r} is a short signature: Signature.find() and 'nlgauge signature show' get the full one"
            raise SignatureError(msg)
        if not metric or ":" in metric:
            msg = (
                f"{text!r} is not a signature: it must start with a metric and '|', such as 'bertscore|layer:4|...', "
                "or be a short one: h: and 8 hexadecimal digits"
            )
            raise SignatureError(msg)
        return cls(unquote(metric), _split(fields, text), _split(run_text, text))

    def difference(self, other: Signature) -> list[FieldDifference]:
        """Fields that differ, recipe first, in the order of this signature."""
        differences: list[FieldDifference] = []
        if self.metric != other.metric:
            differences.append(FieldDifference("recipe", "metric", self.metric, other.metric))
        sides: list[tuple[Literal["recipe", "run"], Mapping[str, str], Mapping[str, str]]] = [
            ("recipe", self.recipe, other.recipe),
            ("run", self.run, other.run),
        ]
        for part, left, right in sides:
            for key in [*left, *(key for key in right if key not in left)]:
                if left.get(key) != right.get(key):
                    differences.append(FieldDifference(part, key, left.get(key), right.get(key)))
        return differences


#: Characters that would break the grammar; all others stay readable.
_BREAKING = re.compile(r"[|%\s]")


def quote_value(text: str) -> str:
    """The text with the characters escaped that would break the grammar."""
    return _BREAKING.sub(lambda match: quote(match[0], safe=""), text)


def _join(fields: Mapping[str, str]) -> str:
    return "|".join([f"{key}:{quote_value(value)}" for key, value in fields.items()])


def _split(text: str, whole: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for part in text.split("|") if text else []:
        key, colon, value = part.partition(":")
        if (not colon or not key) and part == whole.strip().partition("|")[2]:
            msg = (
                f"{whole!r} is not a signature: {part!r} is not of the form key:value, or the hash (h:...) is "
                "missing; a short signature looks like 'bertscore|minilm-L4|nlgauge:0.2|h:202f27e7'"
            )
            raise SignatureError(msg)
        if not colon or not key:
            msg = (
                f"{whole!r} is not a signature: {part!r} is not of the form key:value. "
                "A full signature looks like 'bertscore|layer:4|idf:none|...'. "
                "A short signature ends with a hash, like 'bertscore|h:3f9c21ab'"
            )
            raise SignatureError(msg)
        if key in fields:
            msg = f"duplicate key {key!r} in signature {whole!r}"
            raise SignatureError(msg)
        fields[key] = unquote(value)
    return fields


# bert-score 0.3.x: MODEL_L17_no-idf_version=0.3.13(hug_trans=4.35.0)-rescaled_fast-tokenizer
_BERT_SCORE = re.compile(
    r"(?P<model>.+)_L(?P<layer>\d+)_(?P<idf>idf|no-idf)_version=(?P<version>[^()]+)"
    r"\(hug_trans=(?P<transformers>[^()]*)\)(?P<rescaled>-custom-rescaled|-rescaled)?(?P<fast>_fast-tokenizer)?"
)


def is_bert_score_hash(text: str) -> bool:
    """Whether a text is a hash string of the bert-score package."""
    return _BERT_SCORE.fullmatch(text.strip()) is not None


@dataclass(frozen=True)
class BertScoreHash:
    """The fields of a hash string of the bert-score package."""

    model: str
    layer: int
    idf: bool
    version: str
    transformers: str
    rescaled: str
    """`no`, `shipped` or `custom`."""
    fast_tokenizer: bool

    @classmethod
    def parse(cls, text: str) -> BertScoreHash:
        """Parse a hash string."""
        match = _BERT_SCORE.fullmatch(text.strip())
        if match is None:
            msg = f"{text!r} is not a hash string of bert-score (MODEL_L17_no-idf_version=...(hug_trans=...))"
            raise SignatureError(msg)
        rescaled = {None: "no", "-rescaled": "shipped", "-custom-rescaled": "custom"}[match["rescaled"]]
        return cls(
            model=match["model"],
            layer=int(match["layer"]),
            idf=match["idf"] == "idf",
            version=match["version"],
            transformers=match["transformers"],
            rescaled=rescaled,
            fast_tokenizer=match["fast"] is not None,
        )

    @property
    def prefix_space(self) -> str:
        """Whether a space was put before each text: `yes` or `no` for RoBERTa and GPT-2, empty for other models.

        bert-score requests the space from the slow tokenizers of transformers up to 4. Fast tokenizers, the only ones
        in transformers 5, ignore the request.
        """
        name = self.model.lower()
        if not ("roberta" in name or "gpt2" in name) or "xlm" in name or "bigbird" in name:  # those are SentencePiece
            return ""
        version = self.transformers.partition(".")[0]
        return "no" if self.fast_tokenizer or (version.isdigit() and int(version) >= 5) else "yes"

    def recipe(self) -> str:
        """The closest recipe of nlgauge; bert-score takes the best P, R and F over references separately."""
        rescale = {"no": "no", "shipped": "yes", "custom": "FILE"}[self.rescaled]
        idf = "refs" if self.idf else "none"
        options = f"layer={self.layer},idf={idf},multiref=best-each,rescale={rescale}"
        if self.prefix_space == "no":  # with a space is the default
            options += ",prefix_space=no"
        return f"--metric bertscore:{options} --model {self.model}"

    def explain(self) -> list[list[str]]:
        """Rows: field, value, meaning."""
        rescaled = {
            "no": "raw scores",
            "shipped": "rescaled, unless a baseline file was missing: bert-score then printed raw scores",
            "custom": "rescaled with a custom file",
        }[self.rescaled]
        space = [
            [
                "prefix_space",
                self.prefix_space,
                "space before each text, as these versions of bert-score and transformers put it",
            ]
        ]
        return [
            ["model", self.model, "name of the model, without a revision"],
            ["layer", str(self.layer), "layer whose vectors are compared"],
            ["idf", "yes" if self.idf else "no", "idf of the references, or of a custom dictionary"],
            ["rescaled", self.rescaled, rescaled],
            ["tokenizer", "fast" if self.fast_tokenizer else "slow", "tokenizer implementation"],
            *(space if self.prefix_space else []),
            ["version", self.version, "version of bert-score"],
            ["transformers", self.transformers, "version of transformers"],
        ]

    def missing(self) -> list[str]:
        """Settings that affect the score and are not in the hash."""
        fields = [
            "digest of the weights",
            "number of references and how they are combined",
            "texts truncated",
            "torch, dtype, device",
        ]
        return ([*fields, "the idf corpus"] if self.idf else fields) + (
            ["the baseline's content"] if self.rescaled != "no" else []
        )
