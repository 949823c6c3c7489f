"""Tests of what belongs to chapter 21."""
