"""The exam questions of chapter 2, answered again by other ways than the library's."""

import math
import re
from fractions import Fraction

import numpy as np
import scipy.special
import torch
from scipy.optimize import brentq

from tformer_book.exams import Item


def shares(parts: list[int]) -> np.ndarray:
    """Parts of a whole, in fractions."""
    return np.array([float(Fraction(x, sum(parts))) for x in parts])


def three_scores(item: Item) -> dict[str, object]:
    """In fractions: the exponentials are whole numbers."""
    a = [int(x) for x in item.given["a"]]
    cold = shares([x ** item.given["beta"] for x in a])
    return {"weights": shares(a), "cold": cold, "hidden": shares([*a[:2], 0])}


def which_scores(item: Item) -> dict[str, object]:
    """Read the options as they are printed, and take the softmax of each."""
    a = item.given["a"]
    letters = []
    for letter, text in zip("ABCD", item.given["options"], strict=True):
        text = re.sub(r"\\tfrac\{(\d+)\}\{(\d+)\}", r"\1/\2", text)
        text = re.sub(r"(\d)\\log", r"\1*\\log", text)
        code = re.sub(r"\\log (\d+)", r"math.log(\1)", text)
        p = scipy.special.softmax(eval(f"[{code}]", {"math": math}))
        if np.allclose(p, a / a.sum(), rtol=0, atol=1e-9):
            letters.append(letter)
    ratios = [float(Fraction(int(x), int(a[2]))) for x in a[:2]]
    return {"letters": " and ".join(letters), "ratios": ratios}


def a_program_that_runs(item: Item) -> dict[str, object]:
    """Run the program as it is printed."""
    a, fault = item.given["a"], item.given["fault"]
    found = re.search(r"```python\n(.*?)```", item.statement, re.DOTALL)
    assert found is not None
    names = {"np": np}
    exec(found[1], names)
    mask = np.array([True, True, False])
    more = {"columns": (), "upside": (2,)}.get(fault, (mask,))
    wanted = np.sqrt(a) if fault == "upside" else a if fault == "columns" else a * mask
    wanted = wanted / wanted.sum(axis=-1, keepdims=True)
    return {"returned": names["weights"](np.log(a), *more), "wanted": wanted}


def what_reaches_the_scores(item: Item) -> dict[str, object]:
    """By automatic differentiation."""
    p, g, beta, right = (item.given[name] for name in ("p", "g", "beta", "right"))
    x = torch.tensor(np.log(p) / beta, requires_grad=True)
    (back,) = torch.autograd.grad(torch.softmax(beta * x, 0) @ torch.tensor(g), x)
    y = torch.tensor(np.log(p), requires_grad=True)
    (loss,) = torch.autograd.grad(-torch.log_softmax(y, 0)[right], y)
    keys = " and ".join(str(i + 1) for i in range(3) if back[i] < -1e-9) or "none"
    return {"back": back.numpy(), "loss": loss.numpy(), "keys": keys}


def who_rises_first(item: Item) -> dict[str, object]:
    """Follow the weights along a fine grid of β."""
    s = item.given["s"]
    beta = np.concatenate([[0, 1e-6], np.linspace(0.01, 60, 3000)])
    p = scipy.special.softmax(beta[:, None] * s, axis=1)
    first = p[1] > p[0]
    falls = np.diff(p, axis=0).min(axis=0) < -1e-9
    end = np.round(p[-1], 12)
    return {
        "rising": ", ".join(np.array(list("ABCDE"))[first]),
        "turning": ", ".join(np.array(list("ABCDE"))[first & falls]),
        "end": end,
        "spread": int((end > 0).sum()),
    }


def how_far_ahead(item: Item) -> dict[str, object]:
    """The lead at which the share is reached, found by bisection; rivals counted one by one."""
    rivals, m, times = (item.given[name] for name in ("rivals", "m", "times"))

    def missing(lead: float) -> float:
        return (m - 1) / m - 1 / (1 + rivals * math.exp(-lead))

    lead = math.exp(brentq(missing, 0, 20, xtol=1e-15, rtol=1e-15))
    n = np.arange(1, 9001)
    most = n[1 / (1 + n / (lead * times)) >= (m - 1) / m - 1e-12].max()
    bound = math.exp(brentq(lambda x: rivals * math.exp(-x) - 1 / m, 0, 20, xtol=1e-15))
    return {
        "share": (m - 1) / m,
        "lead": round(lead, 9),
        "bound": round(bound, 9),
        "more": most,
    }
