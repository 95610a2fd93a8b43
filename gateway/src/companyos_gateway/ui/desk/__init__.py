"""The apps of an episode in a browser: the pages of the services and the desk with the brief."""
