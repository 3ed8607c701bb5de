"""Discovery of metrics: in the folder of nlgauge, and through entry points of other packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import nlgauge
import nlgauge.metrics
import nlgauge.testing
from nlgauge.core import registry
from nlgauge.errors import NlgaugeWarning, RecipeError, SignatureError

#: A metric of one file: the cosine of mean vectors.
FOO = '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from nlgauge.core.kinds import Int
from nlgauge.core.metric import Pair
from nlgauge.core.vector_metric import VectorMetric
from nlgauge.core.options import option

@dataclass(frozen=True, kw_only=True)
class Foo(VectorMetric):
    """Cosine of mean vectors."""
    name: ClassVar[str] = "foo"
    components: ClassVar[tuple[str, ...]] = ("score",)
    main: ClassVar[str] = "score"
    layer: int = option(0, Int(0), help="layer")
    def layers(self, encoder):
        return (self.layer,)
    def represent(self, text, state):
        mean = text.layers[self.layer].astype(np.float64).mean(axis=0)
        return mean / np.linalg.norm(mean)
    def compare(self, x, y, state, *, align):
        return Pair([float(x @ y)])
'''

#: What a metric's file may have next to its class. On Python 3.10 `NDArray` passes for a class by isinstance, as
#: `PretendedClass` does on any Python, and issubclass refuses both.
ALIASES = """
from numpy.typing import NDArray

class Pretending:
    __class__ = property(lambda self: type)

PretendedClass = Pretending()
Vectors = NDArray[np.float32]
Names = list[str]
"""


@pytest.fixture
def with_foo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> registry._Metrics:
    (tmp_path / "foo_of_one_file.py").write_text(FOO, encoding="utf-8")
    monkeypatch.setattr(nlgauge.metrics, "__path__", [*nlgauge.metrics.__path__, str(tmp_path)])
    metrics = registry._Metrics()
    monkeypatch.setattr(registry, "METRICS", metrics)
    return metrics


def test_metric_is_discovered_by_its_file(with_foo: registry._Metrics) -> None:
    assert "foo" in with_foo
    with nlgauge.testing.hash_encoder() as model:
        nlgauge.testing.check_metric(registry.parse_metric(f"foo:layer=1,model={model}"))


def test_aliases_of_types_next_to_a_metric_are_not_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(registry.built_in_metrics())
    (tmp_path / "foo_with_aliases.py").write_text(FOO + ALIASES, encoding="utf-8")
    monkeypatch.setattr(nlgauge.metrics, "__path__", [*nlgauge.metrics.__path__, str(tmp_path)])
    assert set(registry.built_in_metrics()) == {*before, "foo"}


def test_the_metrics_of_nlgauge_are_public_under_their_class_names() -> None:
    for metric in registry.built_in_metrics().values():
        assert getattr(nlgauge.metrics, metric.__name__) is metric
        assert metric.__name__ in nlgauge.metrics.__all__


def entries(monkeypatch: pytest.MonkeyPatch, **values: str) -> registry._Metrics:
    result = [EntryPoint(name, value, registry.GROUP) for name, value in values.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: result)
    return registry._Metrics()


def test_a_package_offers_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = entries(monkeypatch, bertscore2="nlgauge.metrics.bertscore:BERTScore")
    with pytest.warns(NlgaugeWarning, match="'bertscore2' .* is skipped: it is not a metric of that name"):
        assert "bertscore2" not in metrics


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("broken", "no_such_package:Metric", "cannot be loaded"),
        ("bleu", "nlgauge.metrics.bleu:BLEU", "nlgauge.metrics.bleu already has that name"),
        ("number", "math:pi", "not a metric"),
    ],
)
def test_unusable_metric_of_package_is_skipped_with_warning(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    metrics = entries(monkeypatch, **{name: value})
    with pytest.warns(NlgaugeWarning, match=why):
        assert set(metrics) == set(registry.built_in_metrics())


def test_metric_lookup_does_not_load_other_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = entries(monkeypatch)
    assert metrics["bertscore"] is nlgauge.metrics.BERTScore
    assert "_all" not in vars(metrics)
    assert metrics["rouge1"] is nlgauge.metrics.Rouge1, "of a file of another name"
    assert metrics["bertscore"] is nlgauge.metrics.BERTScore
    for name in ("parts", "parts.foci", "../bleu", ""):
        assert name not in metrics


def test_unusable_metric_is_reported_on_any_lookup(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = entries(monkeypatch, broken="no_such_package:Metric")
    with pytest.warns(NlgaugeWarning, match="cannot be loaded"):
        assert metrics["bertscore"] is nlgauge.metrics.BERTScore


def test_names_in_any_case_and_closest_name_in_errors() -> None:
    assert registry.metric_class("BERTScore") is registry.metric_class("bertscore")
    with pytest.raises(
        RecipeError, match=r"unknown metric 'bertscor'; did you mean 'bertscore'\? See 'nlgauge list'"
    ):
        registry.metric_class("bertscor")
    with pytest.raises(RecipeError, match="options follow a colon: bertscore:layer=3"):
        registry.parse_metric("bertscore,layer=3")
    with pytest.raises(RecipeError, match=r"has no option 'layr'; did you mean 'layer'"):
        registry.parse_metric("bertscore:layr=4")


def test_part_of_a_signature_is_read_with_a_warning_about_missing_fields() -> None:
    part = "bertscore|layer:4|idf:none|multiref:best-f|rescale:no|lowercase:yes|max_tokens:9|refs:1|model:minilm"
    recipe = registry.recipe_from_signature(part)
    assert (recipe.lowercase, recipe.max_tokens) == ("yes", 9)
    with pytest.warns(NlgaugeWarning) as seen:
        nlgauge.score(["A cat sat."], ["The cat sat."], metric=part)
    messages = [str(warning.message) for warning in seen]
    assert any("the signature does not specify weights (here 53aa51172d14), tokenizer" in text for text in messages)


def test_a_signature_of_a_later_grammar_is_refused() -> None:
    with pytest.raises(SignatureError, match="the signature has grammar '2', but this version reads '1'"):
        registry.recipe_from_signature("bertscore|layer:4|sig:2")


def test_every_metric_has_a_title_for_papers() -> None:
    titles = {name: metric.title for name, metric in registry.built_in_metrics().items()}
    assert all(titles.values())
    assert len(set(titles.values())) == len(titles)
    assert (titles["rougel"], titles["xmoverscore"]) == ("ROUGE-L", "XMoverScore")
    assert registry.table_decimals("bleu") == registry.table_decimals("chrf (2)") == 1
    assert registry.table_decimals("bertscore") == 3
    assert registry.table_decimals("comet") is None
