"""Tests of what belongs to chapter 18."""
