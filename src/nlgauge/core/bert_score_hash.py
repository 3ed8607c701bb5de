"""Reads the hash strings of other tools, so that an old number can be compared with a new one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nlgauge.errors import SignatureError

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
    """What a hash string of the bert-score package says."""

    model: str
    layer: int
    idf: bool
    version: str
    transformers: str
    rescaled: str
    """'no', 'shipped' or 'custom'."""
    fast_tokenizer: bool

    @classmethod
    def parse(cls, text: str) -> BertScoreHash:
        """Read a hash string."""
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

        bert-score asks for the space with the slow tokenizers of transformers up to 4. Those of transformers 5 are
        all fast ones, which ignore what it asks for.
        """
        name = self.model.lower()
        if not ("roberta" in name or "gpt2" in name) or "xlm" in name or "bigbird" in name:  # those are SentencePiece
            return ""
        version = self.transformers.partition(".")[0]
        return "no" if self.fast_tokenizer or (version.isdigit() and int(version) >= 5) else "yes"

    def recipe(self) -> str:
        """The nearest recipe here; bert-score takes the best of each of P, R and F over references."""
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
            "shipped": "said to be rescaled; a missing baseline file left raw scores under this label",
            "custom": "rescaled with a file of the caller's",
        }[self.rescaled]
        space = [["prefix_space", self.prefix_space, "space before each text, by tokenizer and transformers"]]
        return [
            ["model", self.model, "model by name, without a revision"],
            ["layer", str(self.layer), "layer whose vectors are compared"],
            ["idf", "yes" if self.idf else "no", "idf of the references of the call, or of a dictionary passed in"],
            ["rescaled", self.rescaled, rescaled],
            ["tokenizer", "fast" if self.fast_tokenizer else "slow", "tokenizer implementation asked for"],
            *(space if self.prefix_space else []),
            ["version", self.version, "version of bert-score"],
            ["transformers", self.transformers, "version of transformers"],
        ]

    def missing(self) -> list[str]:
        """What moves the score and is not in the hash."""
        fields = ["digest of the weights", "number and rule of references", "texts truncated", "torch, dtype, device"]
        return ([*fields, "the idf corpus"] if self.idf else fields) + (
            ["the baseline's content"] if self.rescaled != "no" else []
        )
