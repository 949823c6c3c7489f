"""Tests of what belongs to chapter 22."""
