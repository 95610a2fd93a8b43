"""Code mutants: rubrics and rewards changed in one place, to test whether stored evidence detects the change."""
