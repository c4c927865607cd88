"""Types of arrays, by their elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int32]  # the position of a group or level; -1 where it is missing
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]
Positions = NDArray[np.intp]
