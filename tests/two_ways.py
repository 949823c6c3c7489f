"""Whether the two sides of a comparison in a claim come by different ways: read from its program.

A side is followed back through the assignments of its function to the calls that it is made of;
functions of a chapter's folder are followed inside, those of the library are where a way ends.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from tformer_book.claims.registry import Claim

Function = Callable[..., Any]
LIBRARY = ("reference", "fast", "models", "training", "experiments", "tokens", "exercises")
"""Where what a claim speaks of is computed."""
GIVEN = {"initialise", "tree_map", "leaves", "load", "stored"}
INSTRUMENTS = {"mean_interval", "median_interval", "hoeffding_margin", "bernstein_margin"}
"""What makes the things that are computed with, or measures them: neither is what is judged."""
GROWS = {"append", "add", "setdefault", "extend"}
JUDGES = {"near", "identity", "array_equal", "allclose", "subtract", "isclose"}
JUDGES |= {"assert_allclose", "assert_array_equal"}
"""Functions that compare their first two arguments."""
SPREADS = {"ptp", "diff", "std", "var"}
"""Functions that compare the parts of their first argument."""
SIZES = {"abs", "norm", "square", "fabs"}
"""Functions that say how large a difference is."""
MANY = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.DictComp)
"""What holds more than one value."""


class Held(NamedTuple):
    """One comparison of a claim, and the functions of the library on either side of it alone."""

    where: str
    line: str
    one: frozenset[str]
    other: frozenset[str]
    exact: bool
    """Whether it says that both are the same, and not that one is smaller."""


def comparisons(claim: Claim) -> Iterator[Held]:
    """All comparisons of a claim; a call that both sides go back to is on neither."""
    for function in own(inspect.unwrap(claim.verification)):
        body = body_of(function)
        for one, other, exact in body.comparisons():
            left, right = body.calls(one), body.calls(other)
            apart = body.apart(one, other)
            same = {x for x in left & right if not (body.repeated(x) or apart & body.within(x))}
            sides = [frozenset().union(*map(body.reached, side - same)) for side in (left, right)]
            where = f"{function.__module__.partition('.')[2]}.{function.__name__}"
            yield Held(where, f"{ast.unparse(one)} | {ast.unparse(other)}", *sides, exact)


def shared(claim: Claim) -> dict[str, list[str]]:
    """Functions that a claim compares with themselves alone, and where it does."""
    held = list(comparisons(claim))
    found: dict[str, list[str]] = {}
    for one in held:
        for name in one.one & one.other:
            found.setdefault(name, []).append(f"{one.where}: {one.line}")
    for one in held:
        if one.exact:
            for name in one.one ^ one.other:
                found.pop(name, None)
    return found


def stored(claim: Claim) -> set[str]:
    """Functions that read what was stored of runs, to which a claim comes."""
    seen, todo = set(), [inspect.unwrap(claim.verification)]
    while todo:
        for called in body_of(todo.pop()).named:
            if called not in seen and called.__module__.startswith("tformer_book.chapters.ch"):
                todo.append(called)
            seen.add(called)
    return {one.__module__ for one in seen if one.__name__ == "stored"}


def own(function: Function) -> list[Function]:
    """A verification, and what it calls of the claims' files that compares something itself."""
    found = [function]
    for one in found:
        for called in body_of(one).named:
            if ".claims" in called.__module__ and called.__module__.startswith(
                "tformer_book.chapters"
            ):
                found += [called] if called not in found else []
    return found


class Body:
    """A function as it is written, and what its names stand for."""

    def __init__(self, function: Function) -> None:
        self.function = function
        (self.tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        arguments = self.tree.args  # type: ignore[attr-defined]
        each = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.made: dict[str, list[ast.expr]] = {one.arg: [] for one in each}
        self.inner: dict[str, ast.AST] = {}
        for node in ast.walk(self.tree):
            for target, value in _assigned(node):
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        self.made.setdefault(name.id, []).append(value)
            if isinstance(node, ast.FunctionDef) and node is not self.tree:
                self.inner[node.name] = node
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def comparisons(self) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
        """Pairs of expressions that are held to each other, and whether they are to be the same."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare) and len(node.comparators) == 1:
                other = node.comparators[0]
                equal = isinstance(node.ops[0], ast.Eq) and not isinstance(other, ast.Constant)
                yield node.left, other, equal
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                if self._measured(node):
                    yield node.left, node.right, True
            elif isinstance(node, ast.Call) and _last(node.func) in JUDGES and len(node.args) > 1:
                yield node.args[0], node.args[1], True
            elif isinstance(node, ast.Call) and _last(node.func) in SPREADS and node.args:
                yield node.args[0], node.args[0], True

    def _measured(self, node: ast.AST) -> bool:
        """Whether the size of a difference is taken, there or where its name stands."""
        above = self.parents.get(node)
        if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
            name = above.targets[0].id
            return any(
                isinstance(use, ast.Name) and use.id == name and self._sized(use)
                for use in ast.walk(self.tree)
            )
        return self._sized(node)

    def _sized(self, node: ast.AST) -> bool:
        above = self.parents.get(node)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Pow):
            return above.left is node
        return isinstance(above, ast.Call) and _last(above.func) in SIZES

    def apart(self, one: ast.AST, other: ast.AST) -> set[str]:
        """The names of many values of which the sides take different ones."""
        if one is other:  # the parts of one value
            return {x.id for x in ast.walk(one) if isinstance(x, ast.Name)} | {""}
        taken = [self._taken(side) for side in (one, other)]
        return {name for name in taken[0].keys() & taken[1] if taken[0][name] != taken[1][name]}

    def _taken(self, expression: ast.AST) -> dict[str, set[str]]:
        """Of names that stand for many values, which of these an expression takes."""
        found: dict[str, set[str]] = {}
        for node in ast.walk(expression):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, set()).add(ast.unparse(node.slice))
            if isinstance(node, ast.Name):
                for name in self.drawn.get(node.id, ()):
                    found.setdefault(name, set()).add(node.id)
        return found

    @cached_property
    def drawn(self) -> dict[str, set[str]]:
        """Of each name that takes one value after another, the names of what it takes them from."""
        found: dict[str, set[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.For | ast.comprehension):
                for target, value in _assigned(node):
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            names = {x.id for x in ast.walk(value) if isinstance(x, ast.Name)}
                            found.setdefault(name.id, set()).update(names)
        return found

    def within(self, site: ast.Call) -> set[str]:
        """The names of many values of which a call makes some; "" if they have no name."""
        node: ast.AST | None = site
        found: set[str] = set()
        many = False
        while node is not None and node is not self.tree:
            many |= isinstance(node, MANY)
            if isinstance(node, ast.Assign) and many:
                found |= {x.id for x in node.targets if isinstance(x, ast.Name)}
            if isinstance(node, ast.Call) and many and _last(node.func) in GROWS:
                found |= {x.id for x in ast.walk(node.func) if isinstance(x, ast.Name)}
            node = self.parents.get(node)
        return found | ({""} if many and not found else set())

    def calls(self, expression: ast.AST) -> frozenset[ast.Call]:
        """All calls that an expression is made of, through the names in it."""
        found: set[ast.Call] = set()
        names: set[str] = set()
        todo: list[ast.AST] = [expression]
        while todo:
            for node in ast.walk(todo.pop()):
                if isinstance(node, ast.Call):
                    found.add(node)
                if isinstance(node, ast.Name) and node.id not in names:
                    names.add(node.id)
                    todo += self.made.get(node.id, [])
                    todo += [self.inner[node.id]] if node.id in self.inner else []
        return frozenset(found)

    def repeated(self, site: ast.Call) -> bool:
        """Whether a call stands in a comprehension that is unpacked, or in a function within."""
        node: ast.AST | None = site
        while node is not None and node is not self.tree:
            if isinstance(node, ast.GeneratorExp | ast.ListComp):
                above = self.parents.get(node)
                if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Tuple):
                    return True
            if isinstance(node, ast.FunctionDef | ast.Lambda):
                return True
            node = self.parents.get(node)
        return False

    def reached(self, site: ast.Call) -> frozenset[str]:
        """The functions of the library that a call comes to."""
        found = {name for value in self.values(site.func, made=True) for name in library(value)}
        for part in site.args:  # functions that are handed over are called
            found |= {name for value in self.values(part) for name in library(value)}
        return frozenset(found)

    def values(self, part: ast.expr, made: bool = False) -> Iterator[Any]:
        """What a name may stand for, also one that the function gives to a function.

        With `made` also what a function was made of that is called.
        """
        if isinstance(part, ast.Name | ast.Attribute):
            yield self.value(part)
        if isinstance(part, ast.Call):
            yield from self.looked_up(part)
        names = (ast.IfExp, ast.Name, ast.Attribute, ast.Tuple) + (ast.Call,) * made
        for value in self.made.get(part.id, []) if isinstance(part, ast.Name) else []:
            if isinstance(value, names):
                for node in ast.walk(value):
                    if isinstance(node, ast.Name | ast.Attribute):
                        yield self.value(node)
                    if isinstance(node, ast.Call):
                        yield from self.looked_up(node)

    def value(self, node: ast.AST) -> Any:
        """What a name of the file stands for; None for names of the function."""
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            return getattr(base, node.attr, None) if isinstance(base, ModuleType) else None
        if isinstance(node, ast.Name) and node.id not in self.made:
            return self.function.__globals__.get(node.id, self.imported.get(node.id))
        return None

    def looked_up(self, call: ast.Call) -> Iterator[Any]:
        """The functions that `getattr` may give, by the texts that stand for their names."""
        if _last(call.func) == "getattr" and len(call.args) > 1:
            texts, todo, seen = set(), [call.args[1]], set()
            while todo:
                for node in ast.walk(todo.pop()):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        texts.add(node.value)
                    if isinstance(node, ast.Name) and node.id not in seen:
                        seen.add(node.id)
                        todo += self.made.get(node.id, [])
            owner = self.value(call.args[0])
            yield from (getattr(owner, text, None) for text in sorted(texts))

    @cached_property
    def imported(self) -> dict[str, Any]:
        """What a function imports for itself, by name."""
        found = {}
        for node in ast.walk(self.tree):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                whole = f"{node.module}.{alias.name}"
                made = getattr(import_module(node.module or ""), alias.name, None)
                found[alias.asname or alias.name] = made or import_module(whole)
        return found

    @cached_property
    def named(self) -> list[Function]:
        """The functions of ours that are named in it, in order."""
        values = [
            self.value(node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name | ast.Attribute)
        ]
        found = map(inspect.unwrap, values)  # what is behind a cache, too
        return [x for x in found if inspect.isfunction(x) and _ours(x)]


def library(value: Any) -> frozenset[str]:
    """The functions of the library that a function is, or that one of a chapter comes to."""
    value = inspect.unwrap(value)
    if not inspect.isfunction(value) or not _ours(value) or value.__name__ in GIVEN | INSTRUMENTS:
        return frozenset()
    return _followed(value)


@cache
def body_of(function: Function) -> Body:
    """The function as it is written."""
    return Body(function)


@cache
def _followed(value: Function) -> frozenset[str]:
    if value.__module__.split(".")[1] in LIBRARY:
        return frozenset({f"{value.__module__.split('.')[1]}.{value.__name__}"})
    found: set[str] = set()
    seen, todo = {value}, [value]
    while todo:
        for called in body_of(todo.pop()).named:
            if called.__name__ in GIVEN | INSTRUMENTS:
                continue
            if called.__module__.split(".")[1] in LIBRARY:
                found.add(f"{called.__module__.split('.')[1]}.{called.__name__}")
            elif called.__module__.startswith("tformer_book.chapters.ch") and called not in seen:
                seen.add(called)
                todo.append(called)
    return frozenset(found)


def _ours(value: Any) -> bool:
    return (value.__module__ or "").startswith(("tformer.", "tformer_book."))


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Targets and what they are given; of pairs in pairs, place by place."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            ends = [getattr(one, "elts", ()) for one in (target, node.value)]
            if ends[0] and len(ends[0]) == len(ends[1]):
                yield from zip(*ends, strict=True)
            else:
                yield target, node.value
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.comprehension):
        yield from _iterated(node.target, node.iter)
    elif isinstance(node, ast.Call) and node.args and _last(node.func) in GROWS:
        yield node.func.value, node.args[-1]  # type: ignore[attr-defined]


def _iterated(target: ast.AST, values: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Targets and what they take one after another; through `zip` and `enumerate`."""
    ends = getattr(target, "elts", ())
    if isinstance(values, ast.Call) and ends:
        if _last(values.func) == "zip" and len(ends) == len(values.args):
            yield from zip(ends, values.args, strict=True)
            return
        if _last(values.func) == "enumerate" and len(ends) == 2:
            yield from _iterated(ends[1], values.args[0])
            return
    yield target, values
