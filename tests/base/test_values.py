"""Our dataclasses behave as the standard ones do."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from typing import get_type_hints

import pytest

import wheelfix.model
from wheelfix.base.values import FEW, as_tree, dataclass, field, frozen, is_value, replace
from wheelfix.model import Finding


@frozen
class Point:
    """Two numbers and a remark that does not count."""

    x: int
    y: int = 0
    remark: str = field(default="", compare=False)
    shade: str = field(default="", hash=False)


@frozen
class Deep(Point):
    """One more number."""

    z: int = 0


@frozen
class Nothing:
    """No field at all."""


@dataclass
class Tally:
    """Something that changes."""

    count: int = 0
    secret: str = field(default="", repr=False)


@dataclass
class Basket:
    """Something that makes its own content, and counts it."""

    label: str
    items: list[str] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        self.count = len(self.items)


@dataclass
class Open:
    """Something with a name."""

    name: str
    size: int = 3


def test_defaults_are_made_anew():
    first, second = Basket("a"), Basket("b", ["x"])
    first.items.append("y")
    assert (first.items, second.items, Basket("c").items, second.count) == (["y"], ["x"], [], 1)
    assert Open("x") == Open(name="x", size=3)


def test_the_first_objects_are_made_like_all_others():
    made = [Open("x", size=number) for number in range(3 * FEW)]
    assert [one.size for one in made] == [*range(3 * FEW)]
    assert len({one.name for one in made} | {Open("x").name}) == 1
    assert Open.__init__ is not Basket.__init__


def test_somebody_may_wrap_the_making():
    @dataclass
    class Wrapped:
        name: str

    made, plain = [], Wrapped.__init__

    def init(self: Wrapped, name: str) -> None:
        plain(self, name)
        made.append(self.name)

    Wrapped.__init__ = init  # type: ignore[method-assign]
    assert [Wrapped("a").name, Wrapped("b").name] == made == ["a", "b"]


def test_wrong_arguments_are_refused_by_name():
    for _ in range(2):  # the first object makes the function that refuses
        with pytest.raises(TypeError, match=r"Basket.__init__\(\) missing 1 required .*'label'"):
            Basket()  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
            Basket("a", colour="red")  # type: ignore[call-arg]


def test_equal_values_are_equal():
    assert Point(1, 2, "here") == Point(1, 2, "there")
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 2) != Deep(1, 2)
    assert Point(1, 2) != (1, 2)
    assert Nothing() == Nothing()
    assert Tally(1) == Tally(1)


def test_frozen_values_have_a_hash():
    assert hash(Point(1, 2, "here")) == hash(Point(1, 2, "there"))
    assert hash(Point(1, 2, shade="red")) == hash(Point(1, 2, shade="blue"))
    assert Point(1, 2, shade="red") != Point(1, 2, shade="blue")
    assert len({Point(1), Point(1), Deep(1), Nothing(), Nothing()}) == 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(Tally())


def test_the_standard_tools_know_them():
    assert replace(Point(1, 2), y=5) == Point(1, 5)
    assert dataclasses.asdict(Deep(1)) == {"x": 1, "y": 0, "remark": "", "shade": "", "z": 0}
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.replace(Deep(1), z=4) == Deep(1, z=4)
    assert [(one.name, one.type) for one in dataclasses.fields(Tally)] == [("count", "int"), ("secret", "str")]
    assert get_type_hints(Point) == {"x": int, "y": int, "remark": str, "shade": str}
    assert is_value(Point)
    assert is_value(Point(1))
    assert not is_value("x")
    assert copy.deepcopy(Deep(1, z=2)) == pickle.loads(pickle.dumps(Deep(1, z=2))) == Deep(1, z=2)
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)


def test_a_tree_is_what_json_has():
    @frozen
    class Shape:
        name: str
        points: tuple[Point, ...] = ()
        marks: dict[str, tuple[int, ...]] = field(default_factory=dict)

    assert as_tree(Shape("a", (Point(1, 2),), {"b": (3,)})) == {
        "name": "a",
        "points": [{"x": 1, "y": 2, "remark": "", "shade": ""}],
        "marks": {"b": [3]},
    }


@pytest.mark.parametrize("name", ["x", "remark", "colour"])
def test_frozen_means_frozen(name):
    point = Deep(1, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(point, name, 5)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
        delattr(point, name)
    assert point == Deep(1, 2)


def test_a_value_may_keep_what_it_computed():
    @frozen
    class Label:
        text: str = "a"

        @functools.cached_property
        def shout(self) -> str:
            return self.text.upper()

    label = Label("b")
    assert (label.shout, vars(label), label == Label("b"), copy.copy(label)) == (
        "B",
        {"text": "b", "shout": "B"},
        True,
        label,
    )


def test_facts_are_frozen():
    values = [one for one in vars(wheelfix.model).values() if isinstance(one, type) and dataclasses.is_dataclass(one)]
    assert Finding in values
    assert [one for one in values if one.__hash__ is None] == [], "one that is not frozen has no hash"
