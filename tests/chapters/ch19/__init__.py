"""Tests of what belongs to chapter 19."""
