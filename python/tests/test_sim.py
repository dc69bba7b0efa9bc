"""`forebay.simulate` and `forebay.curve`."""

import json
import os
import pickle
import signal
import subprocess
import threading
from collections import OrderedDict

import forebay
import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
from forebay._mount import command


class MyLRU(forebay.Replacement):
    """LRU as anybody would write it."""

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


class MyFIFO(MyLRU):
    def hit(self, key):
        pass


@pytest.fixture(scope="module")
def ids():
    chance = numpy.random.default_rng(7)
    return numpy.concatenate([chance.zipf(1.2, 30_000) % 3_000, numpy.arange(5_000), chance.integers(0, 500, 10_000)])


def misses(result, policy):
    return [row["misses"] for row in result if row["policy"] == policy]


def test_a_policy_of_ones_own_is_rusts(ids):
    sizes = [1, 2, 10, 0.01, "10%", 2_000, "100%"]
    result = forebay.simulate(ids, ["lru", MyLRU, "fifo", MyFIFO], memory=sizes)
    assert len(result) == 4 * len(sizes)
    assert misses(result, "MyLRU") == misses(result, "lru")
    assert misses(result, "MyFIFO") == misses(result, "fifo")
    assert misses(result, "lru") != misses(result, "fifo")


def test_request_for_request(ids):
    """The misses of all beginnings of a trace are equal, so each request hits or misses alike."""
    for length in range(1, 400):
        result = forebay.simulate(ids[:length], ["lru", MyLRU], memory=20)
        assert misses(result, "MyLRU") == misses(result, "lru"), length


def test_a_curve_of_a_policy_of_ones_own(ids):
    result = forebay.curve(ids, ["lru", MyLRU], points=20)
    assert misses(result, "MyLRU") == misses(result, "lru") and len(misses(result, "lru")) > 10
    with pytest.raises(ValueError, match="leave out sample"):
        forebay.curve(ids, MyLRU, sample="10%")


def test_calls_come_in_their_order():
    calls = []

    class Spy(MyLRU):
        def hit(self, key):
            calls.append(("hit", key))
            super().hit(key)

        def miss(self, key):
            calls.append(("miss", key))

        def insert(self, key):
            calls.append(("insert", key))
            super().insert(key)

        def evict(self):
            calls.append(("evict",))
            return super().evict()

        def remove(self, key):
            calls.append(("remove", key))
            super().remove(key)

    forebay.simulate(numpy.array([70, 80, 70, 90]), Spy, memory=2)
    assert calls == [
        *[("miss", 0), ("insert", 0), ("miss", 1), ("insert", 1), ("hit", 0)],
        *[("miss", 2), ("evict",), ("remove", 1), ("insert", 2)],
    ]


def test_an_exception_comes_out_unchanged(ids):
    class Mine(Exception):
        pass

    raised = Mine("of my own")

    class Broken(MyLRU):
        def evict(self):
            raise raised

    with pytest.raises(Mine) as caught:
        forebay.simulate(ids, Broken, memory=10)
    assert caught.value is raised

    class Late(MyLRU):
        def __init__(self, blocks):
            raise raised

    with pytest.raises(Mine) as caught:
        forebay.simulate(ids, Late, memory=10)
    assert caught.value is raised


@pytest.mark.parametrize(
    "chosen, error", [(10**9, "block 1000000000"), (-1, "not -1"), (None, "not None"), ("x", "not 'x'")]
)
def test_a_policy_that_evicts_something_else(ids, chosen, error):
    class Odd(MyLRU):
        def evict(self):
            return chosen

    with pytest.raises((ValueError, TypeError), match=error):
        forebay.simulate(ids, Odd, memory=10)


def test_a_policy_without_a_choice(ids):
    class Lazy(forebay.Replacement):
        pass

    with pytest.raises(NotImplementedError, match="Lazy has no method evict"):
        forebay.simulate(ids, Lazy, memory=10)
    with pytest.raises(TypeError, match="give the class MyLRU"):
        forebay.simulate(ids, MyLRU(7))
    with pytest.raises(TypeError, match="derived from forebay.Replacement"):
        forebay.simulate(ids, int)
    with pytest.raises(ValueError, match="MyLRU is replayed without time"):
        forebay.simulate(ids, MyLRU, device="ibm-10k")


def by_command(*args):
    done = subprocess.run([command(), "sim", "--json", *args], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def test_it_is_the_command(tmp_path):
    trace = "zipf:objects=2000,requests=20000"
    result = forebay.simulate(trace, ["opt", "lru", "arc"], memory=["1%", "64b"], seed=3)
    assert list(result) == by_command(trace, "--policy", "lru,arc", "--memory", "1%,64b", "--seed", "3")
    timed = forebay.simulate(trace, "linux+lru", "1MiB", "ibm-10k", [1, 4], placement="scattered")
    line = ["--policy", "linux+lru", "--memory", "1MiB", "--device", "ibm-10k", "--handlers", "1,4"]
    assert list(timed) == by_command(trace, *line, "--placement", "scattered")
    curves = forebay.curve(trace, ["opt", "lru"], points=9)
    assert list(curves) == by_command(trace, "--curve", "opt,lru", "--points", "9")
    assert forebay.simulate(trace)[0]["policy"] == "lru"


def test_traces_come_from_anywhere(tmp_path, ids):
    expected = list(forebay.simulate(ids, "lru", memory=100)[0].values())[1:6]

    def counts(trace):
        return list(forebay.simulate(trace, "lru", memory=100)[0].values())[1:6]

    for kind in ["int64", "uint64", "int32", "uint32", "uint16"]:
        assert counts(ids.astype(kind)) == expected, kind
    assert counts(memoryview(ids.astype("int64"))) == expected
    assert counts(forebay.Trace.of_ids(ids)) == expected and len(forebay.Trace.of_ids(ids)) == len(ids)
    table = pyarrow.table({"file": ids})
    for trace in [table, polars.DataFrame({"file": ids}), pandas.DataFrame({"file": ids}), table.to_reader(1000)]:
        assert counts(trace) == expected
    assert counts(pyarrow.table({"file": [f"name {number}" for number in ids]})) == expected
    ids.astype("<u8").tofile(tmp_path / "trace.bin")
    assert counts_of_file(tmp_path / "trace.bin") == expected


def counts_of_file(path):
    return list(forebay.simulate(path, "lru", memory=100, format="u64")[0].values())[1:6]


def test_columns_of_a_trace():
    table = pyarrow.table(
        {
            "file": [1, 1, 2, 1],
            "offset": [0, 8192, 0, 0],
            "length": [8192, 4096, 1, 1],
            "time": [0.0, 0.5, 1.0, 1.5],
            "operation": ["read", "write", "r", "READ"],
            "handler": pyarrow.array([1, 1, 2, 1], pyarrow.int16()),
        }
    )
    result = forebay.simulate(table, "lru", memory=10)
    assert (result[0]["requests"], result[0]["misses"]) == (5, 4)
    reads = forebay.simulate(table, "lru", memory=10, reads_only=True)
    assert (reads[0]["requests"], reads[0]["misses"]) == (4, 3)
    timed = forebay.simulate(table, "lru", "1MiB", "ibm-10k", open=True)
    assert timed[0]["seconds"] >= 1.5
    for wrong, words in [
        ({"file": [1], "colour": [2]}, "no column 'colour'; known are time, file"),
        ({"offset": [1]}, "no column 'file'"),
        ({"file": [-1]}, "column 'file'.*whole numbers"),
        ({"file": [1, None]}, "without nulls"),
        ({"file": [1.5]}, "not Float64|not double"),
        ({"file": [1], "length": [1 << 40]}, "length 1099511627776 is above"),
        ({"file": [1], "offset": [-1]}, "column 'offset'.*without nulls: it has a number below 0"),
        ({"file": [1], "offset": [0.5]}, "column 'offset'.*without nulls: not Float64"),
        ({"file": [1, None], "offset": [1, 2]}, "column 'file'.*: it has a null"),
        ({"file": [1, 2], "time": [0.5, float("nan")]}, "row 1 of the trace: time NaN is no number of seconds"),
        ({"file": [1], "time": [-0.5]}, "row 0 of the trace: time -0.5 is no number of seconds"),
        ({"file": [1], "operation": ["x"]}, "'operation' of the trace has \"x\";"),
        ({"file": [1, 2], "operation": ["read", None]}, "'operation' of the trace has a null;"),
        ({"file": [1], "operation": [2]}, "'operation'"),
    ]:
        with pytest.raises(ValueError, match=words):
            forebay.simulate(pyarrow.table(wrong), "lru")


def test_wrong_inputs_name_themselves(tmp_path):
    some = numpy.array([1, 2])
    with pytest.raises(FileNotFoundError, match="no-such-trace"):
        forebay.simulate(tmp_path / "no-such-trace")
    with pytest.raises(TypeError, match="no option 'memroy'; known are .*block_bytes"):
        forebay.simulate(some, memroy=1)
    for hidden in ["json", "csv", "plot"]:
        with pytest.raises(TypeError, match="no option"):
            forebay.simulate(some, **{hidden: True})
    with pytest.raises(ValueError, match="unknown algorithm 'psychic'; known are opt, lru"):
        forebay.simulate(some, "psychic")
    with pytest.raises(ValueError, match="'much' is no size"):
        forebay.simulate(some, memory="much")
    with pytest.raises(ValueError, match="no-such-device"):
        forebay.simulate(some, "lru", "1MiB", "no-such-device")
    with pytest.raises(ValueError, match="negative"):
        forebay.simulate(numpy.array([-1]))
    with pytest.raises(ValueError, match="one dimension"):
        forebay.simulate(numpy.zeros((2, 2), dtype=int))
    with pytest.raises(TypeError, match="whole numbers"):
        forebay.simulate(numpy.array([1.5]))
    for wrong in [7, None, object()]:
        with pytest.raises(TypeError, match="a trace is a path"):
            forebay.simulate(wrong)
    for wrong in [True, [True], object(), {}]:
        with pytest.raises(TypeError):
            forebay.simulate(some, memory=wrong)
    with pytest.raises(ValueError):
        forebay.simulate(some, memory=1.5)


@pytest.mark.parametrize("option", ["policy", "memory", "device", "handlers", "scheduler"])
def test_an_empty_list_is_no_default(option):
    some = numpy.array([1, 2])
    for empty in [[], ()]:
        with pytest.raises(ValueError, match=f"option '{option}' is an empty list"):
            forebay.simulate(some, **{option: empty})
    if option in ("policy", "memory"):
        with pytest.raises(ValueError, match=f"option '{option}' is an empty list"):
            forebay.curve(some, **{option: []})
        with pytest.raises(ValueError, match=f"option '{option}' is an empty list"):
            forebay.simulate(some, **{"policy": MyLRU, option: []})


def test_a_result_is_a_table(ids):
    result = forebay.simulate(ids, ["lru", "arc"], memory=[10, 100])
    assert len(result) == 4 and result[-1]["policy"] == "arc" and len(result[1:3]) == 2
    assert pickle.loads(pickle.dumps(result)) == result and result[:2] + result[2:] == result
    table = pyarrow.table(result)
    assert table.to_pylist() == list(result)
    assert table.schema.field("misses").type == pyarrow.int64()
    assert polars.DataFrame(result).to_dicts() == list(result)
    assert result.to_pandas().to_dict("records") == list(result)
    import duckdb

    assert duckdb.sql("SELECT sum(misses) FROM result").fetchall() == [
        (sum(misses(result, "lru") + misses(result, "arc")),)
    ]
    page = result._repr_html_()
    assert page.count("<tr>") == 5 and "miss_ratio" in page
    assert repr(result).splitlines()[0].split()[:2] == ["policy", "capacity_blocks"]
    assert "<script>" not in forebay.Result([{"policy": "<script>"}])._repr_html_()
    mixed = forebay.Result([{"a": 1, "b": None}, {"a": 2.5, "c": True, "d": [1]}])
    assert pyarrow.table(mixed).to_pydict() == {
        "a": [1.0, 2.5],
        "b": [None, None],
        "c": [None, True],
        "d": [None, "[1]"],
    }
    assert repr(forebay.Result([])) == "Result([])" and pyarrow.table(forebay.Result([])).num_rows == 0
    row = result[0]
    row["policy"] = "changed"
    assert result[0]["policy"] == "lru"


def test_a_result_is_drawn(ids):
    curves = forebay.curve(ids, ["lru", "fifo"], points=5)
    axes = curves.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["lru", "fifo"]
    assert axes.get_xlabel() == "capacity blocks"
    assert curves.plot(ax=axes) is axes
    timed = forebay.simulate("zipf:objects=100,requests=500", "lru", "64KiB", "ibm-10k", [1, 2])
    assert timed.plot().get_xlabel() == "handlers"
    with pytest.raises(ValueError, match="no column 'colour'"):
        curves.plot(x="colour")


def test_ctrl_c_ends_a_simulation():
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        forebay.simulate("zipf:objects=1000000,requests=4000000000", "lru")
    timer.join()


def test_other_threads_go_on(ids):
    counted = 0
    over = threading.Event()

    def count():
        nonlocal counted
        while not over.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    forebay.simulate("zipf:objects=100000,requests=3000000", ["lru", "arc", "sieve"])
    after = counted
    over.set()
    thread.join()
    assert after > before + 100
