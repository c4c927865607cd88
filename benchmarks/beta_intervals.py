"""Equal-tailed 95% intervals of a million Beta beliefs, beside conjugate-models."""

from __future__ import annotations

from functools import partial

import numpy as np
from conjugate.distributions import Beta as PeerBeta

from benchmarks.timing import Line, in_turns
from credo.families import BetaBernoulli

BELIEFS = 1_000_000


def run() -> list[Line]:
    rng = np.random.default_rng(0)
    shown = rng.integers(1, 1000, BELIEFS)
    bought = rng.binomial(shown, rng.beta(2, 20, BELIEFS))
    conversions = (1.0 + bought, 1.0 + shown - bought)
    wide = tuple(np.exp(rng.uniform(np.log(0.5), np.log(1e6), (2, BELIEFS))))
    lines = []
    for what, (a, b) in {"conversions": conversions, "a, b log-uniform in [0.5, 10⁶]": wide}.items():
        ours = partial(BetaBernoulli(a, b).interval, 0.95)
        theirs = partial(PeerBeta(alpha=a, beta=b).dist.interval, 0.95)
        np.testing.assert_allclose(ours(), theirs(), rtol=1e-9)
        times = in_turns(ours, theirs)
        lines.append(Line(f"intervals of 1M Beta beliefs ({what})", "conjugate-models", *times, target=2))
    return lines
