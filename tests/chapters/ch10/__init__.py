"""Tests of chapter 10."""
