"""CompanyOS before OpenEnv's validator: the package it looks at, and the graders that it does not bring along yet."""
