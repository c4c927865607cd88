"""Names for kinds of arrays, by what their elements are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]  # which group or value; -1 where it is missing
Positions = NDArray[np.intp]
