"""Code mutants: rubrics and rewards changed in one place, and whether stored evidence detects the change."""
