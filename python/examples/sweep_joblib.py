"""A sweep with joblib, over a policy of one's own among others: processes of this machine.

python sweep_joblib.py [TRACE]
"""

import sys
from collections import OrderedDict

import forebay
from joblib import Parallel, delayed

SIZES = ["0.1%", "1%", "10%"]


class TwoHits(forebay.Replacement):
    """LRU whose blocks must be hit once before they count: a scan goes first."""

    def __init__(self, blocks):
        self.once, self.again = OrderedDict(), OrderedDict()

    def hit(self, key):
        self.once.pop(key, None)
        self.again[key] = None
        self.again.move_to_end(key)

    def insert(self, key):
        self.once[key] = None

    def evict(self):
        return next(iter(self.once or self.again))

    def remove(self, key):
        self.once.pop(key, None)
        self.again.pop(key, None)


def main(trace="zipf:objects=20000,requests=50000"):
    runs = [delayed(forebay.simulate)(trace, policy, size, threads=1) for policy in ("lru", TwoHits) for size in SIZES]
    result = sum(Parallel(n_jobs=2)(runs), forebay.Result([]))
    print(result)
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
