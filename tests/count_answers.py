"""Count what the checks make of answers known to be wrong or right.

`python tests/count_answers.py` prints it.
Wrong are the mutants of all tables, the planted answers, and the book's own answers spoiled in
general ways. For each kind it is counted how many are refused, and how many are told why: by a
sentence of their own, or by one that is not merely said to every wrong answer.
"""

import inspect
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import chapters
from exercise_tools import answers, solutions
from test_other_clothes import dressed
from tformer_book.exercises import registry
from tformer_book.exercises.answer import Answer, Wrong


def of_floats(change):
    """A change of numbers that are not whole."""

    def changed(array):
        return change(array) if array.dtype.kind == "f" else array

    return changed


SPOILED = {
    "times ln 10": of_floats(lambda array: array * np.log(10)),
    "divided by ln 2": of_floats(lambda array: array / np.log(2)),
    "in per cent": of_floats(lambda array: array * 100),
    "with the other sign": of_floats(np.negative),
    "one over it": of_floats(lambda array: 1 / array),
    "off by one": of_floats(lambda array: array + 1),
    "rounded to three digits": of_floats(lambda array: array.round(3)),
    "1.5 % off, in float16": of_floats(lambda array: (1.015 * array).astype(np.float16)),
}


def verdict(entry, answer):
    """What is said to an answer, "" if it is right; and what is said to any wrong one."""
    with np.errstate(all="ignore"):
        try:
            entry.test(Answer(answer, 3.0))
        except Wrong as wrong:
            try:
                return wrong.explain()[0] if wrong.explain else str(wrong)
            except Exception:  # which is told to a reader as a fault of the book
                return "The check itself stopped."
    return ""


def spoiled(answer, change):
    """The book's answer, its numbers changed."""

    def other(*inputs):
        return dressed(answer(*inputs), change)

    other.__signature__ = inspect.signature(answer)
    return other


def explained(entry, text, words):
    """Whether a message says more than it does to any wrong answer."""
    if isinstance(words, str) and words in text:
        return True
    table = entry.table
    general = {table.otherwise} | {case.why for case in table.only_cases()} if table else set()
    return not any(text.endswith(one) for one in general if one) and "should be" in text


def main():
    """Print the counts."""
    planted, right = chapters.answers("MUTANTS"), chapters.answers("RIGHT")
    tried, refused, told, passed = Counter(), Counter(), Counter(), []
    for number, entry in registry.exercises().items():
        wrong = [("mutants", words, one) for words, one in entry.mutants.items()]
        wrong += [
            ("planted", words, one)
            for words, group in planted.get(number, {}).items()
            for one in answers(group)
        ]
        own, _ = solutions()[number]
        for change in SPOILED.values():
            wrong.append(("spoiled", None, spoiled(own, change)))
        for kind, words, answer in wrong:
            text = verdict(entry, answer)
            tried[kind] += 1
            refused[kind] += bool(text)
            told[kind] += bool(text) and explained(entry, text, words)
            if not text and kind != "spoiled":
                passed.append(f"{number} {words}")
        for answer in (own, *right[number]):
            tried["right"] += 1
            refused["right"] += bool(verdict(entry, answer))
    for kind, count in tried.items():
        print(f"{kind}: {count} tried, {refused[kind]} refused, {told[kind]} told why")  # noqa: T201
    print("\n".join(["wrong and not refused:", *passed]))  # noqa: T201


if __name__ == "__main__":
    main()
