"""Tests of chapter 6, many heads."""
