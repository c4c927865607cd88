"""Calendar features of date columns: weekday, month and hour beside the date as a number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from credo.data import Source
from credo.data.schema import Derived
from credo.models.forms import CALENDAR_FORMS


def with_calendar(model: Any, table: Source, weight: Any) -> Any:
    """The model with weekdays, months and hours of its dates counted, as far as they vary; tuning weighs them."""
    dates = [name for name, views in model.views.items() if views[0] == "date"]
    if not dates:
        return model
    model = model.counting(dict.fromkeys(dates, CALENDAR_FORMS), table, weight)
    views = dict(model.views)
    for name in dates:
        varying = {form for form in CALENDAR_FORMS if len(model.seen.schema[Derived(form, name)].levels) > 1}
        views[name] = tuple(form for form in views[name] if form not in CALENDAR_FORMS or form in varying)
    narrow = replace(model, views=views)
    return replace(narrow, evidence=model.seen.keeping(narrow.part_names()))
