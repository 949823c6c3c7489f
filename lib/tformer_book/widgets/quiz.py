"""Multiple-choice questions with a reason for every option, right or wrong."""

import re
import tomllib
from collections.abc import Sequence
from html import escape
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import traitlets

from tformer_book.widgets.base import BookWidget

MARKUP = ("sub", "sup", "i", "b", "code")
KEYS = {"question": str, "options": list, "answer": int, "why": list}
TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)[^>]*>")


class Quiz(BookWidget):
    """A few questions, each with one right option and an explanation for all of them.

    Parameters
    ----------
    questions : sequence of dict
        Each with `question` (text), `options` (three or more texts), `answer` (the index of the
        right option, from 0) and `why` (one explanation for each option); an `id` (text) may name
        it. Texts may use the tags sub, sup, i, b and code, without attributes.

    Raises
    ------
    TypeError, ValueError
        If a question is not of this form; the message says which one and what is wrong.
    """

    questions = traitlets.List(traitlets.Dict()).tag(sync=True)
    chosen = traitlets.List(traitlets.Int(allow_none=True)).tag(sync=True)

    def __init__(self, questions: Sequence[dict[str, Any]], **kwargs: Any) -> None:
        questions = [dict(q) for q in questions]
        check_questions(questions)
        super().__init__(questions=questions, chosen=[None] * len(questions), **kwargs)

    @classmethod
    def read(cls, path: str | Path, *ids: str) -> "Quiz":
        """The questions in a TOML file, one table `[[question]]` each: all, or those named.

        A question is named by its key `id`; those asked for come in the order of `ids`.
        """
        with open(path, "rb") as file:
            tables = tomllib.load(file)
        if set(tables) != {"question"}:
            raise ValueError(f"Quiz: {path} must hold [[question]] tables only; got {list(tables)}")
        questions = tables["question"]
        return cls(_named(ids, questions) if ids else questions)

    @classmethod
    def of_chapter(cls, number: int, *ids: str) -> "Quiz":
        """The quiz of a chapter, `quiz.toml` in its folder, or its questions with these ids."""
        with as_file(files("tformer_book.chapters") / f"ch{number:02d}" / "quiz.toml") as path:
            return cls.read(path, *ids)

    @property
    def score(self) -> int:
        """How many questions stand answered rightly."""
        pairs = zip(self.chosen, self.questions, strict=True)
        return sum(chosen == question["answer"] for chosen, question in pairs)

    def __repr__(self) -> str:
        count = len(self.questions)
        lines = [f"Quiz of {count} question{'s' if count > 1 else ''}"]
        for i, question in enumerate(self.questions, 1):
            lines.append(f"{i}. {plain(question['question'])}")
            lines += [f"   {chr(97 + j)}) {plain(o)}" for j, o in enumerate(question["options"])]
        return "\n".join(lines)

    def fallback(self) -> str:
        return "<ol>" + "".join(f"<li>{_static(q)}</li>" for q in self.questions) + "</ol>"


def check_questions(questions: Sequence[dict[str, Any]]) -> None:
    """Raise the first thing that is wrong with the questions of a quiz, in words."""
    if not questions:
        raise ValueError("Quiz: needs at least one question; got none")
    for i, question in enumerate(questions):
        check_question(f"Quiz: question {i + 1}", question)
    ids = [question["id"] for question in questions if "id" in question]
    for name in ids:
        if ids.count(name) > 1:
            raise ValueError(f"Quiz: {ids.count(name)} questions have the id {name}")


def check_question(where: str, question: dict[str, Any]) -> None:
    """Raise the first thing that is wrong with a question, in words."""
    if set(question) - {"id"} != set(KEYS):
        raise ValueError(f"{where} needs the keys {', '.join(KEYS)}; got {', '.join(question)}")
    for key, kind in (KEYS | {"id": str} if "id" in question else KEYS).items():
        if not isinstance(question[key], kind) or isinstance(question[key], bool):
            got = type(question[key]).__name__
            raise TypeError(f"{where}: {key} must be of type {kind.__name__}; got {got}")
    options, answer, why = question["options"], question["answer"], question["why"]
    if len(options) < 3:
        raise ValueError(f"{where} needs at least 3 options; got {len(options)}")
    if len(set(options)) < len(options):
        raise ValueError(f"{where} says the same in two options, so more than one could be right")
    if not 0 <= answer < len(options):
        raise ValueError(f"{where}: answer must be 0 to {len(options) - 1}; got {answer}")
    if len(why) != len(options):
        raise ValueError(
            f"{where} must explain every option: {len(options)} options, {len(why)} explanations"
        )
    check_text(f"{where}, question", question["question"])
    for key in ("options", "why"):
        for j, text in enumerate(question[key]):
            check_text(f"{where}, {key}[{j}]", text)


def check_text(where: str, text: object) -> None:
    """Raise unless this is a text with something in it whose tags are allowed and closed."""
    if not isinstance(text, str):
        raise TypeError(f"{where} must be of type str; got {type(text).__name__}")
    if not text.strip():
        raise ValueError(f"{where} is empty")
    if "$" in text:
        raise ValueError(f"{where} has a $, which nothing reads here; write <sup> and <sub>")
    still_open: list[str] = []
    for match in TAG.finditer(text):
        closing, name = match[1], match[2]
        if match[0] not in (f"<{name}>", f"</{name}>") or name not in MARKUP:
            allowed = ", ".join(f"<{tag}>" for tag in MARKUP)
            raise ValueError(f"{where} uses {match[0]}; allowed are {allowed}")
        if not closing:
            still_open.append(name)
        elif not still_open or still_open.pop() != name:
            raise ValueError(f"{where}: </{name}> closes nothing")
    if still_open:
        raise ValueError(f"{where}: <{still_open[-1]}> is never closed")


def plain(text: str) -> str:
    """The text without its tags, with ^ and _ for raised and lowered."""
    return TAG.sub("", text.replace("<sup>", "^").replace("<sub>", "_"))


def rich(text: str) -> str:
    """The text as HTML: allowed tags kept, everything else escaped."""
    return re.sub(rf"&lt;(/?(?:{'|'.join(MARKUP)}))&gt;", r"<\1>", escape(text, quote=False))


def _named(ids: Sequence[str], questions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    check_questions(questions)
    known = {question["id"]: question for question in questions if "id" in question}
    for name in ids:
        if name not in known:
            names = ", ".join(known) or "none"
            raise ValueError(f"Quiz: no question has the id {name!r}; there are: {names}")
    return [known[name] for name in ids]


def _static(question: dict[str, Any]) -> str:
    options = "".join(f"<li>{rich(option)}</li>" for option in question["options"])
    reasons = "".join(f"<li>{rich(reason)}</li>" for reason in question["why"])
    right = chr(97 + question["answer"])
    return (
        f'{rich(question["question"])}<ol type="a">{options}</ol>'
        f'<details><summary>Answer</summary>({right}) is right. <ol type="a">{reasons}</ol>'
        "</details>"
    )
