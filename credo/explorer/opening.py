"""Opening a file: a saved model, a network, or a table."""

from __future__ import annotations

from credo.explorer.screens.screen import Subject


def opened_file(path: str, data: object = None, target: str | None = None) -> Subject:
    """The model in a file; for a table, the table itself or a model learned from it to predict a column."""
    if path.lower().endswith(".credo"):
        from credo.storage.files import load

        return Subject(load(path), path, data)
    from credo.formats import holds_diagram, is_network, read, read_diagram

    if is_network(path) and holds_diagram(path):
        return Subject(read_diagram(path), path, data)
    if is_network(path):
        return Subject(read(path), path, data)
    from credo.data import source

    table = source(path)
    if target is None:
        return Subject(table, path)
    from credo.selection.learn import learn

    return Subject(learn(table, target), None, table if data is None else data)
