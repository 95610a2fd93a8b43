"""The tasks for tools outside: as tables, and as the folders and files that harnesses read; never their solutions."""
