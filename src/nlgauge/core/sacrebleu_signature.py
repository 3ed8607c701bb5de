"""Signatures of sacreBLEU, such as `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0`.

They are not signatures of nlgauge: sacreBLEU has other fields, and no digests. The message names the same metric.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from nlgauge.errors import SignatureError

#: Names of fields in sacreBLEU's short form.
_LONG_NAMES = {
    "#": "nrefs",
    "c": "case",
    "e": "eff",
    "s": "smooth",
    "v": "version",
    "nr": "norm",
    "pn": "punct",
    "as": "asian",
}

#: Fields with an equal option, by metric: the option, and its values where they have other names.
_OPTIONS: Mapping[str, Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "bleu": {"case": ("case", {"lc": "lower"}), "tok": ("tokenize", {}), "smooth": ("smooth", {})},
    "chrf": {"nc": ("chars", {}), "nw": ("words", {})},
    "ter": {
        "case": ("case", {"lc": "lower"}),
        "norm": ("normalized", {}),
        "punct": ("punctuation", {}),
        "asian": ("asian", {}),
    },
}

#: Smoothing with sacreBLEU's usual value, which is the only one here.
_USUAL_SMOOTHING = {"floor[0.10]": "floor", "add-k[1.00]": "add-k"}

#: Fields about texts, versions and tests instead of settings, and those that have one value in nlgauge's metrics.
_NO_SETTINGS = {
    *("nrefs", "version", "eff", "tok", "bs", "ar", "seed", "rs"),
    *("test", "t", "lang", "l", "subset", "S", "origlang", "o"),
}


def refuse_sacrebleu_signature(text: str) -> None:
    """Refuse a signature of sacreBLEU, and name the same metric of nlgauge.

    >>> refuse_sacrebleu_signature("BLEU|nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.0.0")
    Traceback (most recent call last):
      ...
    nlgauge.errors.SignatureError: this is a signature of sacreBLEU; use -m bleu:case=lower,tokenize=13a,smooth=exp
    """
    parts = text.strip().split("|")
    name = "" if ":" in parts[0] else parts.pop(0).lower()
    pairs = [part.partition(":") for part in parts]
    fields = {_LONG_NAMES.get(key, key): value for key, _, value in pairs}
    if not {"nrefs", "version"} <= fields.keys():
        return
    metric = _metric_of(name, fields)
    if metric == "chrf" and "smooth" in fields:  # `s` is also the short name of `space`
        fields["space"] = fields.pop("smooth")
    options, others = {}, []
    for key, value in fields.items():
        option, words = _OPTIONS[metric].get(key, ("", {}))
        if option and "[" not in _USUAL_SMOOTHING.get(value, value):
            plain = _USUAL_SMOOTHING.get(value, value)
            options[option] = words.get(plain, plain)
        elif key not in _NO_SETTINGS and (key, value) not in {("case", "mixed"), ("space", "no")}:
            others.append(f"{key}:{value}")
    if metric == "chrf" and (beta := re.search(r"chrf(\d+)", name)):
        options["beta"] = beta[1]
    recipe = f"{metric}:{','.join(f'{key}={value}' for key, value in options.items())}"
    msg = f"this is a signature of sacreBLEU; use -m {recipe}"
    if others:
        msg += f", which has no setting for {', '.join(others)}"
    raise SignatureError(msg)


def _metric_of(name: str, fields: Mapping[str, str]) -> str:
    if name.startswith("chrf") or "nc" in fields:
        return "chrf"
    return "ter" if name == "ter" or "norm" in fields else "bleu"
