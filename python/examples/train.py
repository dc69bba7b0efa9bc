"""Reads small files in shuffled epochs with PyTorch's DataLoader, as training does.

    python train.py s3://bucket/images --memory 1GiB
    python train.py /mnt/data/images --untold

A store is mounted for as long as the program runs; a folder is read where it is.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import forebay
import forebay.torch
import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler


class Files(Dataset):
    """The bytes of the files below a folder."""

    def __init__(self, folder):
        found = (os.path.join(where, name) for where, _, names in os.walk(folder) for name in names)
        self.paths = sorted(found)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return index, file.read()


def epochs(folder, count, workers, told, seed=1):
    """Reads every file once an epoch; yields (files, bytes, seconds) of each."""
    files = Files(folder)
    sampler = RandomSampler(files, generator=torch.Generator().manual_seed(seed))
    if told:
        sampler = forebay.torch.Ordered(sampler, files.paths, cache=folder)
    loader = DataLoader(files, batch_size=32, sampler=sampler, num_workers=workers, collate_fn=list)
    for _ in range(count):
        began, seen, size = time.monotonic(), set(), 0
        for batch in loader:
            seen.update(index for index, _ in batch)
            size += sum(len(data) for _, data in batch)
        yield len(seen), size, time.monotonic() - began


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", help="a folder, or a store such as s3://bucket/images")
    parser.add_argument("--memory", default="1GiB", help="of the cache before a store")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--untold", action="store_true", help="do not tell the order")
    parser.add_argument("--json", action="store_true", help="a line of JSON an epoch")
    given = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = given.place
        if "://" in folder:
            folder = stack.enter_context(forebay.mount(folder, memory=given.memory)).path
        for files, size, seconds in epochs(folder, given.epochs, given.workers, not given.untold):
            if given.json:
                print(json.dumps({"files": files, "bytes": size, "seconds": seconds}))
            else:
                print(f"{files} files, {size / 1e6:.1f} MB in {seconds:.2f} s: {files / seconds:.0f} files a second")


if __name__ == "__main__":
    main(sys.argv[1:])
