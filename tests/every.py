"""Many cases in one test: each is tried, and those that fail are named.

For cases that are many and cheap. What is `parametrize`d is a test of its own, which pytest
collects, reports and, with two workers, sends about: a millisecond and more for each.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

SHOWN = 5


def try_each(check: Callable[..., object], cases: Iterable[tuple[object, tuple[Any, ...]]]) -> None:
    """Call a check for each case, given with its name; raise what all that fail have raised."""
    names, errors = [], []
    for name, arguments in cases:
        try:
            check(*arguments)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"This is the case {name}.")
            names.append(str(name))
            errors.append(error)
    if errors:
        raise BaseExceptionGroup(f"{len(names)} fail: {'; '.join(names)}", errors[:SHOWN])


def every(argument: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Try a test with every value of an argument, as `parametrize` does, in one test."""
    cases = [(f"{argument} {value}", (value,)) for value in values]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**given: Any) -> None:
            def check(value: Any) -> None:
                test(**given, **{argument: value})

            try_each(check, cases)

        signature = inspect.signature(test)
        kept = [x for name, x in signature.parameters.items() if name != argument]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate
