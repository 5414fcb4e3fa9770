import dataclasses
import functools
import logging
import os
import random
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.fingerprint import Hasher

FACTOR = 3
hash_ = Hasher.hash


def scale(x):
    return x * FACTOR


def twice(x):
    return scale(scale(x))


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner), st.tuples(inner, inner)),
    max_leaves=20,
)


def rebuilt(value):
    """The same value with no object shared with the original."""
    if isinstance(value, dict):
        return {"".join(list(k)): rebuilt(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rebuilt(v) for v in value]
    if isinstance(value, tuple):
        return tuple(rebuilt(v) for v in value)
    return "".join(list(value)) if isinstance(value, str) else value


def same(a, b):
    """Equal with equal types, unlike 1 == True == 1.0 and 0.0 == -0.0."""
    return repr(a) == repr(b)


@given(plain)
def test_the_hash_depends_on_content_not_on_identity(value):
    assert hash_(value) == hash_(rebuilt(value))
    assert hash_([value, value]) == hash_([value, rebuilt(value)])


@given(plain, plain)
def test_different_values_have_different_hashes(a, b):
    assert (hash_(a) == hash_(b)) == same(a, b)


@given(st.sets(st.one_of(st.integers(), st.text())))
def test_sets_have_no_order(values):
    forward, backward = list(values), list(values)[::-1]
    assert hash_(set(forward)) == hash_(set(backward))
    assert hash_({"a": set(forward)}) == hash_({"a": set(backward)})
    assert hash_(frozenset(forward)) == hash_(frozenset(backward))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), ("a", b"a"), ([1], (1,)), ([], {}), ([[1], 2], [[1, 2]]), ({"a": 1}, {"a": 2}),
        (np.array([1, 2]), np.array([1, 3])), (np.array([1], np.int32), np.array([1], np.int64)),
        (np.zeros((2, 3)), np.zeros((3, 2))), (np.array(["a"], object), np.array(["b"], object)),
        ([np.float32(1)], [np.float64(1)]), (pa.array([1]), pa.array([2])), (pa.array([1]), pa.array([1], pa.int8())),
        (pa.table({"a": [1]}), pa.table({"b": [1]})), (pa.array([1, None]), pa.array([1, 0])),
        (re.compile("a"), re.compile("a", re.IGNORECASE)), (functools.partial(scale, 1), functools.partial(scale, 2)),
        (random.Random(1), random.Random(2)), (range(3), range(4)), ({1, 2}, {1, 3}),
    ],
)  # fmt: skip
def test_things_that_differ(one, other):
    assert hash_(one) == hash_(one)
    assert hash_(one) != hash_(other)


def test_arrays_and_tables_are_hashed_by_what_they_show():
    base = np.arange(20)
    assert hash_(base[::2]) == hash_(np.arange(0, 20, 2))
    assert hash_(base.reshape(4, 5).T) == hash_(np.ascontiguousarray(base.reshape(4, 5).T))
    table = pa.table({"s": [f"{i}" for i in range(100)], "n": [None, *range(99)]})
    assert hash_(table.slice(10, 5)) == hash_(pa.table(table.slice(10, 5).to_pydict()))
    assert hash_(table["s"].chunk(0).slice(3, 2)) == hash_(pa.array(["3", "4"]))


def make(source, **names):
    names = {"__name__": "made", **names}
    exec(compile(textwrap.dedent(source), "/somewhere/made.py", "exec"), names)
    return names["f"]


def test_functions_are_hashed_by_their_code():
    assert hash_(make("def f(x): return x + 1")) == hash_(
        make("\n\n\ndef f(x):\n    # why\n    return x + 1")
    )
    assert hash_(make("def f(x): return x + 1")) != hash_(make("def f(x): return x + 2"))
    assert hash_(make("def f(x): return x + 1")) != hash_(make("def f(x): return x - 1"))
    assert hash_(make("def f(x): return x.a")) != hash_(make("def f(x): return x.b"))
    assert hash_(make("f = lambda x: [y for y in x if y > 1]")) != hash_(
        make("f = lambda x: [y for y in x if y > 2]")
    )
    assert hash_(make("def f(x):\n  try: g(x)\n  except ValueError: pass")) != hash_(
        make("def f(x):\n  try: g(x)\n  except TypeError: pass")
    )


def test_what_a_function_depends_on_counts():
    assert hash_(make("def f(x, n=1): return n")) != hash_(make("def f(x, n=2): return n"))
    assert hash_(make("def f(x, *, n=1): return n")) != hash_(make("def f(x, *, n=2): return n"))
    assert hash_(make("def f(x): return N", N=1)) != hash_(make("def f(x): return N", N=2))
    assert hash_(make("def f(x): return N", N=1, M=1)) == hash_(make("def f(x): return N", N=1, M=2))
    assert hash_(make("def f(x): return [N for _ in x]", N=1)) != hash_(
        make("def f(x): return [N for _ in x]", N=2)
    )
    helper = "def g(x): return x + {}\ndef f(x): return g(x)"
    assert hash_(make(helper.format(1))) != hash_(make(helper.format(2)))
    chain = "def h(x): return {}\ndef g(x): return h(x)\ndef f(x): return g(x)"
    assert hash_(make(chain.format(1))) != hash_(make(chain.format(2)))
    closure = "def o(n):\n    def i(x): return n\n    return i\nf = o({})"
    assert hash_(make(closure.format(1))) != hash_(make(closure.format(2)))
    method = "class A:\n    def m(self): return {}\ndef f(x): return A().m()"
    assert hash_(make(method.format(1))) != hash_(make(method.format(2)))
    state = "class A:\n    def __init__(self, n): self.n = n\n    def m(self, x): return self.n\nf = A({}).m"
    assert hash_(make(state.format(1))) != hash_(make(state.format(2)))


def test_a_changed_global_changes_the_hash(monkeypatch):
    before = hash_(twice)
    assert hash_(twice) == before
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 4)
    assert hash_(twice) != before


def test_attributes_with_the_name_of_a_global_do_not_count():
    source = "def f(x): return x.path"
    assert hash_(make(source, path="a")) == hash_(make(source, path="b"))


def test_only_what_is_used_of_a_module_counts(tmp_path, monkeypatch):
    module = type(sys)("helpers")
    module.__file__ = str(tmp_path / "helpers.py")
    exec(compile("def used(): return 1\ndef other(): return 1", module.__file__, "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, "helpers", module)
    f = make("def f(x): return helpers.used()", helpers=module)
    before = hash_(f)
    exec(compile("def other(): return 2", module.__file__, "exec"), module.__dict__)
    assert hash_(f) == before
    exec(compile("def used(): return 2", module.__file__, "exec"), module.__dict__)
    assert hash_(f) != before


def test_an_import_inside_a_function_counts(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    f = make("def f(x):\n    from lately_made import g\n    return g(x)")
    (tmp_path / "lately_made.py").write_text("def g(x): return 1")
    before = hash_(f)
    (tmp_path / "lately_made.py").write_text("def g(x): return 2")
    assert hash_(f) != before


def test_functions_that_call_each_other_end():
    source = "def g(x): return f(x - 1)\ndef f(x): return g(x) if x else {}"
    assert hash_(make(source.format(1))) == hash_(make(source.format(1)))
    assert hash_(make(source.format(1))) != hash_(make(source.format(2)))


@dataclasses.dataclass
class Settings:
    size: int = 1
    names: list = dataclasses.field(default_factory=list)


def test_objects_are_hashed_by_class_and_state():
    assert hash_(Settings()) == hash_(Settings())
    assert hash_(Settings(1, ["a"])) != hash_(Settings(1, ["b"]))
    assert hash_(logging.getLogger("a")) != hash_(logging.getLogger("b"))
    ring: list = [1]
    ring.append(ring)
    assert hash_(ring) == hash_(ring)


def test_wrapped_functions_are_hashed_by_what_they_wrap():
    one = make("import functools\n@functools.lru_cache\ndef f(x): return x + 1")
    other = make("import functools\n@functools.lru_cache\ndef f(x): return x + 2")
    again = make("import functools\n@functools.lru_cache\ndef f(x): return x + 1")
    assert hash_(one) == hash_(again) != hash_(other)


def test_what_can_not_be_hashed_is_random_and_named_once(caplog):
    class Unhashable:
        def __reduce_ex__(self, protocol):
            raise TypeError("no")

    root = logging.getLogger("gristmill")
    root.addHandler(caplog.handler)
    try:
        one, other = Unhashable(), threading.Lock()
        assert hash_(one) != hash_(one)
        assert hash_([other]) != hash_([other])
    finally:
        root.removeHandler(caplog.handler)
    assert len([r for r in caplog.records if "Unhashable" in r.getMessage()]) == 1


def test_deep_nesting_ends():
    value: list = []
    for _ in range(100_000):
        value = [value]
    assert len(hash_(value)) == 16


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_same_in_every_process(seed):
    script = """
        import sys, re, functools, numpy as np
        from gristmill.fingerprint import Hasher
        N = {"b", "a", "c"}
        def g(x, k=frozenset(["x", "y", "z"])): return k in {"p", "q", "r"}
        class A:
            names = {"one", "two", "three"}
            def m(self): return g(1)
        def f(x): return N, g(x), A, re.compile("a"), functools.partial(g, 1), [y for y in x if y in {"u", "v", "w"}]
        print(Hasher.hash([f, A(), {"k": {1, "z"}}, np.arange(5)]))
    """
    runs = set()
    for other in ("17", seed):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": other,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        command = [sys.executable, "-c", textwrap.dedent(script)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
        runs.add(run.stdout)
    assert len(runs) == 1
