"""The doors of the house: OpenEnv over WebSocket, plain HTTP, health, pages."""
