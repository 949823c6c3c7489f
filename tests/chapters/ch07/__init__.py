"""Tests of chapter 7."""
