"""Tests of chapter 17."""
