"""A sweep over policies and sizes with Dask: here on this machine, as well on a cluster.

    python sweep_dask.py [TRACE]

Arguments and results are pickled, so every worker needs the module, and a trace that is a file
needs to be there under the same path.
"""

import sys

import forebay
from dask.distributed import Client, LocalCluster

POLICIES = ["opt", "lru", "arc", "sieve", "s3-fifo"]
SIZES = ["0.1%", "1%", "10%"]


def sweep(client, trace):
    """The results of all policies at all sizes, as one table."""
    policies, sizes = zip(*[(policy, size) for policy in POLICIES for size in SIZES])
    parts = client.map(lambda policy, size: forebay.simulate(trace, policy, size, threads=1), policies, sizes)
    return sum(client.gather(parts), forebay.Result([]))


def main(trace="zipf:objects=20000,requests=200000"):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        result = sweep(client, trace)
    print(result)
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
