"""Tests of chapter 16."""
