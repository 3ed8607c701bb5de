"""The data sets that nlgauge knows by name, a card each.

Data sets by name: found among the cards, found in a folder, loaded.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nlgauge.core.options import did_you_mean
from nlgauge.data.card import DataCard
from nlgauge.data.judgements import JudgementTable
from nlgauge.data.loaders.common import files_below
from nlgauge.data.loaders.flat_files import load_custom, load_factor_scores, load_paws, load_score_frames, load_sts
from nlgauge.data.loaders.mt_metrics_eval import load_mqm, load_mt_metrics_eval
from nlgauge.data.loaders.quality import load_eval4nlp, load_mlqe, load_multi30k
from nlgauge.data.loaders.summaries import load_judged_jsonl, load_realsumm, load_tac
from nlgauge.data.loaders.wmt import load_wmt_json, load_wmt_package, load_wmt_testset
from nlgauge.errors import InputError, RecipeError


def _same(number: int, *langpairs: str) -> dict[str, int]:
    return dict.fromkeys(langpairs, number)


_TO_ENGLISH = ("cs-en", "de-en", "fi-en", "lv-en", "ru-en", "tr-en", "zh-en")
_D2T = ("informativeness", "naturalness", "quality")
_RATINGS = "Novikova, Dusek, Cercas Curry, Rieser 2017, Why We Need New Evaluation Metrics for NLG (EMNLP)"
_REPRODUCTION = "github.com/PierreColombo/nlg_eval_via_simi_measures, github.com/cyr19/Reproducibility"
_FACTORS = "github.com/SteffenEger/global-explainability-metrics"


def _frames(name: str, title: str, folder: str, rows: int, *, human: str = "") -> DataCard:
    """Scores of 13 metrics for the outputs of systems, as *Better than Average* compares them."""
    return DataCard(
        name=name,
        title=f"{title}, scores of 13 metrics without texts",
        gold="pyramid" if human else "none",
        published="github.com/epfl-dlab/BT-eval (pickles; here a CSV per data set and metric)",
        citation="Peyrard, Zhao, Eger, West 2021, Better than Average: Paired Evaluation of NLP Systems (ACL)",
        loader=partial(load_score_frames, folder=folder, human=human),
        rows={"en": rows},
        folders=("", "compare"),
        texts=False,
        pitfall="keep all digits: a copy cut to ten has ties that the scores do not have",
    )


def _factors(name: str, title: str, files: str, rows: Mapping[str, int], **more: str) -> DataCard:
    """Scores of metrics beside linguistic factors of each pair, as they were released."""
    return DataCard(
        name=name,
        title=f"{title}, with released factors (syn, lex, mor) and metric scores",
        gold="sem",
        published=f"{_FACTORS} (data/scored)",
        citation="Kaster, Zhao, Eger 2021, Global Explainability of BERT-Based Evaluation Metrics (EMNLP)",
        loader=partial(load_factor_scores, files=files, across=more.get("across", "")),
        rows=rows,
        folders=("", "explain"),
        licence="none stated",
        pitfall=more.get("pitfall", "names of released metrics are the study's: see D12 and D13"),
    )


_ALL = (
    DataCard(
        name="wmt15",
        title="WMT15 to English, direct assessment, with the released scores of 67 metric variants",
        gold="human",
        published=_REPRODUCTION,
        citation="Stanojevic, Kamran, Koehn, Bojar 2015, Results of the WMT15 Metrics Shared Task",
        loader=partial(load_wmt_json, year=15),
        rows=_same(500, "cs-en", "de-en", "fi-en", "ru-en"),
        folders=("", "wmt15"),
        pitfall="`mover_score` is the uniform-weight score: the published Mover+ row has no idf in it",
    ),
    DataCard(
        name="wmt16",
        title="WMT16 to English, direct assessment, with released metric scores",
        gold="human",
        published=_REPRODUCTION,
        citation="Bojar, Graham, Kamran, Stanojevic 2016, Results of the WMT16 Metrics Shared Task",
        loader=partial(load_wmt_json, year=16),
        rows=_same(560, "cs-en", "de-en", "fi-en", "ru-en"),
        folders=("", "wmt16"),
        pitfall="the public copies lack ro-en and tr-en",
    ),
    DataCard(
        name="wmt17",
        title="WMT17 to English, official protocol: DA-seglevel rows, Moses-detokenised; whole system files",
        gold="HUMAN",
        published=f"www.statmt.org/wmt17/metrics-task.html; to English also {_FACTORS}",
        citation="Bojar, Graham, Kamran 2017, Results of the WMT17 Metrics Shared Task",
        loader=partial(load_wmt_package, year=2017, level="segment", detokenise=True),
        rows=_same(560, *_TO_ENGLISH),
        folders=("wmt17", ""),
        pitfall="idf is per system file: use table.documents(langpair, system); a system `a+b` is its first",
        check_options={"detokenise": False},
    ),
    DataCard(
        name="wmt17-testset",
        title="WMT17 to English, one TSV per pair: lower-cased, Moses-tokenised text as it stands",
        gold="HUMAN_score",
        published="github.com/AIPHES/ACL20-Reference-Free-MT-Evaluation (WMT17/testset)",
        citation="Bojar, Graham, Kamran 2017, Results of the WMT17 Metrics Shared Task",
        loader=load_wmt_testset,
        licence="repository Apache-2.0; the texts and scores are those of WMT, see the publisher",
        rows=_same(560, *_TO_ENGLISH) | {"lv-en": 435},
        folders=("", "testset", "wmt17/testset"),
        pitfall="435 rows for lv-en, not 560; 333 sources carry the quotes of a spreadsheet (unquote=True)",
    ),
    DataCard(
        name="wmt18",
        title="WMT18, 14 directions: every output of 149 systems, system-level direct assessment",
        gold="DA-syslevel (systems)",
        published="www.statmt.org/wmt18/metrics-task.html",
        citation="Ma, Bojar, Graham 2018, Results of the WMT18 Metrics Shared Task",
        loader=partial(load_wmt_package, year=2018, level="system"),
        rows={
            "cs-en": 14_915,
            "de-en": 47_968,
            "en-cs": 14_915,
            "en-de": 47_968,
            "en-et": 28_000,
            "en-fi": 36_000,
            "en-ru": 27_000,
            "en-tr": 24_000,
            "en-zh": 55_734,
            "et-en": 28_000,
            "fi-en": 27_000,
            "ru-en": 24_000,
            "tr-en": 15_000,
            "zh-en": 55_734,
        },
        folders=("wmt18", ""),
        pitfall="segment level needs RR-seglevel.csv (load_wmt_rankings), whose header lacks a name",
    ),
    DataCard(
        name="wmt19",
        title="WMT19: every output of the systems, system-level direct assessment",
        gold="DA-syslevel (systems)",
        published="www.statmt.org/wmt19/metrics-task.html",
        citation="Ma, Wei, Bojar, Graham 2019, Results of the WMT19 Metrics Shared Task",
        loader=partial(load_wmt_package, year=2019, level="system"),
        folders=("wmt19", ""),
        pitfall="segment level needs RR-seglevel.csv (load_wmt_rankings)",
    ),
    DataCard(
        name="tac2008",
        title="TAC 2008 update summarisation: 48 topics, 4 references, 58 systems and the reference writers",
        gold="pyr_score",
        published="tac.nist.gov; this JSON: github.com/AIPHES/emnlp19-moverscore",
        citation="Dang, Owczarzak 2008, Overview of the TAC 2008 Update Summarization Task",
        loader=partial(load_tac, file="tac.08.mds.gen.resp-pyr"),
        rows={"en": 2976},
        folders=("", "tac2008"),
        pitfall="4 peers per topic are the reference writers; correlations drop without them (humans=False)",
        whole_texts=True,
    ),
    DataCard(
        name="tac2009",
        title="TAC 2009 update summarisation: 44 topics, 4 references, 55 systems and the reference writers",
        gold="pyr_score",
        published="tac.nist.gov; this JSON: github.com/AIPHES/emnlp19-moverscore",
        citation="Dang, Owczarzak 2009, Overview of the TAC 2009 Summarization Track",
        loader=partial(load_tac, file="tac.09.mds.gen.resp-pyr"),
        rows={"en": 2596},
        folders=("", "tac2009"),
        pitfall="as tac2008",
        whole_texts=True,
    ),
    DataCard(
        name="mlqe-pe",
        title="MLQE-PE test20: translations of Wikipedia and Reddit sentences, no references",
        gold="z_mean",
        published="github.com/sheffieldnlp/mlqe-pe",
        citation="Fomicheva et al. 2022, MLQE-PE: A Multilingual Quality Estimation and Post-Editing Dataset (LREC)",
        loader=load_mlqe,
        rows=_same(1000, "en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en"),
        folders=("", "mlqe-pe"),
        pitfall="`model_scores` is a log-likelihood of the translation model, not a human score",
    ),
    DataCard(
        name="bagel",
        title="BAGEL: 404 utterances for 202 meaning representations",
        gold="informativeness",
        published="github.com/jeknov/EMNLP_17_submission",
        citation=f"Mairesse et al. 2010 (ACL); ratings: {_RATINGS}",
        loader=partial(load_judged_jsonl, file="bagel.jsonl", criteria=_D2T, systems=None),
        rows={"en": 404},
        folders=("", "d2t"),
        pitfall="up to 2 references per utterance; how to join them is part of the recipe",
    ),
    DataCard(
        name="sfhotel",
        title="SFHOTEL: 875 utterances for 398 meaning representations",
        gold="informativeness",
        published="github.com/jeknov/EMNLP_17_submission",
        citation=f"Wen et al. 2015 (EMNLP); ratings: {_RATINGS}",
        loader=partial(load_judged_jsonl, file="sfhot.jsonl", criteria=_D2T, systems=None),
        rows={"en": 875},
        folders=("", "d2t"),
        pitfall="1 to over 100 references per utterance; how to join them is part of the recipe",
    ),
    DataCard(
        name="summeval",
        title="SummEval: 100 CNN/DailyMail documents x 16 systems, 11 references",
        gold="relevance",
        published="github.com/Yale-LILY/SummEval",
        citation="Fabbri et al. 2021, SummEval: Re-evaluating Summarization Evaluation (TACL)",
        loader=partial(
            load_judged_jsonl, file="summeval.jsonl", criteria=("relevance", "coherence", "consistency", "fluency")
        ),
        rows={"en": 1600},
        folders=("", "summ"),
        pitfall="scores are means of the expert raters",
        whole_texts=True,
    ),
    DataCard(
        name="newsroom",
        title="Newsroom: 60 documents x 7 systems, one reference",
        gold="relevance",
        published="lil.nlp.cornell.edu/newsroom",
        citation="Grusky, Naaman, Artzi 2018, Newsroom: A Dataset of 1.3 Million Summaries (NAACL)",
        loader=partial(
            load_judged_jsonl,
            file="newsroom.jsonl",
            criteria=("relevance", "informativeness", "coherence", "fluency"),
        ),
        rows={"en": 420},
        folders=("", "summ"),
        whole_texts=True,
    ),
    DataCard(
        name="realsumm",
        title="REALSumm: 100 CNN/DailyMail articles x 14 abstractive and 11 extractive systems, one reference",
        gold="litepyramid_recall",
        published="github.com/neulab/REALSumm (scores_dicts: pickles, which are turned into JSONL first)",
        citation="Bhandari, Gour, Ashfaq, Liu, Neubig 2020, Re-evaluating Evaluation in Text Summarization (EMNLP)",
        loader=load_realsumm,
        folders=("realsumm",),
        pitfall="the released scores of BERTScore stand under each other's names (F, P, R as precision, recall, f)",
        whole_texts=True,
    ),
    DataCard(
        name="multi30k",
        title="Multi30k 2018: translations of image captions, English to German and French",
        gold="z_score",
        published="github.com/Rain9876/Unsupervised-crosslingual-Compound-Method-For-MT (history, data/PASCAL)",
        citation="Barrault et al. 2018, Findings of the Third Shared Task on Multimodal Machine Translation",
        loader=load_multi30k,
        rows={"en-de": 3248, "en-fr": 2265},
        folders=("", "multi30k"),
        pitfall="491 translations are names of image files; left out and counted (keep_file_names=True keeps them)",
    ),
    DataCard(
        name="sts",
        title="STS-B train: 5,749 pairs of English sentences, similarity 0 to 5",
        gold="similarity",
        published=f"{_FACTORS}, ixa2.si.ehu.eus/stswiki",
        citation="Cer et al. 2017, SemEval-2017 Task 1: Semantic Textual Similarity",
        loader=load_sts,
        rows={"en": 5749},
        folders=("", "explain"),
        pitfall="no hypothesis or reference by nature: the first sentence is taken for the hypothesis",
    ),
    DataCard(
        name="paws",
        title="PAWS: 300 sentences, each with a paraphrase and a lookalike, with nine released metric scores",
        gold="paraphrase",
        published=f"{_FACTORS}, github.com/google-research-datasets/paws",
        citation="Zhang, Baldridge, He 2019, PAWS (NAACL); selection: Kaster, Zhao, Eger 2021 (EMNLP)",
        loader=load_paws,
        rows={"en": 600},
        folders=("", "explain"),
        pitfall="300 pairs chosen by overlap gap, not the 100 that the paper speaks of",
    ),
    DataCard(
        name="freitag",
        title="newstest2019 sources: 1,452, each with a translated paraphrase and its nouns in another order",
        gold="paraphrase",
        published=f"{_FACTORS} (data/scored)",
        citation="Freitag, Grangier, Caswell 2020, BLEU might be Guilty but References are not Innocent (EMNLP); "
        "triples: Kaster, Zhao, Eger 2021 (EMNLP)",
        loader=partial(load_paws, file="out_freitag.tsv"),
        rows={"en": 2904},
        folders=("", "explain"),
        pitfall="a paraphrase is a machine translation from German, so that it is no perfect one",
    ),
    _factors("factors-wmt", "WMT15 to WMT17 to English, translations beside references", "wmt", {"en": 8595}),
    _factors("factors-sts", "STS-B train, English sentences", "sts", {"en": 5749}),
    _factors(
        "factors-wmt-sources",
        "WMT15 to WMT17 to English, translations beside sources",
        "wmt",
        {"de-en": 1620, "zh-en": 560},
        across="-en",
        pitfall="people compared the translations with references, and the metrics with sources",
    ),
    _factors(
        "factors-sts-translated",
        "STS-B train, one sentence of each pair machine-translated",
        "sts",
        _same(5749, "de-en", "zh-en"),
        across="-en",
    ),
    _factors(
        "factors-mlqe",
        "MLQE-PE test20 from English, translations beside sources",
        "mlqe",
        _same(1000, "en-de", "en-zh"),
        across="en-",
        pitfall="the study calls the pairs German-English and Chinese-English; English is the source",
    ),
    *(
        _frames(
            f"tac{year}-scores",
            f"TAC 20{year}: {topics} topics x {systems} systems",
            f"tac/TAC/{year}",
            topics * systems,
            human=f"tac_pyramid/TAC_pyr/{year}.csv",
        )
        for year, topics, systems in (("08", 48, 58), ("09", 44, 55), ("11", 44, 50))
    ),
    _frames("topicalchat-scores", "TopicalChat: 60 dialogue turns x 5 systems", "dialogue/Dialogue/tc", 300),
    _frames("personachat-scores", "PersonaChat: 60 dialogue turns x 4 systems", "dialogue/Dialogue/pc", 240),
    DataCard(
        name="eval4nlp",
        title="Eval4NLP 2021: translations with wrong words marked, in the translation and in the source",
        gold="da",
        published="github.com/eval4nlp/SharedTask2021",
        citation="Fomicheva et al. 2021, The Eval4NLP Shared Task on Explainable Quality Estimation (Eval4NLP)",
        loader=load_eval4nlp,
        rows={"de-zh": 1410, "et-en": 1000, "ro-en": 1000, "ru-de": 1180},
        folders=("", "eval4nlp"),
        licence="none stated; the texts of et-en and ro-en are those of MLQE-PE (CC0)",
        pitfall="tokenised text: words end at blanks; et-en and ro-en are dev sets, the other two test sets",
    ),
    DataCard(
        name="mqm-ted",
        title="MQM of TED talks, zh-en: error spans of 13 systems and two references, one rater per output",
        gold="mqm",
        published="github.com/google/wmt-mqm-human-evaluation",
        citation="Freitag et al. 2021, Results of the WMT21 Metrics Shared Task (WMT)",
        loader=load_mqm,
        rows={"zh-en": 6877},
        folders=("", "mqm"),
        licence="Apache-2.0",
        pitfall="`ref` is rated worse than every system, so outputs are compared with `refB` (references=ref)",
    ),
    DataCard(
        name="mt-metrics-eval",
        title="Any test set in the folder layout of mt-metrics-eval (WMT metrics tasks from 2019 on)",
        gold="mqm, or the one there is",
        published="github.com/google-research/mt-metrics-eval",
        citation="as the test set asks for",
        loader=load_mt_metrics_eval,
        folders=("", "wmt20"),  # the test set that a published table asks for
        generic=True,
        pitfall="one folder is one test set; several human scores and references need a choice",
    ),
    DataCard(
        name="custom",
        title="Your own TSV (with a header) or JSONL; name the columns as options of load",
        gold="the first of human=...",
        published="",
        citation="",
        loader=load_custom,
        generic=True,
        licence="yours",
        whole_texts=True,
    ),
)

#: The known data sets by name.
DATA_CARDS: Mapping[str, DataCard] = {card.name: card for card in _ALL}


def find_data_card(name: str) -> DataCard:
    """The card of that name."""
    if name not in DATA_CARDS:
        msg = f"no data set is known as {name!r}; known are {', '.join(DATA_CARDS)}{did_you_mean(name, DATA_CARDS)}"
        raise RecipeError(msg)
    return DATA_CARDS[name]


def locate(card: DataCard, path: str | os.PathLike[str]) -> Path | None:
    """Where in a path the data set lies: the path itself, or one of its usual folders in it; None if nowhere."""
    base = Path(path)
    telling = [group.pattern for group in card.files if not group.shared]
    if base.is_file():
        return base if any(base.match(pattern) for pattern in telling) else None
    for folder in card.folders:
        place = base / folder
        if place.is_dir() and any(_has(place, pattern) for pattern in telling):
            return place
    return None


def _has(place: Path, pattern: str) -> bool:
    """Whether a folder has such a file; one that is too large to look through has none."""
    with contextlib.suppress(InputError):
        return next(files_below(place, pattern), None) is not None
    return False


def load(
    name: str, path: str | os.PathLike[str], *, langpairs: str | Iterable[str] | None = None, **options: Any
) -> JudgementTable:
    """The table of a known data set; `path` is its folder (or file), or a folder that holds it under its usual name.

    `options` are those of the data set's loader, such as `level="system"` of WMT packages or `humans=False` of TAC.
    """
    card = find_data_card(name)
    card.check_given(options)
    if not isinstance(path, str | os.PathLike):
        msg = f"path must be a folder or a file, got {path!r}"
        raise InputError(msg)
    if not Path(path).exists():
        where = f"; {card.name} is published at {card.published}" if card.published else ""
        msg = f"{os.fspath(path)!r} does not exist{where}"
        raise InputError(msg)
    table = card.loader(locate(card, path) or Path(path), langpairs=langpairs, **options)
    return table if card.generic else replace(table, name=card.name, citation=card.citation)
