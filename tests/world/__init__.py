"""Tests of the corpus, the words and the worked examples."""
