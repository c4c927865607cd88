"""Models as JSON and arrays, and back. Only classes that have a schema are ever built."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite, prod
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from credo.errors import suggest
from credo.networks.fixed import Fixed
from credo.storage.field_types import place_of
from credo.storage.schemas import BY_NAME, BY_PLACE
from credo.storage.stored import Stored, described

if TYPE_CHECKING:
    import pyarrow as pa

ARRAY_ALIGNMENT = 64
LISTED_LEVELS = 1000  # in the header; more are stored as arrays
LINE_WIDTH = 110
VERSION_KEY = "version"  # of a class's version in its node; not the name of any field
STORED_DTYPES = {"float64": "<f8", "int64": "<i8", "uint64": "<u8", "int32": "<i4", "uint8": "|u1", "bool": "|u1"}
STORED_SCALARS = {kind.__name__: kind for kind in (np.float64, np.int64, np.int32, np.uint8, np.bool_, np.str_)}
LEVEL_TYPES = ("string", "int64", "uint64", "double", "bool")


class Packer:
    """Turns values into JSON nodes, and collects their arrays."""

    def __init__(self) -> None:
        self.chunks: list[bytes | memoryview] = []
        self.size = 0

    def node(self, value: Any) -> Any:
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
        if kind is np.ndarray and value.dtype.name in STORED_DTYPES:
            return self.array(value)
        if STORED_SCALARS.get(kind.__name__) is kind:
            plain = str.__str__(value) if kind is np.str_ else value.item()  # NumPy drops a NUL at a string's end
            return {"scalar": kind.__name__, "value": self.node(plain)}
        if kind.__module__ == "pyarrow.lib" and str(getattr(value, "type", "")) in LEVEL_TYPES:
            return self.levels(value)
        if stored := BY_PLACE.get(place_of(kind)):
            return self.record(stored, value)
        raise ValueError(
            f"an object of type {described(value)} can't be stored: a file holds numbers, strings, arrays, dicts and "
            "credo's own beliefs and models, never functions. Keep the code that makes it, save the observations, "
            "update it again"
        )

    def record(self, stored: Stored, value: object) -> dict[str, Any]:
        """An object's fields under its class's name and version (omitted if it is 1)."""
        nodes = {name: self.node(item) for name, item in stored.values(value).items()}
        stored.check(value)  # after its fields, on which the check may rely
        version = {} if stored.version == 1 else {VERSION_KEY: stored.version}
        return {"class": stored.name, **version, **nodes}

    def array(self, array: NDArray[Any]) -> dict[str, Any]:
        padding = -self.size % ARRAY_ALIGNMENT
        node = {"array": array.dtype.name, "shape": list(array.shape), "offset": self.size + padding}
        raw = array.astype(STORED_DTYPES[array.dtype.name], order="C", copy=False).reshape(-1).view(np.uint8).data
        self.chunks += [bytes(padding), raw]
        self.size += padding + len(raw)
        return node

    def levels(self, levels: Any) -> dict[str, Any]:
        """Levels as a list if they are few; else an array of numbers, or bytes with the offset of each string."""
        import pyarrow as pa

        kind = str(levels.type)
        if len(levels) <= LISTED_LEVELS or levels.null_count:
            return {"levels": kind, "values": self.node(levels.to_pylist())}
        if kind != "string":
            return {"levels": kind, "numbers": self.array(levels.to_numpy(zero_copy_only=False))}
        strings = levels.cast(pa.large_string())
        _, starts, text = strings.buffers()
        offsets = np.frombuffer(starts, np.int64)[strings.offset : strings.offset + len(strings) + 1]
        raw = np.frombuffer(text or b"", np.uint8)[offsets[0] : offsets[-1]]
        return {"levels": kind, "offsets": self.array(offsets - offsets[0]), "text": self.array(raw)}


class Unpacker:
    """Turns JSON nodes and arrays back into values."""

    def __init__(self, section: memoryview) -> None:
        self.section = section

    def value(self, node: object) -> Any:
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
                found = {self.value(key): self.value(item) for key, item in pairs}
                if len(found) < len(pairs):
                    raise ValueError("it has a mapping with a key twice")
                return found
            case {"float": "inf" | "-inf" | "nan" as text, **rest} if not rest:
                return float(text)
            case {"scalar": str(kind), "value": item, **rest} if kind in STORED_SCALARS and not rest:
                return STORED_SCALARS[kind](self.value(item))
            case {"array": str(dtype), "shape": list(shape), "offset": int(offset), **rest} if not rest:
                return self.array(dtype, shape, offset)
            case {"levels": str(kind), **parts} if kind in LEVEL_TYPES:
                return self.levels(kind, {str(name): self.value(part) for name, part in parts.items()})
        raise ValueError(f"its header has {json.dumps(node)[:80]} where a value should be")

    def array(self, dtype: str, shape: Sequence[Any], offset: int) -> NDArray[Any]:
        if dtype not in STORED_DTYPES:
            raise ValueError(f"it has an array of {dtype}; {suggest(dtype, STORED_DTYPES)}")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"it has an array of shape {shape}")
        end = offset + prod(shape) * np.dtype(STORED_DTYPES[dtype]).itemsize
        if offset < 0 or end > len(self.section):
            raise ValueError(f"an array at bytes {offset} to {end} lies outside the file's {len(self.section)}")
        return np.frombuffer(self.section[offset:end], STORED_DTYPES[dtype]).astype(dtype).reshape(shape)

    def levels(self, kind: str, parts: Mapping[str, object]) -> pa.Array:
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

    def built(self, name: str, nodes: Mapping[str, object]) -> Any:
        if name not in BY_NAME:
            raise ValueError(f"it holds a {name!r}, which isn't a known class; {suggest(name, BY_NAME)}")
        version = nodes.get(VERSION_KEY, 1)
        if type(version) is not int or version < 1:
            raise ValueError(f"the version of {name} should be 1 or more, but is {version!r:.40}")
        return BY_NAME[name].built(version, {key: self.value(n) for key, n in nodes.items() if key != VERSION_KEY})


def kind_of(value: object) -> str:
    """The name of its class in files."""
    stored = BY_PLACE.get(place_of(type(value)))
    return stored.name if stored else type(value).__name__


def readable(node: object, indent: int = 0) -> str:
    """Indented JSON, in which nodes that fit are on one line."""
    flat = json.dumps(node, ensure_ascii=False, allow_nan=False)
    if not isinstance(node, dict | list) or indent + len(flat) <= LINE_WIDTH:
        return flat
    lines = [readable(item, indent + 2) for item in (node.values() if isinstance(node, dict) else node)]
    if isinstance(node, dict):
        lines = [f"{json.dumps(key, ensure_ascii=False)}: {line}" for key, line in zip(node, lines, strict=True)]
    margin = "\n" + " " * indent
    return f"{flat[0]}{margin}  {f',{margin}  '.join(lines)}{margin}{flat[-1]}"
