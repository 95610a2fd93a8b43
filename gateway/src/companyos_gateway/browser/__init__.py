"""The browser of screenshot episodes: windows, browser actions and screenshots."""
