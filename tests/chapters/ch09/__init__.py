"""Tests of chapter 9."""
