"""What a stored file holds: models as JSON and arrays, and back. Only known classes are ever built."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from math import isfinite, prod
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credo.core.evidence import Growing
from credo.errors import suggest
from credo.networks.fixed import Fixed
from credo.storage.checks import check, described

# What a file may hold: the name in the file, and the dataclass that is built from its fields, in their order.
CLASSES = {
    "Belief": "credo.estimation.belief:Belief",
    "Beliefs": "credo.estimation.beliefs:Beliefs",
    "BetaBernoulli": "credo.families.beta_bernoulli:BetaBernoulli",
    "Blend": "credo.models.blend:Blend",
    "Column": "credo.data.schema:Column",
    "Counts": "credo.core.statistics:Counts",
    "CrossMoments": "credo.core.statistics:CrossMoments",
    "DirichletCategorical": "credo.families.dirichlet:DirichletCategorical",
    "DirichletMultinomial": "credo.families.dirichlet:DirichletMultinomial",
    "Evidence": "credo.core.evidence:Evidence",
    "Exact": "credo.numerics.exact:Exact",
    "Extremes": "credo.core.statistics:Extremes",
    "Factor": "credo.networks.factor:Factor",
    "GammaExponential": "credo.families.gamma:GammaExponential",
    "GammaPoisson": "credo.families.gamma:GammaPoisson",
    "GaussianDiscriminant": "credo.models.discriminant:GaussianDiscriminant",
    "GroupCounts": "credo.core.sparse:GroupCounts",
    "Largest": "credo.numerics.exact:Largest",
    "LinearRegression": "credo.families.linear_regression:LinearRegression",
    "MarkovNetwork": "credo.networks.markov_network:MarkovNetwork",
    "Moments": "credo.core.statistics:Moments",
    "NaiveBayes": "credo.models.naive_bayes:NaiveBayes",
    "Network": "credo.networks.network:Network",
    "NormalInverseGamma": "credo.families.normal:NormalInverseGamma",
    "NormalInverseWishart": "credo.families.normal_inverse_wishart:NormalInverseWishart",
    "NormalMean": "credo.families.normal:NormalMean",
    "Number": "credo.models.forms:Number",
    "ParetoUniform": "credo.families.pareto_uniform:ParetoUniform",
    "Part": "credo.core.evidence:Part",
    "Read": "credo.selection.report:Read",
    "Report": "credo.selection.report:Report",
    "Schema": "credo.data.schema:Schema",
    "Scores": "credo.models.metrics:Scores",
    "Sparse": "credo.core.sparse:Sparse",
    "TablePriors": "credo.networks.table_priors:TablePriors",
    "Text": "credo.models.forms:Text",
    "Totals": "credo.core.statistics:Totals",
    "Tried": "credo.selection.report:Tried",
    "Tuning": "credo.models.tuning:Tuning",
    "WordSums": "credo.core.sparse:WordSums",
}

ALIGNMENT = 64
FEW = 1000  # levels that stand in the header, to be read; more of them are arrays
WIDTH = 110
DTYPES = {"float64": "<f8", "int64": "<i8", "uint64": "<u8", "int32": "<i4", "uint8": "|u1", "bool": "|u1"}
SCALARS = {kind.__name__: kind for kind in (np.float64, np.int64, np.int32, np.uint8, np.bool_, np.str_)}
LEVEL_TYPES = ("string", "int64", "uint64", "double", "bool")


class Packer:
    """Values as JSON, their arrays set aside."""

    def __init__(self) -> None:
        self.chunks: list[bytes | memoryview] = []
        self.size = 0

    def node(self, value: Any) -> Any:
        if isinstance(value, Growing):
            value = value.whole
        if isinstance(value, Fixed):
            value = dict(value)
        kind = type(value)
        if kind is float and not isfinite(value):
            return {"float": str(value)}
        if kind in (NoneType, bool, int, float, str):
            return value
        if kind is list:
            return [self.node(item) for item in value]
        if kind is tuple:
            return {"tuple": [self.node(item) for item in value]}
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {key: self.node(item) for key, item in value.items()}}
        if kind is dict:
            return {"pairs": [[self.node(key), self.node(item)] for key, item in value.items()]}
        if kind is np.ndarray and value.dtype.name in DTYPES:
            return self.array(value)
        if SCALARS.get(kind.__name__) is kind:
            plain = str.__str__(value) if kind is np.str_ else value.item()  # NumPy drops a NUL at a string's end
            return {"scalar": kind.__name__, "value": self.node(plain)}
        if kind.__module__ == "pyarrow.lib" and str(getattr(value, "type", "")) in LEVEL_TYPES:
            return self.levels(value)
        if CLASSES.get(kind.__name__) == f"{kind.__module__}:{kind.__qualname__}":
            nodes = {name: self.node(getattr(value, name)) for name in stored_fields(value)}
            check(value)
            return {"class": kind.__name__, **nodes}
        raise ValueError(
            f"a {described(value)} can't be stored: a file holds numbers, strings, arrays, dicts and credo's own "
            "beliefs and models, never functions. Keep the code that makes it, save the observations, update it anew"
        )

    def array(self, array: NDArray[Any]) -> dict[str, Any]:
        padding = -self.size % ALIGNMENT
        node = {"array": array.dtype.name, "shape": list(array.shape), "offset": self.size + padding}
        raw = array.astype(DTYPES[array.dtype.name], order="C", copy=False).reshape(-1).view(np.uint8).data
        self.chunks += [bytes(padding), raw]
        self.size += padding + len(raw)
        return node

    def levels(self, levels: Any) -> dict[str, Any]:
        """A list where there are few; else an array of numbers, or strings end to end and where each starts."""
        import pyarrow as pa

        kind = str(levels.type)
        if len(levels) <= FEW or levels.null_count:
            return {"levels": kind, "values": self.node(levels.to_pylist())}
        if kind != "string":
            return {"levels": kind, "numbers": self.array(levels.to_numpy(zero_copy_only=False))}
        strings = levels.cast(pa.large_string())
        _, starts, text = strings.buffers()
        offsets = np.frombuffer(starts, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        raw = np.frombuffer(text or b"", np.uint8)[offsets[0] : offsets[-1]]
        return {"levels": kind, "offsets": self.array(offsets - offsets[0]), "text": self.array(raw)}


def stored_fields(value: Any) -> list[str]:
    """The fields that are written: all, but for optional ones that the value says can be left out."""
    left_out = getattr(value, "left_out_fields", ())
    return [field.name for field in fields(value) if field.name not in left_out]


class Unpacker:
    """The values that JSON and arrays stand for."""

    def __init__(self, section: memoryview) -> None:
        self.section = section

    def value(self, node: Any) -> Any:
        match node:
            case None | bool() | int() | float() | str():
                return node
            case {"class": str(name), **own}:
                return self.built(name, {str(field): item for field, item in own.items()})
            case list():
                return [self.value(item) for item in node]
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.value(item) for item in items)
            case {"dict": dict(items), **rest} if not rest:
                return {str(key): self.value(item) for key, item in items.items()}
            case {"pairs": list(pairs), **rest} if not rest:
                return {self.value(key): self.value(item) for key, item in pairs}
            case {"float": "inf" | "-inf" | "nan" as text, **rest} if not rest:
                return float(text)
            case {"scalar": str(kind), "value": item, **rest} if kind in SCALARS and not rest:
                return SCALARS[kind](self.value(item))
            case {"array": str(dtype), "shape": list(shape), "offset": int(offset), **rest} if not rest:
                return self.array(dtype, shape, offset)
            case {"levels": str(kind), **parts} if kind in LEVEL_TYPES:
                return self.levels(kind, {str(name): self.value(part) for name, part in parts.items()})
        raise ValueError(f"its header has {json.dumps(node)[:80]} where a value should be")

    def array(self, dtype: str, shape: Sequence[Any], offset: int) -> NDArray[Any]:
        if dtype not in DTYPES:
            raise ValueError(f"it has an array of {dtype}; {suggest(dtype, DTYPES)}")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"it has an array of shape {shape}")
        end = offset + prod(shape) * np.dtype(DTYPES[dtype]).itemsize
        if offset < 0 or end > len(self.section):
            raise ValueError(f"an array at bytes {offset} to {end} lies outside the {len(self.section)} that there are")
        return np.frombuffer(self.section[offset:end], DTYPES[dtype]).astype(dtype).reshape(shape)

    def levels(self, kind: str, parts: Mapping[str, Any]) -> Any:
        import pyarrow as pa

        wanted = pa.type_for_alias(kind)
        match parts:
            case {"values": list(values)}:
                return pa.array(values, wanted)
            case {"numbers": np.ndarray() as numbers}:
                return pa.array(numbers, wanted)
            case {"offsets": np.ndarray() as offsets, "text": np.ndarray() as text} if offsets.dtype == np.int64:
                buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
                strings = pa.Array.from_buffers(pa.large_string(), offsets.size - 1, buffers)
                strings.validate(full=True)
                return strings.cast(wanted)
        raise ValueError(f"levels can't be made of {', '.join(parts) or 'nothing'}")

    def built(self, name: str, nodes: Mapping[str, Any]) -> Any:
        """By the class's own constructor, so that what it refuses is refused here too."""
        if name not in CLASSES:
            raise ValueError(f"it holds a {name!r}, which isn't a known class; {suggest(name, CLASSES)}")
        module, _, attribute = CLASSES[name].partition(":")
        kind = getattr(import_module(module), attribute)
        names = [field.name for field in fields(kind)]
        if not set(names) - set(getattr(kind, "optional_fields", ())) <= set(nodes) <= set(names):
            raise ValueError(f"the fields of {name} should be {', '.join(names)}, but are {', '.join(nodes)}")
        made = kind(*(self.value(nodes.get(field)) for field in names))
        check(made)
        return made


def readable(node: Any, indent: int = 0) -> str:
    """JSON, a line for each thing that fits on one."""
    flat = json.dumps(node, ensure_ascii=False, allow_nan=False)
    if not isinstance(node, dict | list) or indent + len(flat) <= WIDTH:
        return flat
    lines = [readable(item, indent + 2) for item in (node.values() if isinstance(node, dict) else node)]
    if isinstance(node, dict):
        lines = [f"{json.dumps(key, ensure_ascii=False)}: {line}" for key, line in zip(node, lines, strict=True)]
    margin = "\n" + " " * indent
    return f"{flat[0]}{margin}  {f',{margin}  '.join(lines)}{margin}{flat[-1]}"
