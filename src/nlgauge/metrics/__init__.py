"""The metrics: one file per metric, and all classes under their names."""

import importlib
import typing

if typing.TYPE_CHECKING:  # at run time, __getattr__ below imports them
    from nlgauge.metrics.baryscore import BaryScore as BaryScore
    from nlgauge.metrics.bertscore import BERTScore as BERTScore
    from nlgauge.metrics.bleu import BLEU as BLEU
    from nlgauge.metrics.character import CharacTER as CharacTER
    from nlgauge.metrics.chrf import ChrF as ChrF
    from nlgauge.metrics.cider import CIDEr as CIDEr
    from nlgauge.metrics.cohesion import LC as LC
    from nlgauge.metrics.cohesion import RC as RC
    from nlgauge.metrics.cohesion import EntityGraph as EntityGraph
    from nlgauge.metrics.cohesion import LexicalGraph as LexicalGraph
    from nlgauge.metrics.discoscore import DiscoScore as DiscoScore
    from nlgauge.metrics.distributions import JS as JS
    from nlgauge.metrics.distributions import TFIDF as TFIDF
    from nlgauge.metrics.ds_focus import DSFocus as DSFocus
    from nlgauge.metrics.ds_sent import DSSent as DSSent
    from nlgauge.metrics.edit_rates import CDER as CDER
    from nlgauge.metrics.edit_rates import PER as PER
    from nlgauge.metrics.edit_rates import WER as WER
    from nlgauge.metrics.eed import EED as EED
    from nlgauge.metrics.focus_frequency import FocusFrequency as FocusFrequency
    from nlgauge.metrics.ibm1 import IBM1 as IBM1
    from nlgauge.metrics.learned import Learned as Learned
    from nlgauge.metrics.lexical_chain import LexicalChain as LexicalChain
    from nlgauge.metrics.meteor import METEOR as METEOR
    from nlgauge.metrics.moverscore import MoverScore as MoverScore
    from nlgauge.metrics.nist import NIST as NIST
    from nlgauge.metrics.rouge import Rouge1 as Rouge1
    from nlgauge.metrics.rouge import Rouge2 as Rouge2
    from nlgauge.metrics.rouge import RougeL as RougeL
    from nlgauge.metrics.rouge import RougeSU as RougeSU
    from nlgauge.metrics.rouge import RougeW as RougeW
    from nlgauge.metrics.rouge_we import RougeWE as RougeWE
    from nlgauge.metrics.sari import SARI as SARI
    from nlgauge.metrics.sbert import SBERT as SBERT
    from nlgauge.metrics.sentsim import SentSim as SentSim
    from nlgauge.metrics.smd import SMD as SMD
    from nlgauge.metrics.ter import TER as TER
    from nlgauge.metrics.xmoverscore import XMoverScore as XMoverScore
    from nlgauge.metrics.yisi import YiSi0 as YiSi0
    from nlgauge.metrics.yisi import YiSi1 as YiSi1

#: The file of each class. A file is imported when one of its classes is first used.
_FILES = {
    "BERTScore": "bertscore",
    "BLEU": "bleu",
    "BaryScore": "baryscore",
    "CDER": "edit_rates",
    "CIDEr": "cider",
    "CharacTER": "character",
    "ChrF": "chrf",
    "DSFocus": "ds_focus",
    "DSSent": "ds_sent",
    "DiscoScore": "discoscore",
    "EED": "eed",
    "EntityGraph": "cohesion",
    "FocusFrequency": "focus_frequency",
    "IBM1": "ibm1",
    "JS": "distributions",
    "LC": "cohesion",
    "Learned": "learned",
    "LexicalChain": "lexical_chain",
    "LexicalGraph": "cohesion",
    "METEOR": "meteor",
    "MoverScore": "moverscore",
    "NIST": "nist",
    "PER": "edit_rates",
    "RC": "cohesion",
    "Rouge1": "rouge",
    "Rouge2": "rouge",
    "RougeL": "rouge",
    "RougeSU": "rouge",
    "RougeW": "rouge",
    "RougeWE": "rouge_we",
    "SARI": "sari",
    "SBERT": "sbert",
    "SMD": "smd",
    "SentSim": "sentsim",
    "TER": "ter",
    "TFIDF": "distributions",
    "WER": "edit_rates",
    "XMoverScore": "xmoverscore",
    "YiSi0": "yisi",
    "YiSi1": "yisi",
}

__all__ = [*_FILES]

if not typing.TYPE_CHECKING:  # type checkers use the imports above, so they notice a misspelt name

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

    def __getattr__(name: str) -> typing.Any:
        if name not in _FILES:
            msg = f"module 'nlgauge.metrics' has no attribute {name!r}"
            raise AttributeError(msg)
        value = globals()[name] = getattr(importlib.import_module(f"nlgauge.metrics.{_FILES[name]}"), name)
        return value
