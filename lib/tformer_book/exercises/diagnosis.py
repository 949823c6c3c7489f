"""Name the mistake behind a wrong answer: the mutant that agrees with it, or what it looks like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.clock import Clock
from tformer_book.exercises.compare import wrapped
from tformer_book.exercises.few_values import in_common
from tformer_book.exercises.other_inputs import for_other_inputs
from tformer_book.exercises.resemblance import exchanged, few_digits, limit, resemblance
from tformer_book.exercises.table import INTEGERS, Case, Sentence, Table, Trial
from tformer_book.exercises.undefined import undefined

WRONG_AT_INTEGERS = (
    "It goes wrong only where whole numbers are handed over: an array that takes their type cuts "
    "fractions off."
)
STOPS_AT_INTEGERS = (
    "The same numbers as floats come out right. Whole numbers may come as integers: make floats of "
    "them first."
)
KEPT = (
    "Asked once more for the first example, it gives another answer: what one call leaves, in a "
    "default value or a variable outside, changes the next."
)
STOPPED = ("IndexError", "KeyError", "LinAlgError", "OverflowError", "TypeError", "ValueError")
FINE = 1e-5  # beside the largest number: so small an error is one of digits, whatever a case tries
MOSTLY = 2  # of the wrong cases one in two may show a second mistake beside the one that is named


def check_by_table(table: Table, f: Answer) -> None:
    """Try an answer on all cases of a table; raise Wrong at the first thing that is wrong."""
    trials: list[Trial] = []
    items = table.items()
    for item in items:
        if not isinstance(item, Case):
            item(f)
            continue
        trial, wrong = table.attempt(f, item)
        trials.append(trial)
        if wrong:
            more = (item for item in items if isinstance(item, Case))
            wrong.explain = wrong.explain or Diagnosis(table, f, trials, more).explain
            raise wrong


class Diagnosis:
    """The search for the reason why an answer is wrong.

    Parameters
    ----------
    table : Table
        The check.
    f : Answer
        The answer.
    trials : list of Trial
        What has been tried; the last trial went wrong.
    more : iterator of Case
        Cases that may be tried beside them.
    """

    def __init__(self, table: Table, f: Answer, trials: list[Trial], more: Iterator[Case]) -> None:
        self.table = table
        self.f = f
        self.trials = trials
        self.more = more
        self.failed = trials[-1]
        self.unusable = False  # on a later case no answer came that can be compared

    def explain(self) -> tuple[str, bool]:
        """Return the best message, and whether it names a mistake of the table."""
        self.clock = Clock(min(self.f.seconds, self.f.left))
        if words := self._only_with_integers():
            return f"{self.failed.text} {words}", True
        if named := self._mutant():
            sentence, shown = named
            words = sentence if isinstance(sentence, str) else sentence(**shown.case.inputs)
            first = undefined(self.f, shown, words)
            return " ".join(filter(None, [shown.text, first, words])), True
        while self._try_another():
            pass
        first = undefined(self.f, self.failed)
        place = self.failed.place or 0
        why = exchanged(self.trials, self.table.kind) or self._remark()
        why = why or resemblance(self.trials, place)
        why = why or self._beside(in_common(self.trials, place))
        if not self.failed.case.why:  # what a case says of itself is nearer
            why = why or few_digits(self.trials, place) or limit(self.trials, place)
        why = why or self._wrapped() or self._kept() or self._beside(self._other(place))
        why = why or self._beside(few_digits(self.trials, place, FINE)) or self._general()
        return " ".join(filter(None, [self.failed.text, first, why])), False

    def _only_with_integers(self) -> str:
        """Say that the same numbers come out right as floats; "" if not, or if not asked."""
        item = self.failed.case
        if item.dtype is not int:
            return ""
        try:
            trial, _ = self.table.attempt(self.f, replace(item, dtype=None))
        except Wrong:
            return ""
        if trial.text:
            return ""
        if item.why not in ("", INTEGERS):
            return item.why
        if bits := self._wrapped():
            return bits
        return STOPS_AT_INTEGERS if self.failed.error else WRONG_AT_INTEGERS

    def _remark(self) -> str:
        place = self.failed.place
        if place is None:
            return ""
        return self.table.kind.remark(self.failed.got[place], self.failed.want[place])

    def _wrapped(self) -> str:
        place, case = self.failed.place, self.failed.case
        if place is None:
            return ""
        got, want = self.failed.got[place], self.failed.want[place]
        arrays = isinstance(got, np.ndarray) and isinstance(want, np.ndarray)
        bits = wrapped(got, want) if arrays else ""
        return bits and " ".join(filter(None, [bits, "" if case.why == INTEGERS else case.why]))

    def _kept(self) -> str:
        """Say that the first case, asked once more, gets another answer; "" if it does not."""
        first = self.trials[0]
        if first.error or not self.clock.left() or self.f.left <= 0:
            return ""
        try:
            again, _ = self.table.attempt(self.f, first.case)
        except Wrong:
            return ""
        same = self.table.kind.same
        if again.error or all(same(*pair) for pair in zip(again.got, first.got, strict=True)):
            return ""
        return KEPT

    def _other(self, place: int) -> str:
        """Say for which other inputs the answer would be right; "" if for none, or if not asked."""
        if self.failed.case.dtype:
            return ""
        tried = [trial for trial in self.trials if not trial.case.dtype]
        return for_other_inputs(self.table, tried, place, self.clock.left)

    def _beside(self, why: str) -> str:
        """Return a sentence, and after it what is said of this case to anything else."""
        return why and " ".join(filter(None, [why, self.table.fallback(self.failed.case)]))

    def _general(self) -> str:
        """Return where the answer is wrong, and what is said to anything that nothing explains."""
        place = self.failed.place
        if place is None:
            if not self.failed.error.startswith(STOPPED):
                return ""
            # the note of the first, plain case says why its numbers are right, not why a call stops
            first = self.failed is self.trials[0]
            return self.table.otherwise if first else self.table.fallback(self.failed.case)
        got, want = self.failed.got[place], self.failed.want[place]
        form = self.table.kind.form(got, want)
        if form and (self.table.kind.weak or 0 in (got.ndim, want.ndim)):
            return form
        said = [form or self.table.kind.where(got, want), self.table.fallback(self.failed.case)]
        if self._wrong_elsewhere() and self.table.otherwise not in said:
            said.append(self.table.otherwise)
        return " ".join(filter(None, said))

    def _wrong_elsewhere(self) -> bool:
        """Tell whether cases of another note go wrong as well, so that one note says too little."""
        note = self.failed.case.why
        return any(trial.text and trial.case.why != note for trial in self.trials)

    def _mutant(self) -> tuple[Sentence, Trial] | None:
        """Return the sentence of the one mutant that agrees with the answer, and where to see it.

        Where several agree on all that was tried, more cases are tried until they differ. The one
        that is left has to agree on a second case that it gets wrong, if there is one, and on
        most others: on a few examples other mistakes look like it, and an answer may have a
        second one.
        """
        if self.table.kind.weak:
            while self._try_another():
                pass
        failed_first = [self.failed, *(trial for trial in self.trials if trial is not self.failed)]
        alike = [m for m in self.table.mutants if all(self._agrees(m, t) for t in failed_first)]
        if len(alike) > 1:
            whole = [m for m in alike if self._agrees(m, self.failed, whole=True)]
            alike = whole or alike
        rivals = alike
        while len(alike) > 1 or (alike and not self._seen_twice(alike[0])):
            if not (trial := self._try_another()):
                break
            alike = [m for m in alike if self._agrees(m, trial)]
        if len(alike) != 1 or (self.unusable and not self._seen_twice(alike[0])):
            return None
        while self._try_another():
            pass
        wrong = [self._agrees(alike[0], t) for t in self.trials if t.text and _finite(t)]
        if wrong.count(False) > len(wrong) / MOSTLY:
            return None  # it coincides with the answer, and does not explain it
        return alike[0], self._clearest(alike[0], rivals)

    def _seen_twice(self, mutant: Sentence) -> bool:
        """Tell whether the mutant is wrong on two of the cases that were tried."""
        function, place = self.table.mutants[mutant], self.failed.place
        wrong = 0
        for trial in self.trials:
            made = self.table.made(function, trial.case)
            pairs = [] if isinstance(made, str) else list(zip(made, trial.want, strict=True))
            pairs = pairs if place is None else pairs[place : place + 1]
            same = self.table.kind.same
            wrong += isinstance(made, str) or not all(same(*pair) for pair in pairs)
        return wrong > 1

    def _clearest(self, mutant: Sentence, rivals: list[Sentence]) -> Trial:
        """Return the first wrong trial at which no rival does what the mutant does."""
        others = [rival for rival in rivals if rival != mutant]
        wrong = [trial for trial in self.trials if trial.text and self._agrees(mutant, trial)]
        alone = (t for t in wrong if not any(self._agrees(other, t) for other in others))
        return next(alone, self.failed)

    def _agrees(self, mutant: Sentence, trial: Trial, whole: bool = False) -> bool:
        """Tell whether a mutant does what the answer did, in the part that failed.

        It has to in every other part too that it gets wrong itself, or in all (`whole`).
        """
        made = self.table.made(self.table.mutants[mutant], trial.case)
        if isinstance(made, str) or trial.error:
            return made == trial.error
        same, failed = self.table.kind.same, self.failed.place
        return all(
            same(got, wrong)
            for place, (got, wrong, right) in enumerate(
                zip(trial.got, made, trial.want, strict=True)
            )
            if whole or failed is None or place == failed or not same(wrong, right)
        )

    def _try_another(self) -> Trial | None:
        """Try the answer on one more case; None when there is none, or no time, or no answer."""
        if not self.clock.left() or self.f.left <= 0:
            return None
        for case in self.more:
            if case.dtype and not self.failed.case.dtype:
                continue  # there an answer may fail for another reason
            try:
                trial, _ = self.table.attempt(self.f, case)
            except Wrong:
                self.unusable = True
                return None
            self.trials.append(trial)
            return trial
        return None


def _finite(trial: Trial) -> bool:
    """Tell whether an answer came that is made of numbers: nan and ∞ are a mistake of their own."""
    arrays = (part for part in trial.got if isinstance(part, np.ndarray))
    return not trial.error and all(np.isfinite(x).all() for x in arrays if x.dtype.kind == "f")
