"""`forebay.simulate` beside `forebay sim`, and a policy in Python beside the same one in Rust.

The command is that of the package, so both are built alike. They take turns, and the ratio is of their
processor time, which other programs on the machine disturb least. Run it with the environment of the
tests:

    cargo xtask tools && cargo xtask python -k sim
    target/tools/python-module/bin/python3 python/bench/simulate.py
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections import OrderedDict
from functools import partial
from pathlib import Path

import forebay
import numpy

TRACE = "zipf:objects=1000000,requests=10000000"
MEMORY = "10%"
POLICIES = ["lru", "arc"]
#: Requests for the policy in Python, and distinct objects.
REQUESTS, OBJECTS = 1_000_000, 100_000


class MyLRU(forebay.Replacement):
    def __init__(self, blocks):
        self.order = OrderedDict()

    def hit(self, key):
        self.order.move_to_end(key)

    def insert(self, key):
        self.order[key] = None

    def evict(self):
        return next(iter(self.order))

    def remove(self, key):
        del self.order[key]


def timed(work, who):
    """The result, and the processor and wall time of work, by this process or its children."""

    def spent():
        usage = resource.getrusage(who)
        return usage.ru_utime + usage.ru_stime

    begun, before = time.monotonic(), spent()
    result = work()
    return result, spent() - before, time.monotonic() - begun


def by_command():
    program = Path(sys.executable).parent / "forebay"
    line = [program, "sim", TRACE, "--policy", ",".join(POLICIES), "--memory", MEMORY, "--no-opt", "--json"]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, env={"FOREBAY_CONFIG": "/dev/null"})
    return json.loads(done.stdout)


def by_module():
    return list(forebay.simulate(TRACE, POLICIES, memory=MEMORY))


def misses(rows):
    return [(row["policy"], row["misses"]) for row in rows]


def beside_the_command(rounds):
    times = []
    for _ in range(rounds):
        command, sim, sim_wall = timed(by_command, resource.RUSAGE_CHILDREN)
        module, simulate, simulate_wall = timed(by_module, resource.RUSAGE_SELF)
        assert misses(command) == misses(module)
        times.append((sim, simulate, sim_wall, simulate_wall))
    sim, simulate, sim_wall, simulate_wall = (statistics.median(column) for column in zip(*times))
    ratio = statistics.median(simulate / sim for sim, simulate, _, _ in times)
    print(f"forebay sim: {sim:.2f} s of the processor, {sim_wall:.2f} s")
    print(f"forebay.simulate: {simulate:.2f} s of the processor, {simulate_wall:.2f} s; {ratio:.3f} times")


def in_python(rounds):
    ids = numpy.random.default_rng(5).zipf(1.2, REQUESTS).astype("uint64") % OBJECTS
    for policy in ["lru", MyLRU]:
        rates = []
        for _ in range(rounds):
            result, _, wall = timed(partial(forebay.simulate, ids, policy, memory=0.1), resource.RUSAGE_SELF)
            rates.append(REQUESTS / wall)
        [row] = list(result)
        print(
            f"{row['policy']}: {statistics.median(rates) / 1e6:.2f} million requests a second, {row['misses']} misses"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured; medians count")
    options = parser.parse_args()
    beside_the_command(options.rounds)
    in_python(options.rounds)


if __name__ == "__main__":
    main()
