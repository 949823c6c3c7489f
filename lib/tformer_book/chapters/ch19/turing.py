"""A transformer that runs any Turing machine: two layers, one head each, width 10.

The text is the run. After BOS come the symbols of the input and the token GO, then a token for
each step: the state and the symbol that the machine reads, such as A0. Only the embedding and the
unembedding know the machine's table; the layers are the same for all machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tformer_book.chapters.ch19.stream import (
    FAR,
    LOG2,
    Head,
    K,
    Layer,
    Stream,
    Terms,
    apply,
    cast,
    run,
)

STREAM = Stream.of("one bos run move state change P PP CC cell")
"""P: position of the head; PP: its square; CC: the square of the cell where the token wrote."""
STATES = "ABCDEFGIJKLMNOPQRSTUVWXYZ"
HALT = "H"
MOVES = {"L": -1, "S": 0, "R": 1}
BETA = 32.0

Rule = tuple[int, int, str]
"""What is written, the move, the next state."""


def layers(beta: float = BETA, k: int = K, far: float = FAR) -> list[Layer]:
    """The two layers, with the squares between them; the same for every machine.

    Parameters
    ----------
    beta : how sharply the second layer tells two cells apart
    k : the sink weighs 2^k as much as a score of 0
    far : what hides the input from the first layer, whose moves are not the head's
    """
    m, sink = 2.0**k, k * LOG2
    where: Head = (
        [
            ({"one": 1}, {"bos": sink}),
            ({"run": -far}, {"one": 1, "bos": -1, "run": -1}),
        ],
        {"P": {"move": m}},
    )
    wrote: Terms = {"P": 1.0, "move": -1.0}
    what: Head = (
        [
            ({"P": 2 * beta}, wrote),
            ({"PP": beta}, {"one": -1, "bos": 1}),
            ({"one": 1}, {"CC": -beta, "bos": sink}),
        ],
        {"cell": {"change": m}},
    )
    squares = STREAM.squares(PP={"P": 1}, CC=wrote)
    return [STREAM.heads(where), squares, STREAM.heads(what)]


class Machine:
    """A Turing machine, as a table and as a transformer.

    Parameters
    ----------
    rules : (state, symbol read) -> (symbol written, move, next state)
        Every state but "H", with every symbol. Symbols are 0 (blank) to S - 1.
    states : names of the states, the first of which the machine starts in
    n_symbols : S
    """

    def __init__(self, rules: Mapping[tuple[str, int], Rule], states: str, n_symbols: int):
        self.rules, self.states, self.n_symbols = dict(rules), states, n_symbols
        self.names = [f"{q}{a}" for q in states + HALT for a in range(n_symbols)]
        """The tokens of a run, by number."""
        self.vocabulary = [*self.names, *(f"in{a}" for a in range(n_symbols)), "BOS", "GO"]
        """All tokens, by number."""

    @cached_property
    def embedding(self) -> np.ndarray:
        """(n_tokens, 10): the table of the machine, one row a token of the vocabulary."""
        number = {q: i for i, q in enumerate(self.states + HALT)}
        rows = []
        for name in self.names:
            q, a = name[0], int(name[1:])
            written, move, after = self.rules.get((q, a), (a, 0, q))
            rows.append(
                {"one": 1, "run": 1, "move": move, "state": number[after], "change": written - a}
            )
        rows += [{"one": 1, "move": 1, "change": a} for a in range(self.n_symbols)]
        rows += [{"one": 1, "bos": 1}, {"one": 1, "run": 1}]
        return STREAM.rows(rows)

    @cached_property
    def unembedding(self) -> np.ndarray:
        """(10, n_names): 2 q·state + 2 a·cell - q² - a², largest for the nearest pair (q, a)."""
        pairs = [divmod(i, self.n_symbols) for i in range(len(self.names))]
        return STREAM.rows(
            {"state": 2 * q, "cell": 2 * a, "one": -q * q - a * a} for q, a in pairs
        ).T

    def prompt(self, word: Sequence[int] = ()) -> list[int]:
        """The tokens before the first step."""
        n = len(self.names)
        return [n + self.n_symbols, *(n + a for a in word), n + self.n_symbols + 1]

    def generate(
        self,
        word: Sequence[int] = (),
        steps: int = 100,
        dtype: Any = np.float64,
        start: int = 0,
        **settings: Any,
    ) -> list[str]:
        """The run that the transformer writes, greedily, at most `steps` tokens, or to state H.

        The first cell has the address `start`: GO moves there. The settings are those of `layers`.
        Each token's rows are kept, as a cache keeps them: one before and one after the first layer.
        """
        first, squares, second = (cast(layer, dtype) for layer in layers(**settings))
        table, out = (x.astype(dtype) for x in (self.embedding, self.unembedding))
        table[-1, STREAM.at("move")] = start
        tokens = self.prompt(word)
        n, most = len(tokens), len(tokens) + steps
        before, after = (np.zeros((most, len(STREAM.names)), dtype) for _ in range(2))
        for t in range(most - 1):
            before[t] = table[tokens[t]]
            now, kept = before[t : t + 1], before[: t + 1]
            now = now + apply(first, now, kept)
            after[t] = now + apply(squares, now, now)
            if t < n - 1:
                continue
            now, kept = after[t : t + 1], after[: t + 1]
            now = now + apply(second, now, kept)
            tokens.append(int(np.argmax(now @ out)))
            if self.names[tokens[-1]][0] == HALT:
                break
        return [self.names[i] for i in tokens[n:]]

    def simulate(
        self, word: Sequence[int] = (), steps: int = 100
    ) -> tuple[list[str], dict[int, int]]:
        """The same run by a plain program, and the cells that were written, with their content."""
        tape, at, state, tokens = dict(enumerate(word)), 0, self.states[0], []
        for _ in range(steps):
            a = tape.get(at, 0)
            tokens.append(f"{state}{a}")
            if state == HALT:
                break
            tape[at], move, state = self.rules[state, a]
            at += move
        return tokens, tape

    def tape(self, tokens: Sequence[str], word: Sequence[int] = ()) -> dict[int, int]:
        """The cells after a run, by adding up what each token changes."""
        tape, at = dict(enumerate(word)), 0
        for name in tokens:
            q, a = name[0], int(name[1:])
            written, move, _ = self.rules.get((q, a), (a, 0, q))
            tape[at] = tape.get(at, 0) + written - a
            at += move
        return tape

    def margins(
        self,
        word: Sequence[int] = (),
        steps: int = 100,
        dtype: Any = np.float64,
        **settings: Any,
    ) -> np.ndarray:
        """By how much the right token's logit beats all others, at each step of the true run.

        If all are positive, greedy generation writes the same run: each token is right if those
        before it are.

        Returns
        -------
        (n_steps,) array
        """
        truth = [self.names.index(name) for name in self.simulate(word, steps)[0]]
        prompt = self.prompt(word)
        x = self.embedding[[*prompt, *truth[:-1]]]
        y = run(x, layers(**settings), dtype=dtype)[len(prompt) - 1 :]
        logits = y @ self.unembedding.astype(dtype)
        each = np.arange(len(truth))
        right = logits[each, truth].copy()
        logits[each, truth] = -np.inf
        return np.asarray(right - logits.max(axis=-1))


def table(text: str) -> Machine:
    """A machine from the notation of busy beavers, such as "1RB 1LB; 1LA 1RH".

    A group a state (A, B, … without H, which halts), a triple a symbol read: what is written, where
    the head moves (L, R, or S for not at all), and the next state.

    Raises
    ------
    ValueError
        If a triple is malformed or missing, or names a symbol or state that the table lacks.
    """
    groups = [group.split() for group in text.split(";")]
    states, n = STATES[: len(groups)], len(groups[0])
    rules = {}
    for q, group in zip(states, groups, strict=False):
        if len(group) != n or not 1 <= n <= 10 or len(groups) > len(STATES):
            raise ValueError(f"table: state {q} has {len(group)} rules; the first has {n}")
        for a, rule in enumerate(group):
            good = len(rule) == 3 and rule[0] in "0123456789"[:n] and rule[1] in MOVES
            if not good or rule[2] not in states + HALT:
                raise ValueError(f"table: rule {rule!r} of state {q} is not like 1RB")
            rules[q, a] = int(rule[0]), MOVES[rule[1]], rule[2]
    return Machine(rules, states, n)
