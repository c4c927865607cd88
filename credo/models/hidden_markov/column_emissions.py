"""The option emission=: a covariance, kinds, or conjugate families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from credo.data.schema import checked_kinds
from credo.errors import PriorError, suggest
from credo.families.family import Family
from credo.families.normal_inverse_wishart import Covariance
from credo.models.forms import FORM_OF, Number, Text, Word
from credo.models.latent.columns import check_describes_numbers

COVARIANCES: tuple[Covariance, ...] = ("full", "tied", "diagonal", "spherical")


def checked_emission(emission: Any) -> Any:
    """A covariance's name; a kind or a family, of all columns; or {column: kind or family}."""
    if isinstance(emission, str):
        known = (*COVARIANCES, *FORM_OF)
        if emission not in known:
            raise PriorError(f"no such emission, {emission!r}; {suggest(emission, known)}")
        return emission
    if isinstance(emission, Mapping):
        for name, how in emission.items():
            if isinstance(how, Family):
                check_describes_numbers(how, f"emission of {name!r}")
            elif not isinstance(how, Number | Text | Word):
                checked_kinds({name: how}, [name])
        return dict(emission)
    if isinstance(emission, Family):
        check_describes_numbers(emission, "emission")
        return emission
    raise PriorError(
        f"emission must be a covariance ({', '.join(COVARIANCES)}), a kind, a family such as GammaPoisson(1, 1), or "
        f"{{column: kind or family}}, but is {emission!r:.60}"
    )


def covariance_of(emission: object) -> Covariance:
    """The covariance of number columns in a state."""
    return next((name for name in COVARIANCES if isinstance(emission, str) and name == emission), "full")


def kinds_of(emission: object, kinds: Mapping[str, object] | None, names: Iterable[str]) -> Mapping[str, Any] | None:
    """The requested kinds of the columns: by kinds=, and by emission= for the others."""
    if isinstance(emission, Mapping):
        return {**emission, **(kinds or {})}
    if isinstance(emission, str) and emission in COVARIANCES:
        return kinds
    return {**dict.fromkeys(names, emission), **(kinds or {})}
