"""Predictions with their rows, as a stream of tables: the data may be larger than memory."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from time import sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import engines
from credo.data.free_names import free_names
from credo.data.partitions import Unopened
from credo.errors import DataError
from credo.models.frame_columns import PREDICTED

if TYPE_CHECKING:
    from credo.data import Batch, Source
    from credo.models.class_predictor import ClassPredictor
    from credo.models.hidden_markov.model import HiddenMarkov
    from credo.models.mixture.model import Mixture
    from credo.models.regression.linear import LinearRegression
    from credo.networks.graphical_model import GraphicalModel
    from credo.networks.hybrid.network import HybridNetwork

PROBABILITY_COLUMN, LOW_COLUMN, HIGH_COLUMN = "probability", "low", "high"
UNFINISHED_PREFIX = ".unfinished-"  # of files that are being written


def predictions(model: ClassPredictor, data: object, each: bool = False) -> Generator[Any]:
    """Arrow tables: the data's own columns, the class predicted, its probability and, if asked, that of each class.

    >>> from credo import NaiveBayes
    >>> model = NaiveBayes().fit({"wind": ["weak", "strong"], "play": ["yes", "no"]}, target="play")
    >>> next(predictions(model, {"wind": ["weak"]})).to_pydict()
    {'wind': ['weak'], 'predicted': ['yes'], 'probability': [0.6666666666666666]}
    """
    import pyarrow as pa

    return beside(model.streamed(data), model.classes, pa.array(model.classes), each)


def write_predictions(model: ClassPredictor, data: object, folder: Path, each: bool = False) -> int:
    """Write predictions to a new folder of Parquet files, atomically; workers write one for each partition, so they
    must see the folder. Returns the number of rows."""
    if folder.exists():
        raise DataError(f"{folder} already exists: name a new folder")
    table = model.opened(data)
    model._present(table)
    partitions = [Unopened(own) for own in table.partitions([*table.keys, *table.names])]
    unfinished = folder.absolute().with_name(f".credo-{token_hex(8)}.tmp")
    unfinished.mkdir()
    try:
        rows = sum(engines.map(WritePart(model, str(unfinished), each), partitions))
        if not rows:
            raise DataError("the data is empty: there are no rows to predict")
        for left in unfinished.glob(f"{UNFINISHED_PREFIX}*"):  # left by workers that died
            left.unlink(missing_ok=True)
        unfinished.rename(folder)
    except BaseException:
        _remove(unfinished)
        raise
    return rows


@dataclass(frozen=True, eq=False)
class WritePart:
    """The predictions of a partition as a Parquet file named by its first row: a repeated task writes the same one."""

    model: ClassPredictor
    folder: str
    each: bool

    def __call__(self, unopened: Unopened[Any]) -> int:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows, classes = 0, self.model.classes
        batches = unopened.what.batches()
        first = next(batches, None)
        if first is None:
            return 0
        answers = ((batch, self.model.probabilities(batch)) for batch in chain([first], batches))
        tables = beside(answers, classes, pa.array(classes), self.each)
        begun = next(tables)
        path = Path(self.folder) / f"part-{first.start:015d}.parquet"
        unfinished = path.with_name(f"{UNFINISHED_PREFIX}{token_hex(8)}-{path.name}")
        with pq.ParquetWriter(unfinished, begun.schema) as writer:
            for table in chain([begun], tables):
                writer.write_table(table.cast(begun.schema))
                rows += table.num_rows
        unfinished.replace(path)
        return rows


def _remove(folder: Path) -> None:
    """Remove a folder, including files that a worker may still be writing."""
    for _ in range(20):
        rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        sleep(0.1)


def number_predictions(model: LinearRegression, data: object) -> Generator[Any]:
    """Arrow tables: the data's own columns, the number predicted, and both ends of its 95% predictive interval.

    >>> from credo import LinearRegression
    >>> model = LinearRegression().fit({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.1, 2.0, 2.9, 4.1]}, target="y")
    >>> next(number_predictions(model, {"x": [5.0]})).column_names
    ['x', 'predicted', 'low', 'high']
    """
    import pyarrow as pa

    empty = True
    for batch, found in model.streamed(data):
        own = {name: batch.columns[name] if name in batch.columns else batch.column(name) for name in batch.names}
        names = free_names([PREDICTED, LOW_COLUMN, HIGH_COLUMN], list(own))
        empty = False
        yield pa.table({**own, **dict(zip(names, (np.asarray(found.location), *found.interval(0.95)), strict=True))})
    if empty:
        raise DataError("the data is empty: there are no rows to predict")


def sequence_predictions(model: HiddenMarkov, data: object, each: bool = False) -> Generator[Any]:
    """Arrow tables: the data's own columns, each row's state in the most probable path, and that state's probability
    given all rows of the sequence.

    >>> from credo import HiddenMarkov
    >>> model = HiddenMarkov().fit({"walk": ["yes", "no"] * 9, "sky": ["sun", "rain"] * 9}, target="sky")
    >>> next(sequence_predictions(model, {"walk": ["no"]})).column_names
    ['walk', 'predicted', 'probability']
    """
    import pyarrow as pa

    answers = ((batch, shares, path) for batch, path, shares in model.streamed(data))
    return beside(answers, model.names, pa.array(model.names), each)


def imputations(model: GraphicalModel | HybridNetwork | Mixture, data: object) -> Generator[Any]:
    """Arrow tables: the data, its missing cells filled in as the model's `impute` does."""
    empty = True
    for _, part in batches_of(data):
        empty = False
        yield model.impute(part)
    if empty:
        raise DataError("the data is empty: there are no rows to fill in")


def batches_of(data: object) -> Iterator[tuple[Batch, Source]]:
    from credo.data import Source, source

    table = source(data)
    return ((batch, Source.of_batch(batch)) for batch in table.batches(table.names))


def beside(answers: Iterable[tuple[Any, ...]], values: Sequence[Any], named: Any, each: bool) -> Generator[Any]:
    """Arrow tables of the batches' rows with their predictions: the most probable values, or given ones."""
    import pyarrow as pa

    empty = True
    for batch, probabilities, *chosen in answers:
        own = {name: batch.columns[name] if name in batch.columns else batch.column(name) for name in batch.names}
        best = chosen[0] if chosen else probabilities.argmax(1)
        wanted = [PREDICTED, PROBABILITY_COLUMN, *(f"P({value})" for value in values if each)]
        names = free_names(wanted, list(own))
        columns = [named.take(pa.array(best)), probabilities[np.arange(len(best)), best]]
        columns += [probabilities[:, k] for k in range(len(values)) if each]
        empty = False
        yield pa.table({**own, **dict(zip(names, columns, strict=True))})
    if empty:
        raise DataError("the data is empty: there are no rows to predict")
