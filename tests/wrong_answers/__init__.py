"""Answers to the exercises, wrong and right: one module a chapter, in parts where it is long.

``WRONG[number]`` maps words of the feedback to the mistake that must be told so.
``RIGHT[number]`` holds correct answers that differ from the book's.
"""
