"""Code mutants: rubrics and rewards changed in one place, and whether stored evidence tells the difference."""
