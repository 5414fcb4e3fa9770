import dataclasses
import functools
import logging
import os
import random
import re
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.fingerprint import Hasher
from tests.frameworks import framework

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
        one, other = Unhashable(), (number for number in [1])
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


CHANGES = {
    "decorated by a library": "import contextlib\n@contextlib.contextmanager\ndef f(x): yield {}",
    "decorated here": """
        import functools
        def deco(g):
            @functools.wraps(g)
            def w(*a): return g(*a)
            return w
        @deco
        def f(x): return {}
    """,
    "registered": """
        import functools
        @functools.singledispatch
        def f(x): return 1
        @f.register(int)
        def _(x): return {}
    """,
    "nested": "def f(x):\n  def g():\n    return {}\n  return g()",
    "comprehension": "def f(x): return [y + {} for y in x]",
    "text in a generator": "def f(x): return (y == 's{}' for y in x)",
    "text in a lambda": "f = lambda x: 's{}'",
    "default": "def f(x, y={{'a': {}}}): return y",
    "attribute of a class": "class A:\n  K = {}\n  def m(self): return self.K\na = A()\ndef f(x): return a.m()",
    "inherited": "class B:\n  def m(self): return {}\nclass A(B): pass\ndef f(x): return A().m()",
    "metaclass": "class M(type):\n  def k(c): return {}\nclass A(metaclass=M): pass\ndef f(x): return A.k()",
    "cached property": "import functools\nclass A:\n  @functools.cached_property\n  def z(self): return {}\nf = A()",
    "async": "async def f(x): return {}",
    "match": "def f(x):\n  match x:\n    case {}: return 1",
    "global": "C = {{'a': [{}]}}\ndef f(x): return C['a']",
    "enum": "import enum\nclass E(enum.Enum):\n  A = {}\ndef f(x): return E.A",
    "partial": "import functools\ndef g(a, b): return a\nf = functools.partial(g, {})",
    "callable object": "class G:\n  def __init__(self): self.n = {}\n  def __call__(self, x): return x\nf = G()",
}


@pytest.mark.parametrize("source", CHANGES.values(), ids=CHANGES)
def test_whatever_decides_the_result_counts(source):
    one = textwrap.dedent(source).format(1)
    assert hash_(make(one)) == hash_(make("\n\n# why\n" + one))
    assert hash_(make(one)) != hash_(make(textwrap.dedent(source).format(2)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x):\n  'one'\n  return 1", "def f(x):\n  'two'\n  return 1"),
        ("class A:\n  'one'\ndef f(x): return A()", "class A:\n  'two'\ndef f(x): return A()"),
        ("A = 1\ndef f(x): return 1", "A = 2\nB = 3\ndef f(x): return 1"),
        ("def g(): return 1\ndef f(x): return 1", "def g(): return 2\ndef f(x): return 1"),
        ("def f(x: int): return 1", "def f(x: str): return 1"),
    ],
)  # fmt: skip
def test_what_does_not_decide_the_result_does_not_count(one, other):
    assert hash_(make(one)) == hash_(make(other))


class Lazy:
    @functools.cached_property
    def value(self):
        return object()


def test_use_changes_no_hash():
    lazy = Lazy()
    before = hash_(lazy)
    assert lazy.value is lazy.value
    assert hash_(lazy) == before
    remembering = make("import functools\n@functools.lru_cache\ndef f(x): return x")
    dispatching = make("import functools\n@functools.singledispatch\ndef f(x): return x")
    before = hash_([remembering, dispatching])
    remembering(1), dispatching(1)
    assert hash_([remembering, dispatching]) == before


def test_tokenizers():
    tokenizers = pytest.importorskip("tokenizers")

    def make_one(*merges):
        words = {"a": 0, "b": 1, "ab": 2, "aa": 3}
        return tokenizers.Tokenizer(tokenizers.models.BPE(words, list(merges)))

    one = make_one(("a", "b"))
    before = hash_(lambda row: one.encode(row["text"]))
    assert one.encode("abab").ids == [2, 2]
    assert hash_(lambda row: one.encode(row["text"])) == before
    assert hash_(one) == hash_(make_one(("a", "b"))) != hash_(make_one(("a", "a")))


def test_comments_of_an_imported_module_do_not_count(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    f = make("def f(x):\n    import just_made\n    return just_made.g(x)")
    (tmp_path / "just_made.py").write_text("def g(x): return 1")
    before = hash_(f)
    (tmp_path / "just_made.py").write_text("# why\n\ndef g(x): return 1")
    assert hash_(f) == before


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[::2, ::3], lambda a: a[None]])
def test_large_arrays_are_not_copied(view):
    array = view(np.arange(4_000_000.0).reshape(2000, 2000))
    tracemalloc.start()
    try:
        found = hash_([array])
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert found == hash_([np.ascontiguousarray(array)])


def test_large_tables_are_not_copied():
    script = """
        import numpy as np, pyarrow as pa
        from gristmill.fingerprint import Hasher
        # Allocated with room to spare, as by any builder; its rows do not begin at the first.
        table = pa.table({"n": np.arange(10**6), "s": pa.array(["some text"] * 10**6)}).slice(1)
        before = pa.default_memory_pool().max_memory()
        Hasher.hash(table)
        print(pa.default_memory_pool().max_memory() - before)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert int(run.stdout) < 8e6


PROCESS = """
    import collections, dataclasses, enum, functools, logging, re, sys, typing
    import numpy as np, pyarrow as pa
    from gristmill.fingerprint import Hasher
    import local_helpers
    from local_helpers import Tool, used
    N = {"b", "a", "c"}
    log = logging.getLogger("x")
    class Color(enum.Enum):
        RED = 1
    @dataclasses.dataclass(frozen=True)
    class D:
        a: int = 1
        b: set = dataclasses.field(default_factory=lambda: {"q", "r"})
    class Base:
        def m(self): return N
    class Sub(Base):
        __slots__ = ("z",)
        def m(self): return super().m()
        @functools.cached_property
        def big(self): return 1
    class P(typing.NamedTuple):
        a: int
        b: str = "x"
    @functools.lru_cache
    def cached(x): return x in N
    @functools.singledispatch
    def dispatching(x): return N
    def closure(k):
        return lambda x: (k, x, log.info(x))
    things = [
        closure({1, "z"}), functools.partial(closure, k={3, "y"}), Sub().m, Sub, Color.RED, D(), P(1), cached,
        dispatching, used, Tool({"z", "y", "x"}), lambda x: local_helpers.used(x), local_helpers, re.compile("a[bc]"),
        [{1, "a", None, (1, "b")}, frozenset("xyz")], collections.OrderedDict(a={"p", "q"}), np.array([{"a", "b"}], object),
        pa.table({"a": ["x", None]}), np.random.default_rng(3), typing.Optional[int], 2**100, log,
    ]
    print(*[Hasher.hash(thing) for thing in things])
"""

HELPERS = """
    X = {"p", "q"}
    def inner(x): return x in X
    def used(x): return inner(x)
    class Tool:
        def __init__(self, s): self.s = s
        def go(self, x): return used(x)
"""


def test_the_same_wherever_a_program_lies_and_runs(tmp_path):
    runs = set()
    for seed, shift in (("0", ""), ("17", "\n\n# moved\n")):
        folder = tmp_path / seed
        folder.mkdir()
        (folder / "local_helpers.py").write_text(shift + textwrap.dedent(HELPERS))
        (folder / "script.py").write_text(shift + textwrap.dedent(PROCESS))
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        command = [sys.executable, "script.py"]
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        assert not run.stderr
        runs.add(run.stdout)
    assert len(runs) == 1


DOCUMENTED = [
    ("def f(x): {}return x + 1", "'Adds one.'\n    "),
    ("def f(x):\n    {}x.a = None", "'Sets it.'\n    "),
    ("def f(x):\n    {}return [None, 'why', y] if (y := x) else 'why'", "'why'\n    "),
    (
        "def f(x):\n    class A:\n        {}b = 1\n        def m(self): return None\n    return A",
        "'A class.'\n        ",
    ),
    ("class f:\n    def m(self):\n        {}return 1", "'A method.'\n        "),
    ("def f(x):\n    {}def g():\n        {}return None\n    return g", "'Both.'\n    "),
    (
        "def f(x):\n    {}" + "".join(f"x.a{i} = {i}.5\n    " for i in range(300)) + "return None",
        "'Long.'\n    ",
    ),
    (
        "def f(x):\n    {}for y in x:\n        try: yield y\n        except ValueError: yield None",
        "'Jumps.'\n    ",
    ),
]


@pytest.mark.parametrize(("source", "remark"), DOCUMENTED, ids=[str(i) for i in range(len(DOCUMENTED))])
def test_a_docstring_where_none_was_changes_nothing(source, remark):
    if "{}return 1" in source or "def g" in source:
        other = source.replace("{}", remark if "m(self)" in source else remark + "    ")
        other = other.replace(remark + "    def g", remark + "def g")
    else:
        other = source.replace("{}", remark)
    if source.startswith("def f(x): {}"):
        source, other = source.replace(": {}", ":\n    {}"), other.replace(": '", ":\n    '")
    assert hash_(make(source.replace("{}", ""))) == hash_(make(other))


def test_a_constant_that_is_the_docstring_counts():
    assert hash_(make("def f(x):\n    'a'\n    return 'a'")) != hash_(
        make("def f(x):\n    'a'\n    return 'b'")
    )


def test_a_table_is_hashed_by_its_rows_not_by_how_it_is_cut(tmp_path):
    from gristmill.table import InMemoryTable, MemoryMappedTable
    from gristmill.table.arrow_file import write_arrow

    whole = pa.table({"s": ["a", None, "c", "d"] * 50_000, "n": range(200_000)})
    cut = pa.concat_tables(
        [whole.slice(0, 7), whole.slice(7, 0), whole.slice(7, 90_000), whole.slice(90_007)]
    )
    assert hash_(whole) == hash_(cut)
    assert hash_(whole.slice(3)) == hash_(cut.slice(3)) != hash_(whole)
    write_arrow(tmp_path / "a.arrow", whole)
    write_arrow(tmp_path / "b.arrow", cut)
    mapped = MemoryMappedTable.from_file(str(tmp_path / "a.arrow"))
    assert hash_(mapped) == hash_(MemoryMappedTable.from_file(str(tmp_path / "b.arrow")))
    assert hash_(mapped) == hash_(InMemoryTable(cut))
    write_arrow(tmp_path / "a.arrow", whole.slice(1))
    assert hash_(MemoryMappedTable.from_file(str(tmp_path / "a.arrow"))) != hash_(mapped)


def test_torch_modules_and_tensors():
    torch = framework("torch")

    def module(seed, width=3):
        torch.manual_seed(seed)
        return torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU())

    assert hash_(module(1)) == hash_(module(1))
    assert hash_(module(1)) != hash_(module(2))
    assert hash_(module(1)) != hash_(module(1, 5))
    assert hash_(torch.arange(3)) == hash_(torch.arange(3))
    assert hash_(torch.arange(3)) != hash_(torch.arange(3).float())
    assert hash_(torch.arange(6).reshape(2, 3)) != hash_(torch.arange(6).reshape(3, 2))
    assert hash_(torch.arange(6)[::2]) == hash_(torch.tensor([0, 2, 4]))
    one = module(1)
    before = hash_(one)
    one(torch.zeros(2, 4))
    assert hash_(one) == before
    with torch.no_grad():
        one[0].weight[0, 0] += 1
    assert hash_(one) != before
    assert hash_(lambda x, m=one: m(x)) != before


@pytest.mark.parametrize("reduced", [5, (1, 2, 3, 4, 5, 6, 7, 8), (), (list, (), None, 5)])
def test_objects_that_answer_pickle_with_nonsense_get_a_random_hash(reduced):
    class Odd:
        def __reduce_ex__(self, protocol):
            return reduced

    assert Hasher.hash(Odd()) != Hasher.hash(Odd())
