"""The texts to be scored: outputs of systems, with references or sources."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from nlgauge.errors import InputError

__all__ = ["Corpus", "References", "WholeCorpus"]

#: References of a corpus, segment by segment: one text, or several.
References: TypeAlias = Iterable[str | Iterable[str]]


@dataclass(frozen=True, eq=False)
class WholeCorpus:
    """What texts that are a part of a larger corpus must know of it to be scored as if all of it were here."""

    reference_count: str
    """References per segment, as `Corpus.reference_count` has it."""
    counted: Mapping[Hashable, Mapping[str, Any]] = field(default_factory=dict)
    """What recipes count on a corpus, as `TokenizedCorpus.memo` has it; by encoding and what is compared with."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Outputs of one or more systems for the same segments, with the references of each segment, or its source."""

    systems: Mapping[str, Sequence[str]]
    references: Sequence[tuple[str, ...]]
    """Empty groups where there are only sources."""
    idf_documents: Mapping[str | None, Sequence[str]] = field(default_factory=dict)
    """Texts that idf is counted on instead of those above: by system, and under None for the references.

    Data sets of judged segments are samples of a system's whole file, and published idf is that of the file.
    """
    sources: Sequence[str] | None = None
    against_source: bool = False
    """Whether the references are the sources: texts of another language."""
    whole: WholeCorpus | None = None
    """The corpus that these texts are a part of; None: they are all there is."""

    def __len__(self) -> int:
        return len(self.references)

    @property
    def reference_count(self) -> str:
        """References per segment, `var` where the number varies, or `source`."""
        if self.whole is not None and not self.against_source:
            return self.whole.reference_count
        counts = {len(group) for group in self.references}
        return "source" if self.against_source else str(counts.pop()) if len(counts) == 1 else "var"

    def compared_with(self, what: str, *, metric: str, choice: bool = True) -> Corpus:
        """The corpus as a metric sees it that compares with references (`refs`) or sources (`source`).

        `choice`: whether the metric can compare with either.
        """
        if what == "refs":
            if not all(self.references):
                other = f", or compare with the source: {metric}:against=source" if choice else ""
                msg = f"{metric} compares with references, and none were given; give them (refs=, --refs){other}"
                raise InputError(msg)
            return self
        if self.against_source:
            return self
        if self.sources is None:
            msg = (
                f"{metric} compares with the source, and none was given; give it (sources=, --source), "
                f"or compare with references: {metric}:against=refs"
            )
            raise InputError(msg)
        return self._with_sources

    @cached_property
    def _with_sources(self) -> Corpus:
        documents = dict(self.idf_documents)
        documents.pop(None, None)
        return Corpus(
            self.systems,
            [(text,) for text in self.sources or ()],
            documents,
            self.sources,
            against_source=True,
            whole=self.whole,
        )

    @cached_property
    def lowered(self) -> Corpus:
        """The same in lower case."""
        return replace(
            self,
            systems={name: [text.lower() for text in texts] for name, texts in self.systems.items()},
            references=[tuple(text.lower() for text in group) for group in self.references],
            idf_documents={name: [text.lower() for text in texts] for name, texts in self.idf_documents.items()},
            sources=None if self.sources is None else [text.lower() for text in self.sources],
        )
