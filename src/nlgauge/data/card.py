"""Options of a data set: what kind of value each takes, read off the loader that takes it.

flag      bool            true, yes, on or 1; false, no, off or 0
number    int             a whole number
name      str             one name
names     str, several    names between commas; nothing after `=` is none

The files of the known data sets: how they are called, how many, and the sha256 of the copies that are known.

What is known about a data set: where it is published, what it holds, which options its loader takes.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from nlgauge.data.judgements import JudgementTable
from nlgauge.errors import RecipeError

OptionKind: TypeAlias = Literal["flag", "number", "name", "names"]

_FLAGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def option_kinds(loader: Callable[..., Any]) -> dict[str, OptionKind]:
    """The kind of each keyword of a loader, by name."""
    function = loader.func if isinstance(loader, partial) else loader
    hints = get_type_hints(function)
    return {name: _kind(hints[name]) for name in list(inspect.signature(function).parameters)[1:]}


def _kind(hint: Any) -> OptionKind:
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if bool in kinds:
        return "flag"
    if int in kinds:
        return "number"
    return "names" if any(get_origin(one) is not None for one in kinds) else "name"


def parse_option(name: str, kind: OptionKind, text: str) -> Any:
    """The value that a text such as that of `--set NAME=TEXT` stands for; one that is not understood is refused."""
    if kind == "flag":
        if text.lower() not in _FLAGS:
            msg = f"{name} must be true or false (yes or no, on or off), got {text!r}"
            raise RecipeError(msg)
        return _FLAGS[text.lower()]
    if kind == "number":
        if not (text.isascii() and text.isdigit()):
            msg = f"{name} must be a whole number, got {text!r}"
            raise RecipeError(msg)
        return int(text)
    if kind == "names":
        return tuple(text.split(",")) if text else ()
    if not text or "," in text:
        msg = f"{name} must be one name, got {text!r}"
        raise RecipeError(msg)
    return text


def check_option(name: str, kind: OptionKind, value: Any) -> None:
    """Refuse a value of another kind: the text "no" would count as true."""
    if kind == "flag" and not isinstance(value, bool):
        msg = f"{name} must be True or False, got {value!r}"
        raise RecipeError(msg)
    if kind == "number" and (not isinstance(value, int) or isinstance(value, bool)):
        msg = f"{name} must be a whole number, got {value!r}"
        raise RecipeError(msg)


@dataclass(frozen=True)
class FileSet:
    """Files that belong together; `files` None is any number of them.

    `digest` is the sha256 of a single file; of several, that of the lines "SHA256  NAME" in the order of their
    names (what `sha256sum` prints for them). Empty where no copy is known. `shared` says that other data sets have
    files of this name too, so that it does not tell them apart.
    """

    pattern: str
    files: int | None = 1
    digest: str = ""
    shared: bool = False


#: By data set. `**/` is any depth of folders, because packages are unpacked in several shapes.
KNOWN_FILES: Mapping[str, tuple[FileSet, ...]] = {
    "wmt15": (
        FileSet("15_cs-en_formated.json", 1, "d4ea8d3d35ee18dc954c3c52073683795684207c5ae4b1d8c5d8987686faaa63"),
        FileSet("15_de-en_formated.json", 1, "0be1787c3181b315b66ba8e4a8f7c12473f50c6aa5e370f41d9286d59eb24cec"),
        FileSet("15_fi-en_formated.json", 1, "da111b281057fec86d436f1f76cc8a43fb275a90baf05776229d0375fa815a05"),
        FileSet("15_ru-en_formated.json", 1, "8cc74fefc72f7c7db67d9d2e5ec0cba8a1608c02fd50807e6c867ef5227b1fb9"),
    ),
    "wmt16": (FileSet("16_*_formated.json", None),),
    "wmt17": (
        FileSet(
            "**/DA-seglevel.csv", 1, "7340ee8440a0eb44aa7e6c5fa9509526df37743771096a677db8774f48e95557", shared=True
        ),
        FileSet(
            "**/DA-syslevel.csv", 1, "16d4975a22ccda54be369974499b3dc8d185cdfde241b4a1b8ba2703b7b8629b", shared=True
        ),
        FileSet("**/newstest2017-*-ref.en", 7, "df62aec459efe03722c4bba2c0fdb9993ba7596869f04dada7ac8d90adc2e328"),
        FileSet("**/newstest2017-*en-src.*", 7, "19dea93fdf0b531b1f196daceb038605354024b3f5a42bbd979b68cc9f89bc2f"),
        FileSet("**/newstest2017.*.*-en", 65, "113ad9ccb369d81d608b6cd04d8cf92ccdfaafcc97559007d0ca6bc7a459a2f8"),
    ),
    "wmt17-testset": (
        FileSet("testset_cs-en.tsv", 1, "53ea41e831e3d47ca3da3b9e6793dbb28758ff8702f9eca003650779b0178389"),
        FileSet("testset_de-en.tsv", 1, "37d1684e5f5d2ef95f7db5469ced8f802adf249ed76fc8ce153d1ec8f1d3dad2"),
        FileSet("testset_fi-en.tsv", 1, "931d21ea8a5225f55df2f770888beeef0a394cb8f2be799bd9b39e1808018a83"),
        FileSet("testset_lv-en.tsv", 1, "e8a8e35004897aa75d85002be48314407f3b6ed1a04a5fd42bce3cd1e892cbac"),
        FileSet("testset_ru-en.tsv", 1, "9950cd5ea1e43e6afc7c846cdd4b91e3bc502bed2edb88673ab37572e62a6629"),
        FileSet("testset_tr-en.tsv", 1, "1c7f359932ec142bd9048433642c3ea0e78172a5831ef8e784e7e412bba200fd"),
        FileSet("testset_zh-en.tsv", 1, "0e81fa149c1607002ea55bb6d091afa3c359ca67ce0bbdef75e23ede6eea979a"),
    ),
    "wmt18": (
        FileSet(
            "**/DA-syslevel.csv", 1, "5c2c76ab38a8057cb015444b4f68d1428a45d22543b40bf078a14eb26a9e79e7", shared=True
        ),
        FileSet("**/newstest2018-*-ref.*", 14, "e8009c700427eccdd97f9d2603001c4f4fcdaf9fe3e1c03e75c4606cc8d7f1f9"),
        FileSet("**/newstest2018-*-src.*", 14, "3125a62f6c6ea6b461411ce06d982a79aed7519c23f6222b0887033f33e59c79"),
        FileSet("**/newstest2018.*.??-??", 149, "7973807888ae5f91059abee577026ecae9cfb56d17d60947928147850bb86d74"),
    ),
    "wmt19": (
        FileSet("**/DA-syslevel.csv", shared=True),
        FileSet("**/newstest2019.*.??-??", None),
    ),
    "tac2008": (
        FileSet("tac.08.mds.gen.resp-pyr", 1, "db42d2e21da1e30bea363aeea0f89b55978c5de0e2f1d0c37361667faed56331"),
    ),
    "tac2009": (FileSet("tac.09.mds.gen.resp-pyr"),),
    "mlqe-pe": (
        FileSet("en-de-test.tar.gz", 1, "8fb22a42281fe334c247627e8bce76e3f842f55ba5b214efad26a890e6cfeef9"),
        FileSet("en-zh-test.tar.gz", 1, "7cf1e16d762faf29e40b31d6aef91e249e72c8a0bb6053b9b125d3c699259503"),
        FileSet("et-en-test.tar.gz", 1, "691d66d2c7b8beeb19fb7169b63420a24bd9b8fe51671d7cdf432fa225294505"),
        FileSet("ne-en-test.tar.gz", 1, "aacf88de7dbeb7a0ed27f6202e6b897e47525572f195086f30d5f63a289c7a3f"),
        FileSet("ro-en-test.tar.gz", 1, "da29ec0efb65e5c99b26b0c67c12544842d286b6fd5467d9c3dec25a3c07e6d9"),
        FileSet("ru-en-test.tar.gz", 1, "be1d47bb44c0f8beaf7efc856ba0794b16c605ae5901b00a2376476f28405037"),
        FileSet("si-en-test.tar.gz", 1, "c2617eeceef2a22160e8281fc75fd71476122243178fc447f56130c9b182a9f7"),
    ),
    "bagel": (FileSet("bagel.jsonl", 1, "98b8f91e2240a5c39f77f145f18bcac39a9c2d62bd607e8967c1ebf76471f887"),),
    "sfhotel": (FileSet("sfhot.jsonl", 1, "39d062a59967128fae1e54b3953159a98677912839cd953e6f3299a8dff218a4"),),
    "summeval": (FileSet("summeval.jsonl", 1, "9e773eef88f7edd343c527c7bd826705a05123c4be25ebc1c3d7c8d8ebf9f7e8"),),
    "newsroom": (FileSet("newsroom.jsonl", 1, "058a01042883696144787a7ff08d20d5cc7b5fba3ede56638a55ed17accfa83d"),),
    "realsumm": (FileSet("abs.jsonl"), FileSet("ext.jsonl")),
    "multi30k": (
        FileSet("MMTsourcedict.json", 1, "99d3906154181e35f3968b88c85d4e4eb4642e6619a674dde237935080a3ce6d"),
        FileSet("MMTgolddict_de.json", 1, "9c05cfead4935f5a1cfd7713089cbdfa1d7e8551650171e70c501864b469bee0"),
        FileSet("MMTgolddict_fr.json", 1, "0cbd89039f95c34341612be389b23cf6130da99cd431100e96b3cdcced4af103"),
        FileSet("MMTtranslationdict_de.json", 1, "6c93350accf43e18ab705c803c653417d59c5407525c2ec344deb81d047cb8ed"),
        FileSet("MMTtranslationdict_fr.json", 1, "922d8bc75daccbcdee8c6c4e20fccbb88b066aab8f565d2c9d0775aaa830978e"),
    ),
    "sts": (FileSet("sts_en.tsv", 1, "93bd7f264fd46e7335caa10fd55f1568abdf29675dbd111e9e9177574a943a4d"),),
    "freitag": (FileSet("out_freitag.tsv", 1, "827d845cdab962966859fbda7e95a5093bf4b6812f61a76e2aaa1646df30c67b"),),
    "paws": (FileSet("out_paws.tsv", 1, "9630b664cbfd84a12c431bb295858c75259e5fe88330d276c0cf267b4d63924a"),),
    "factors-wmt": (
        FileSet("out_wmt_mono.tsv", 1, "817fd9d36cc1c881ba9969d8c651066d9f12ee50cbac5f2a424e07a6b5d8f7d0"),
    ),
    "factors-sts": (
        FileSet("out_sts_mono.tsv", 1, "2fbc022dfc5fe71eb8b15cb8e2decfa6daf59980c130427af6fb2032262a3833"),
    ),
    "factors-wmt-sources": (
        FileSet("out_wmt_de.tsv", 1, "49558924f90b753b378b4c84b93359728a7819d5933c6baa2bc603ac4cae2681"),
        FileSet("out_wmt_zh.tsv", 1, "94b8fc8c3b08eec35aa5798cfe9bf39ab5781a475c1a99dedd73b0ceb4c6086a"),
    ),
    "factors-sts-translated": (
        FileSet("out_sts_de.tsv", 1, "34e71d77951b98e7a66bbfed33eb7c51df6ed70ed5430af08e097c6a2de35648"),
        FileSet("out_sts_zh.tsv", 1, "7d666caee95e74face5ccf26256b6d3a844da96be4e21695c5018cf18c788764"),
    ),
    "factors-mlqe": (
        FileSet("out_mlqe_de.tsv", 1, "202ea1dab3cf287946e13c1bae1effa8cd73886be10a84ac39884f086766cc48"),
        FileSet("out_mlqe_zh.tsv", 1, "0e8dd6ea450f0fe3c4f06b93fc8d9eae8c4298821fca3a6590af7d95ea6e86d8"),
    ),
    "tac08-scores": (
        FileSet("tac/TAC/08/*.csv", 13, "5669058a2fdf6da9f087802f1a2d42b5cf49c9f7ae56d15f85eefb926012c479"),
        FileSet("tac_pyramid/TAC_pyr/08.csv", 1, "fb23f370db010dd885fcd26643a440ddf12de08089ef36391b410b7d9e33e9d2"),
    ),
    "tac09-scores": (
        FileSet("tac/TAC/09/*.csv", 13, "3c3aef3fcdab099092828b2af24b835e2a1c7f097afdeef271a0988f798a4f8e"),
        FileSet("tac_pyramid/TAC_pyr/09.csv", 1, "986a5524119f0d469121a89fcbc7033e6c6672fb0b8570a30d5683a8d598cdf9"),
    ),
    "tac11-scores": (
        FileSet("tac/TAC/11/*.csv", 13, "199df4b74700155abfde3b29d360c0b125fe58ac640979b9709e587d814e858e"),
        FileSet("tac_pyramid/TAC_pyr/11.csv", 1, "91db006b635cdf6c3a5f6abc4000fb3f6518388be47da18fd577cfbcd8c95c8c"),
    ),
    "topicalchat-scores": (
        FileSet("dialogue/Dialogue/tc/*.csv", 13, "4e530efa6e88df9c9a9b623295fd7c0758948e6c17524eaee66967d607c48812"),
    ),
    "personachat-scores": (
        FileSet("dialogue/Dialogue/pc/*.csv", 13, "5b4c47963726fb557f14eabe9abaf4aaa08e37aff7db27f8ed9dec6802ab0c1a"),
    ),
    "eval4nlp": (
        FileSet("de-zh-test21.tar.gz", 1, "5b5d243a8ba9e9fe72f6e144c16d93cc68b2653857ae4283d9ca64871483b4f1"),
        FileSet("et-en-dev.tar.gz", 1, "04d37d0333fc4c0c31950a64fc5f1da04ac5b3312d9960d034d674792d1e461c"),
        FileSet("ro-en-dev.tar.gz", 1, "6175f8352724de00d53f90b93317803b93826f6ef234b057efde9c46a222885a"),
        FileSet("ru-de-test21.tar.gz", 1, "99f31c07b1669939a1a554dc54a82a1078df882cf43b3fad53f88d0050b40457"),
    ),
    "mqm-ted": (FileSet("mqm_ted_zhen.tsv", 1, "d91fc0dd21c1949f1e7570671d01ceb1798ebd8d7ea8998844b1a35983de4ed3"),),
    "mt-metrics-eval": (
        FileSet("sources/*.txt", None),
        FileSet("human-scores/*.score", None),
    ),
}


#: Values that a card fixes and a user may still change.
_SWITCHES = {"level", "detokenise"}


@dataclass(frozen=True)
class DataCard:
    """A data set known by name.

    `rows` counts its table per language pair; `folders` are where it may lie in a path. A card that is `generic`
    stands for a layout: the folder or file gives its name.
    """

    name: str
    title: str
    gold: str
    published: str
    citation: str
    loader: Callable[..., JudgementTable]
    rows: Mapping[str, int] = field(default_factory=dict)
    folders: tuple[str, ...] = ("",)
    licence: str = "see the publisher"
    pitfall: str = ""
    check_options: Mapping[str, Any] = field(default_factory=dict)
    generic: bool = False
    texts: bool = True
    """False where it has scores of metrics only: there is nothing to score."""
    whole_texts: bool = False
    """Whether a row is a whole document, such as a summary, where the data does not say of which document it is."""

    @property
    def files(self) -> tuple[FileSet, ...]:
        """What its files are called, with their digests."""
        return KNOWN_FILES.get(self.name, ())

    @property
    def options(self) -> Mapping[str, OptionKind]:
        """What `load` takes for this data set, besides `langpairs`, with the kind of value of each."""
        fixed = self.loader.keywords if isinstance(self.loader, partial) else {}
        # A fixed value is the data set's own; only switches among them are for users.
        hidden = {"langpairs", *(set(fixed) - _SWITCHES)}
        return {name: kind for name, kind in option_kinds(self.loader).items() if name not in hidden}

    def parse_options(self, texts: Iterable[str]) -> dict[str, Any]:
        """Options from texts `KEY=VALUE`, each read as its kind says."""
        found: dict[str, Any] = {}
        for text in texts:
            key, equals, value = text.partition("=")
            if not equals or not key:
                msg = f"an option of {self.name} is KEY=VALUE, got {text!r}"
                raise RecipeError(msg)
            self._check_known(key)
            if key in found:
                msg = f"option {key!r} is given twice, again as {text!r}; put several names between commas"
                raise RecipeError(msg)
            found[key] = parse_option(key, self.options[key], value)
        return found

    def check_given(self, options: Mapping[str, Any]) -> None:
        """Refuse an option that the data set does not have, or a value of another kind."""
        for name, value in options.items():
            self._check_known(name)
            check_option(name, self.options[name], value)

    def _check_known(self, option: str) -> None:
        if option not in self.options:
            known = ", ".join(["langpairs", *self.options])
            msg = f"{self.name} takes no option {option!r}; it takes: {known}"
            raise RecipeError(msg)
