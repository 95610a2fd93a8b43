"""The page at `/web`: each visitor plays an episode with forms. Nothing is imported for it until somebody asks."""
