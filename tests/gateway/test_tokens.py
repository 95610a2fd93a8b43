"""Tokens of episodes: derived from a secret in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from companyos_gateway.engine.tokens import EpisodeTokens, InvalidSecretError, read_or_create_secret

SECRET = bytes(range(32))


def test_a_token_does_not_contain_the_episode_id_and_is_valid_in_a_header() -> None:
    token = EpisodeTokens(SECRET).token("n1-a")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert "n1-a" not in token


def test_a_token_depends_on_the_secret() -> None:
    token = EpisodeTokens(SECRET).token("n1-a")
    assert EpisodeTokens(SECRET).token("n1-a") == token
    assert EpisodeTokens(SECRET[::-1]).token("n1-a") != token


def test_tokens_of_removed_episodes_are_evicted_and_new_ones_found() -> None:
    tokens = EpisodeTokens(SECRET)
    first = tokens.token("n1-0")
    for generation in range(30):
        live = [f"n1-{generation * 100 + n}" for n in range(100)]
        assert tokens.find(tokens.token(live[50]), live) == live[50]
        assert (tokens.find(first, live) is None) == (generation > 0)
    assert len(tokens._digests) < 1500
    assert tokens.find(tokens.token(live[0]), live) == live[0]


def test_the_secret_is_not_part_of_the_repr() -> None:
    assert repr(SECRET) not in repr(EpisodeTokens(SECRET))
    with pytest.raises(ValueError, match="at least 32 bytes"):
        EpisodeTokens(SECRET[1:])


def test_a_temporary_file_of_a_killed_gateway_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "secret.tmp").write_text("half")
    assert len(read_or_create_secret(tmp_path)) == 32
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("content", ["", "abc", "z" * 64, "é", "00" * 31])
def test_a_file_without_a_valid_secret_is_an_error_and_is_kept(tmp_path: Path, content: str) -> None:
    (tmp_path / "secret").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidSecretError, match="must contain a secret"):
        read_or_create_secret(tmp_path)
    assert (tmp_path / "secret").read_text(encoding="utf-8") == content
