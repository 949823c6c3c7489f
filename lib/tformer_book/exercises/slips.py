"""Slips: mutants written as edits of the right function, an edit and what is said to it.

A text of slips names mutants, each by its edits and, indented, its sentence::

    s - t - offset → s - t
        The offset has no effect.
    np.clip(d, -m, m) → d ;; d + m → ($) % (2 * m + 1)
        Distances are not clipped, and a negative index counts from the end.
    = table[np.zeros((T, S), dtype=int)]
        Every pair gets the same entry.

An edit is ``old → new``; edits of one mutant are joined by ``;;`` or stand on lines of
their own, and are made one after another. In the new text ``$`` stands for the old one. What is
looked for is made of whole names, and has to stand exactly once in the body of the function, its
docstring left out; a line may be broken where it has a space. ``= expression`` is a whole answer:
the function returns it, and does nothing else.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

Function = Callable[..., Any]
ENTRY = re.compile(r"((?:\S.*\n)+)((?:[ ]+\S.*\n|\n)+)")


def mutants_of(text: str, right: Function, where: str) -> dict[str, Function]:
    """Return the mutants of the function `right` that a text of slips names, by their sentences.

    Raises
    ------
    ValueError
        The text or one of its edits cannot be read, is made of nothing that stands there, or of
        what stands there more than once; or two slips say the same. The message begins with
        `where`.
    """
    found: dict[str, Function] = {}
    if inspect.getclosurevars(right).nonlocals:
        raise ValueError(f"{where}: {right.__name__} uses variables of a function around it")
    header, body = source(right)
    for edits, sentence in entries(text, where):
        if sentence in found:
            raise ValueError(f"{where}: two slips say {sentence!r}")
        here = f"{where}, slip {' ;; '.join(edits)!r}"
        found[sentence] = _function(right, header, edited(body, edits, here), here)
    return found


def entries(text: str, where: str) -> Iterator[tuple[list[str], str]]:
    """Yield the edits of each slip, and its sentence."""
    lines = textwrap.dedent(text).strip() + "\n"
    rest = ENTRY.sub("", lines)
    if rest.strip():
        raise ValueError(
            f"{where}: a slip is edits and, indented, a sentence; got {rest.strip()!r}"
        )
    for edits, sentence in ENTRY.findall(lines):
        if edits.startswith("="):
            yield [" ".join(edits.split())], " ".join(sentence.split())
        else:
            yield [e.strip() for e in re.split(r";;|\n", edits.strip())], " ".join(sentence.split())


def source(function: Function) -> tuple[str, str]:
    """Return the first lines of a function, up to its body, and its body without docstring."""
    code = textwrap.dedent(inspect.getsource(function))
    (node,) = ast.parse(code).body
    if not isinstance(node, ast.FunctionDef):
        raise ValueError(f"{function.__name__} is not made by def")
    lines = code.splitlines()
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    first = node.body[0]
    start = lines[first.lineno - 1].encode()[: first.col_offset].decode()
    header = "\n".join([*lines[node.lineno - 1 : first.lineno - 1], start]).rstrip()
    text = "\n".join(lines[body[0].lineno - 1 :]) if body else ""
    return header, textwrap.dedent(text)


def edited(body: str, edits: list[str], where: str) -> str:
    """Return the body of a function with edits made; see the top of this file."""
    if edits[0].startswith("="):
        return f"return {edits[0].removeprefix('=').strip()}"
    for edit in edits:
        old, arrow, new = (part.strip() for part in edit.partition("→"))
        if not arrow or not old:
            raise ValueError(f"{where}: an edit is `old → new`; got {edit!r}")
        spots = list(re.finditer(_pattern(old), body))
        if len(spots) != 1:
            times = f"{len(spots)} times" if spots else "nowhere"
            raise ValueError(f"{where}: {old!r} stands {times} in\n{body}")
        spot = spots[0]
        changed = body[: spot.start()] + new.replace("$", spot[0]) + body[spot.end() :]
        if changed == body:
            raise ValueError(f"{where}: {edit!r} changes nothing")
        body = changed
    return body


def _pattern(old: str) -> str:
    """A pattern that finds a text as whole names, whatever its line breaks."""
    middle = r"\s+".join(re.escape(word) for word in old.split())
    before, after = (r"\b" if re.match(r"\w", end) else "" for end in (old[0], old[-1]))
    return before + middle + after


def _function(right: Function, header: str, body: str, where: str) -> Function:
    """Make a function in the module of `right`, with its name."""
    text = f"{header}\n{textwrap.indent(body, '    ')}\n"
    flags = __future__.annotations.compiler_flag
    try:
        code = compile(text, f"<{where}>", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise ValueError(f"{where}: {error.msg} in\n{text}") from None
    space: dict[str, Any] = {}
    exec(code, right.__globals__, space)
    made: Function = space[right.__name__]
    return made
