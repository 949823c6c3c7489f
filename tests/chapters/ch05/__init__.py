"""Tests of what belongs to chapter 5."""
