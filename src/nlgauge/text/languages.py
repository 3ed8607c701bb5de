"""Codes of languages: what counts as one, and its one spelling."""

from __future__ import annotations

import re

from nlgauge.errors import RecipeError

__all__ = ["LANGUAGE_CODES", "language_code"]

#: ISO 639-1, and languages of machine translation and summarisation that only ISO 639-3 has.
LANGUAGE_CODES = frozenset(
    """aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
    en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd
    ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr
    ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    ast ceb ckb crh fil fur haw hsb ilo kab kmb lij lmo mai mni nso pap sat scn shn szl umb vec war yue""".split()  # noqa: SIM905 - easier to read than quotes
)

#: Three letters (ISO 639-2 and 639-3) for languages that have two.
_TWO_LETTERS = dict(
    entry.split("=")
    for entry in """afr=af amh=am ara=ar arb=ar asm=as aze=az azj=az bel=be ben=bn bod=bo bos=bs bul=bg cat=ca ces=cs
    chi=zh cmn=zh cym=cy cze=cs dan=da deu=de dut=nl ell=el eng=en epo=eo est=et ekk=et eus=eu fas=fa fin=fi fra=fr
    fre=fr ger=de gle=ga glg=gl gre=el guj=gu hat=ht hau=ha heb=he hin=hi hrv=hr hun=hu hye=hy ibo=ig ind=id isl=is
    ita=it jav=jv jpn=ja kan=kn kat=ka kaz=kk khm=km kin=rw kir=ky kor=ko kur=ku lao=lo lat=la lav=lv lvs=lv lin=ln
    lit=lt ltz=lb lug=lg mal=ml mar=mr mkd=mk mlg=mg mlt=mt mon=mn mri=mi msa=ms mya=my nep=ne npi=ne nld=nl nno=nn
    nob=nb nor=no nya=ny oci=oc ori=or orm=om pan=pa pes=fa pol=pl por=pt pus=ps ron=ro rum=ro run=rn rus=ru san=sa
    sin=si slk=sk slv=sl sna=sn snd=sd som=so spa=es sqi=sq srp=sr sun=su swa=sw swe=sv swh=sw tam=ta tat=tt tel=te
    tgk=tg tgl=tl tha=th tir=ti tuk=tk tur=tr uig=ug ukr=uk urd=ur uzb=uz vie=vi wol=wo xho=xh yid=yi yor=yo zho=zh
    zul=zu""".split()  # noqa: SIM905 - easier to read than quotes
)

_SUBTAGS = re.compile(r"(-[a-z0-9]{2,8})*", flags=re.ASCII)


def language_code(text: str) -> str:
    """The spelling that tables have of a code: lower case, two letters where there are, `-` before a region.

    >>> [language_code(text) for text in ("EN", "deu", "zh_TW")]
    ['en', 'de', 'zh-tw']
    """
    first, dash, rest = text.strip().lower().replace("_", "-").partition("-")
    primary = _TWO_LETTERS.get(first, first)
    if primary not in LANGUAGE_CODES or not _SUBTAGS.fullmatch(dash + rest):
        fix = "give an ISO 639 code such as en, de or zh-TW"
        msg = f"lang must be the code of a language, got {text!r}; {fix}"
        raise RecipeError(msg)
    return primary + dash + rest
