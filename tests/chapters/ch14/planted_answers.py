MUTANTS: dict = {}
RIGHT: dict = {}
