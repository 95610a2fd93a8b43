"""The apps of an episode in a browser: the services' own pages, and the desk where the brief lies."""
