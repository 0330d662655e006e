"""The graph between views: order and cycles."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.plan import Edge, Graph

NAMES = st.sampled_from("abcdefg")


def graph_of(edges: set[tuple[str, str]]) -> Graph:
    names = {name for edge in edges for name in edge}
    return Graph(dict.fromkeys(sorted(names), "view"), tuple(sorted(Edge(*edge) for edge in edges)))


def test_a_view_comes_behind_all_that_it_reads() -> None:
    graph = graph_of({("c", "a"), ("b", "a"), ("c", "b")})
    assert graph.order() == ("c", "b", "a")


def test_a_cycle_is_shown_from_its_first_name_along_what_is_read() -> None:
    graph = graph_of({("a", "b"), ("b", "c"), ("c", "a"), ("x", "a")})
    assert graph.cycles() == (("a", "c", "b", "a"),)


def test_a_view_that_reads_itself_is_a_cycle_of_one() -> None:
    assert graph_of({("a", "a"), ("a", "b")}).cycles() == (("a", "a"),)


def test_two_circles_are_two_cycles() -> None:
    assert graph_of({("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")}).cycles() == (("a", "b", "a"), ("c", "d", "c"))


@given(st.sets(st.tuples(NAMES, NAMES), max_size=15))
def test_the_order_holds_every_view_once_and_keeps_every_edge_outside_of_cycles(edges: set[tuple[str, str]]) -> None:
    graph = graph_of(edges)
    order = graph.order()
    assert sorted(order) == sorted(graph.relations)
    troubled = {name for name in graph.relations if any(graph._cycle(found) for found in {name, *graph.upstream(name)})}
    for edge in graph.edges:
        if edge.reader not in troubled:
            assert order.index(edge.source) < order.index(edge.reader)


@given(st.sets(st.tuples(NAMES, NAMES), max_size=15))
def test_there_is_a_cycle_exactly_if_something_depends_on_itself(edges: set[tuple[str, str]]) -> None:
    graph = graph_of(edges)
    assert bool(graph.cycles()) == any(name in graph.upstream(name) for name in graph.relations)
