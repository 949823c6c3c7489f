"""Tests of chapter 11."""
