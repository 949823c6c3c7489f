"""What is written from one source: exercises, the ledger, exams."""
