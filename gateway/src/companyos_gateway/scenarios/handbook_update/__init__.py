"""Handbook updates: a page of the handbook is published once it says what the policy says, and HR agrees."""
