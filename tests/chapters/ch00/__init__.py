"""Tests of what belongs to the page before chapter 1."""
