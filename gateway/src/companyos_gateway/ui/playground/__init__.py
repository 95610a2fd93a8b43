"""The playground at `/web`: each visitor plays an episode with forms. Imported at the first request."""
