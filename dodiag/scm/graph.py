"""Task graphs: a frozen networkx DAG of unit tasks, with Markov chains that unfold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol

import networkx as nx

from dodiag.problems import UsageError
from dodiag.scm.schema import MAX_STEPS, Chain, Modality, Unit

Edge = tuple[str, str]


class Node(Protocol):
    """What the shape of a graph needs to know of a unit."""

    @property
    def title(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class LaggedEdge:
    """A dependency across chain steps: `child` at step t on `parent` at step t − `lag`."""

    child: str
    parent: str
    lag: int = 1


@dataclass(frozen=True)
class TaskGraph:
    """A task: its units, their dependencies and its Markov chains (CADET Def. 3.1).

    Made by :func:`dodiag.load_task`, which has checked it; nothing changes it afterwards.

    Attributes
    ----------
    name, title, version, modality, category : str
        Slug, what people read, version of the task, kind of media, label of the overall task.
    target : str
        The unit Y.
    units : mapping of str to Unit
        In file order.
    chains : tuple of Chain
        Markov chains; a chain unit is a single node of ``graph``.
    seed : int
        Fixes the incorrect answers that are drawn.
    published : mapping
        Facts about a published benchmark, carried along unread.
    """

    name: str
    title: str
    modality: Modality
    target: str
    units: Mapping[str, Unit]
    chains: tuple[Chain, ...] = ()
    version: str = "1"
    category: str | None = None
    categories: tuple[str, ...] | None = None
    seed: int = 0
    published: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", MappingProxyType(dict(self.units)))
        object.__setattr__(self, "published", MappingProxyType(dict(self.published)))

    def __hash__(self) -> int:
        return hash((self.name, self.target, self.seed, self.chains, frozenset(self.units.items())))

    def __getstate__(self) -> dict[str, Any]:
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return state | {"units": dict(self.units), "published": dict(self.published)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @cached_property
    def graph(self) -> nx.DiGraph[str]:
        """The frozen DAG of lag-0 dependencies; nodes carry ``title`` and ``category``."""
        graph: nx.DiGraph[str] = nx.DiGraph(name=self.name)
        for unit_id, unit in self.units.items():
            graph.add_node(unit_id, title=unit.title, category=unit.category)
        graph.add_edges_from(edges_within_step(self.units, self.chains))
        nx.freeze(graph)
        return graph

    @cached_property
    def lagged_edges(self) -> tuple[LaggedEdge, ...]:
        """The dependencies that close each chain's cycle over one step."""
        return tuple(LaggedEdge(child=chain.units[0], parent=chain.units[-1]) for chain in self.chains)

    @cached_property
    def _chain_by_unit(self) -> dict[str, Chain]:
        return {unit: chain for chain in self.chains for unit in chain.units}

    def chain_of(self, unit: str) -> Chain | None:
        """Return the chain that a unit belongs to, or None."""
        return self._chain_by_unit.get(unit)

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for unit_id, unit in self.units.items():
            chain = self.chain_of(unit_id)
            before = () if chain is None else chain.units[: chain.units.index(unit_id)][-1:]
            found[unit_id] = (*(u for u in before if u not in unit.parents), *unit.parents)
        return found

    def parents(self, unit: str) -> tuple[str, ...]:
        """Return Pa(unit) within a step, in declared order; a chain's own predecessor stands first.

        Raises
        ------
        UsageError
            If the task has no such unit.
        """
        self.require(unit)
        return self._parents[unit]

    def prerequisites(self, unit: str, step: int | None = None) -> tuple[str, ...]:
        """Return the units whose states make up a configuration of `unit`.

        Outside chains these are the parents. The first unit of a chain has the chain's external prerequisites at step
        1 and only the last unit of the previous step afterwards (CADET Def. A.7); a step of None means the graph as
        drawn, that is step 1.

        Examples
        --------
        >>> import dodiag
        >>> maze = dodiag.load_task("maze")
        >>> maze.prerequisites("Y", 1), maze.prerequisites("Y", 2)
        (('X1',), ('Y',))
        """
        chain = self.chain_of(unit)
        if chain is None or unit != chain.units[0] or step is None or step == 1:
            return self.parents(unit)
        return (chain.units[-1],)

    def require(self, unit: str) -> None:
        """Raise UsageError unless the task has this unit."""
        if unit not in self.units:
            raise UsageError(f"task {self.name} has no unit '{unit}'", f"Its units are {', '.join(self.units)}.")

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The units in topological order, ties in file order."""
        place = {unit: index for index, unit in enumerate(self.units)}
        return tuple(nx.lexicographical_topological_sort(self.graph, key=place.__getitem__))

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Units without any prerequisite; a unit that depends on its chain's previous step is no root."""
        lagged = {edge.child for edge in self.lagged_edges}
        return tuple(unit for unit in self.units if not self.parents(unit) and unit not in lagged)

    @cached_property
    def depth(self) -> int:
        """Number of edges on the longest path of the DAG."""
        return int(nx.dag_longest_path_length(self.graph))

    @cached_property
    def category_names(self) -> tuple[str, ...]:
        """The categories of the units, in file order, each once."""
        return tuple(dict.fromkeys(unit.category for unit in self.units.values()))

    def unfold(self, steps: int | None = None) -> nx.DiGraph[str]:
        """Return the explicit graph over `steps` steps (CADET eq. 15), frozen and acyclic.

        Chain units become nodes such as ``X2@3`` with attributes ``unit`` and ``step``; other units keep their id and
        have step None. The first step takes the chain's external prerequisites. A unit outside the chain that has a
        chain unit for a parent depends on that unit at every step, because every step's answer is injected for it.

        Parameters
        ----------
        steps : int, optional
            Number of steps T of every chain, 1 to 10,000; default is each chain's own ``steps``.

        Raises
        ------
        UsageError
            If `steps` is not between 1 and 10,000, or is not given for a chain that names none.
        """
        return unfold(self.units, self.chains, steps)

    def __str__(self) -> str:
        return f"{self.title} ({self.name}: {len(self.units)} units, target {self.target})"


def edges_within_step(units: Mapping[str, Node], chains: tuple[Chain, ...]) -> Iterator[Edge]:
    """Yield the lag-0 dependencies: declared parents, and each chain unit on the one before it."""
    for unit_id, unit in units.items():
        for parent in unit.parents:
            yield parent, unit_id
    for chain in chains:
        yield from zip(chain.units, chain.units[1:], strict=False)


def unfold(units: Mapping[str, Node], chains: tuple[Chain, ...], steps: int | None) -> nx.DiGraph[str]:
    """Return the unfolded graph of :meth:`TaskGraph.unfold`; it may be cyclic where the input was not checked."""
    length: dict[str, int] = {}
    for chain in chains:
        count = steps if steps is not None else chain.steps
        if count is None:
            raise UsageError(f"the chain {', '.join(chain.units)} names no number of steps", "Say how many to unfold.")
        if count < 1:
            raise UsageError(f"cannot unfold {count} steps", "Unfold at least one.")
        if count > MAX_STEPS:
            raise UsageError(f"cannot unfold {count:,} steps", f"Unfold at most {MAX_STEPS:,}.")
        length.update(dict.fromkeys(chain.units, count))

    def copies(unit: str) -> list[str]:
        return [f"{unit}@{t}" for t in range(1, length[unit] + 1)] if unit in length else [unit]

    graph: nx.DiGraph[str] = nx.DiGraph()
    for unit_id, unit in units.items():
        for step, node in enumerate(copies(unit_id), start=1):
            graph.add_node(
                node,
                unit=unit_id,
                step=step if unit_id in length else None,
                title=unit.title,
                category=unit.category,
            )
    first_of_chain = {chain.units[0] for chain in chains}
    same_chain = {unit: chain.units for chain in chains for unit in chain.units}
    for parent, child in edges_within_step(units, chains):
        if parent in same_chain.get(child, ()):
            graph.add_edges_from(zip(copies(parent), copies(child), strict=True))
        else:
            children = copies(child)[:1] if child in first_of_chain else copies(child)
            graph.add_edges_from((p, c) for p in copies(parent) for c in children)
    for chain in chains:
        last, first = copies(chain.units[-1]), copies(chain.units[0])
        graph.add_edges_from(zip(last, first[1:], strict=False))
    nx.freeze(graph)
    return graph
