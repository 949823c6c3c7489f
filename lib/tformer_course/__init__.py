"""A course for nbgrader, and grading that cannot be talked out of: it judges from outside."""
