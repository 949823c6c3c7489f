"""Run a machine, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call, value
from tformer_book.chapters.ch19.machines import TABLES, random_machine
from tformer_book.chapters.ch19.run_machine import RunMachine
from tformer_book.chapters.ch19.turing import Machine


@pytest.fixture
def widget() -> RunMachine:
    """What `page` and `phone` show."""
    return RunMachine()


def written(one: Machine) -> str:
    """The table of a machine as text."""
    move = {-1: "L", 0: "S", 1: "R"}
    rules = [
        " ".join(f"{w}{move[m]}{q}" for (p, _), (w, m, q) in one.rules.items() if p == state)
        for state in one.states
    ]
    return "; ".join(rules)


def test_the_page_computes_what_the_library_computes(blank: Page) -> None:
    rng = np.random.default_rng(0)
    tables = [*(TABLES[name] for name in ("beaver 3", "beaver 4", "bounce", "palindrome"))]
    tables += [written(random_machine(rng)) for _ in range(20)]
    some = [RunMachine(text, 60) for text in tables]
    some += [RunMachine(steps=80, beta=beta, power=power) for beta, power in ((1, 80), (32, 6))]
    some += [RunMachine(start=start, single=single) for start in (8, 14) for single in (0, 1)]
    settings = [
        {"beta": x.beta, "power": x.power, "start": x.address, "single": bool(x.single)}
        for x in some
    ]
    asked = [[x.table, x.steps, s] for x, s in zip(some, settings, strict=True)]
    for x, found in zip(some, call(blank, RunMachine, "generate", asked), strict=True):
        assert [one["name"] for one in found[1:]] == x.written, x.table
        if not x.single:
            columns = x.columns()
            got = [[one["P"], one["cell"]] for one in found]
            want = np.stack([columns["P"], columns["cell"]], axis=-1)
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    asked = [[x.table, x.steps - 1] for x in some]
    for x, found in zip(some, call(blank, RunMachine, "simulate", asked), strict=True):
        assert found == x.right


def test_a_machine_is_run_and_broken(page: Page) -> None:
    widget = page.locator(".tf-ledger")
    said = widget.locator(".tf-said")
    expect(said).to_contain_text("19 tokens written so far, all right. The next is A0.")
    widget.get_by_role("button", name="beaver 2").click()
    widget.get_by_role("button", name="20 steps").click()
    expect(said).to_have_text("The machine halted after 6 steps, and every token is right.")
    widget.get_by_role("button", name="reset").click()
    widget.get_by_role("button", name="step", exact=True).click()
    assert value(widget, "steps") == [21]
    widget.get_by_role("button", name="float32").click()
    expect(said).to_contain_text("all right")
    page.get_by_role("slider", name="First address").fill("14")
    expect(said).to_contain_text("is wrong: the machine reads")
    widget.get_by_role("button", name="float64").click()
    expect(said).to_contain_text("all right")
    assert value(widget, "start") == [2**14]


def test_a_table_is_typed(page: Page) -> None:
    widget = page.locator(".tf-ledger")
    field = widget.get_by_role("textbox")
    field.fill("1RA 1RB; 1LA")
    expect(widget.locator(".tf-ledger-fault")).to_have_text("State B has 1 rules; the first has 2.")
    field.fill("1RA 1RH")
    expect(widget.locator(".tf-ledger-fault")).to_have_text("")
    expect(widget.locator(".tf-said")).to_contain_text("The next is A0.")
    assert value(widget, "head")[0] == pytest.approx(19, abs=1e-6)


def test_arrow_keys_step_and_a_voice_says_it(page: Page) -> None:
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    widget = page.locator(".tf-ledger")
    assert value(widget, "steps") == [19]
    expect(widget.get_by_role("status").last).to_contain_text("18 tokens written so far")


def test_a_finger_chooses_a_machine(phone: Page) -> None:
    widget = phone.locator(".tf-ledger")
    widget.get_by_role("button", name="bounce").tap()
    expect(widget.locator(".tf-said")).to_contain_text("11 tokens written so far")
