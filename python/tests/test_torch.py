"""`forebay.torch.Ordered`: orders are told whole, and yielded as they were drawn."""

import os
import pickle
import random
import subprocess
import sys

import forebay.torch
import pytest
from control import FakeMount, Socket
from forebay.torch import Ordered


class Sampler:
    """As PyTorch's RandomSampler: another order in each epoch."""

    def __init__(self, count):
        self.count = count
        self.chance = random.Random(7)
        self.epoch = None

    def __iter__(self):
        yield from self.chance.sample(range(self.count), self.count)

    def __len__(self):
        return self.count

    def set_epoch(self, epoch):
        self.epoch = epoch


class Batches(Sampler):
    batch_size = 3

    def __iter__(self):
        order = list(super().__iter__())
        for start in range(0, len(order), 3):
            yield order[start : start + 3]


def test_an_epoch_is_told_whole_before_its_first_index(monkeypatch):
    paths = [f"images/{number}" for number in range(100)]
    with Socket() as control:
        sampler = Ordered(Sampler(100), paths, cache=FakeMount(monkeypatch, control), list="epoch")
        for _ in range(2):
            drawn = iter(sampler)
            first = next(drawn)
            order = [first, *drawn]
            assert sorted(order) == list(range(100))
            assert [line["path"] for line in control.lists["epoch"]] == [paths[index] for index in order]
        assert len(sampler) == 100
        sampler.set_epoch(5)
        assert sampler.sampler.epoch == 5


def test_a_long_epoch_is_told_as_it_goes_on(monkeypatch):
    monkeypatch.setattr(forebay.torch, "AHEAD", 1000)
    with Socket() as control:
        sampler = Ordered(Batches(4500), str, cache=FakeMount(monkeypatch, control), list="epoch")
        order, told = [], []
        for batch in sampler:
            order += batch
            told.append(len(control.lists["epoch"]) - len(order))
        assert [line["path"] for line in control.lists["epoch"]] == [str(index) for index in order]
        assert max(told) < 2000 and all(ahead > 990 for ahead in told[:1000])


def test_batches_functions_and_folders(monkeypatch):
    with Socket() as control:
        data = FakeMount(monkeypatch, control)
        sampler = Ordered(
            Batches(10), lambda index: (f"{data.path}/{index}", 100 * index, 100 * index + 100), cache=data.path
        )
        order = [index for batch in sampler for index in batch]
        [told] = control.lists.values()
        assert told == [{"path": str(index), "start": 100 * index, "end": 100 * index + 100} for index in order]
        assert sampler.batch_size == 3
        with pytest.raises(AttributeError):
            sampler.colour


def test_a_cache_in_the_process(folder):
    place, made = folder
    names = list(made)
    with forebay.Cache(place, memory="32MiB") as cache:
        for _ in range(2):
            for index in Ordered(Sampler(len(names)), names, cache=cache):
                assert cache.read(names[index]) == made[names[index]]
        assert [told["accepted"] for told in cache.hints()] == [len(names)] * 2


def test_what_cannot_be_told(folder):
    place, made = folder
    for wrong in [None, 3]:
        with pytest.raises(TypeError, match="cache is a forebay.Mount"):
            Ordered(range(2), ["a", "b"], cache=wrong)
    with pytest.raises(TypeError, match="paths are a sequence"):
        Ordered(range(2), {"a", "b"}, cache=place)
    with pytest.raises(OSError, match="it is no forebay mount, or one without"):
        list(Ordered(range(1), list(made), cache=place))


def test_it_is_copied_to_workers():
    copy = pickle.loads(pickle.dumps(Ordered(Sampler(3), ["a", "b", "c"], cache="/mnt")))
    assert len(copy) == 3 and copy.paths == ["a", "b", "c"]


def test_it_imports_no_torch(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('torch was imported')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", "import forebay.torch"], check=True, env=environment)
