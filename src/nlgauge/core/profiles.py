"""A profile: one consistent set of choices where a paper and its released codes disagree.

A profile has a value for some options, and fixes conventions that no option changes. A recipe takes from it what was
not chosen; what was chosen otherwise shows as a star: `v1*`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

from nlgauge.core.kinds import Choice
from nlgauge.core.metric import Metric, about_default
from nlgauge.core.options import BY_PROFILE, option
from nlgauge.core.vector_metric import Representation, VectorMetric


class Profile(SimpleNamespace):
    """What a profile decides: values of options by name, and conventions that no option changes."""


class ProfileName(Choice):
    """Names of profiles; a signature marks a changed one by a star."""

    def read(self, name: str, text: str) -> dict[str, str]:
        """Without the star."""
        return {name: text.removesuffix("*")}


def profile_option(default: str, profiles: Mapping[str, Any]) -> Any:
    """The option that names one of the profiles."""
    return option(default, ProfileName(*profiles), help="set of choices where paper and code disagree", short="p")


@dataclass(frozen=True, kw_only=True)
class Profiled(Metric):
    """A recipe whose options are filled in by its `profile`."""

    profiles: ClassVar[Mapping[str, Any]]
    """By name; an option that a profile does not mention is as usual."""

    @property
    def published(self) -> Any:
        """What the profile says."""
        return self.profiles[getattr(self, "profile")]  # noqa: B009 - an option of every metric of this kind

    def resolve(self) -> None:
        """The profile's value for every option that was left to it."""
        super().resolve()
        for name in self.options():
            if getattr(self, name) is BY_PROFILE:
                object.__setattr__(self, name, getattr(self.published, name))

    @property
    def deviates(self) -> bool:
        """Whether an option is not as the profile has it."""
        return any(
            getattr(self, name) != getattr(self.published, name, about_default(about))
            for name, about in self.options().items()
            if about.signed and about.in_profile and name != "profile" and name not in self.unused
        )

    def own_fields(self, resolved: Mapping[str, str]) -> dict[str, str]:
        """With a star behind the name of a profile that was changed."""
        own = super().own_fields(resolved)
        return own | {"profile": own["profile"] + "*" * self.deviates}


@dataclass(frozen=True, kw_only=True)
class ProfiledMetric(Profiled, VectorMetric[Representation]):
    """A metric of vectors with profiles."""

    @property
    def published_idf(self) -> str:  # type: ignore[override]  # the profile decides
        """What the published evaluation counts idf on."""
        return str(self.published.idf)
