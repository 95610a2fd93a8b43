"""Copies of databases: one session for all, tables that fit the width, and a built-in shell without sqlite3."""

from __future__ import annotations

import io
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer import Exit

from companyos.cli import read_only, sql
from companyos.cli.sql import DatabaseCopies, QueryResult, print_rows
from companyos.cli.terminal import OUT


def a_copy(path: Path, *lines: str) -> Path:
    with sqlite3.connect(path) as database:
        for line in lines:
            database.execute(line)
    database.close()
    return path


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[DatabaseCopies]:
    desk = a_copy(
        tmp_path / "it's a desk.sqlite3",
        "create table tickets (key text, vendor text, blob blob)",
        "insert into tickets values ('OPS-1', 'V-1', x'00ff'), ('OPS-2', null, null)",
        "create table _audit (step integer)",
    )
    hub = a_copy(
        tmp_path / "hub", "create table vendors (id text, name text)", "insert into vendors values ('V-1', 'A')"
    )
    attached = DatabaseCopies({"desk": desk, 'odd "name"': hub})
    yield attached
    attached.close()


def test_one_query_can_join_the_databases_of_several_services(copies: DatabaseCopies) -> None:
    joined = "select t.key, v.name from desk.tickets t left join vendors v on v.id = t.vendor order by t.key"
    assert copies.query_result(joined) == QueryResult(["key", "name"], [("OPS-1", "A"), ("OPS-2", None)])


def test_bookkeeping_tables_are_not_listed_but_can_be_queried(copies: DatabaseCopies) -> None:
    assert copies.query_result(".tables").rows == [("desk", "tickets", 2), ('odd "name"', "vendors", 1)]
    assert copies.query_result("select count(*) from _audit").rows == [(0,)]


def test_the_schema_of_a_table_is_printed(copies: DatabaseCopies) -> None:
    assert copies.query_result(".schema desk.tickets;").rows == [
        ("CREATE TABLE tickets (key text, vendor text, blob blob)",)
    ]


def test_bytes_are_printed_as_sql_literals(copies: DatabaseCopies) -> None:
    assert copies.query_result("select blob from tickets where key = 'OPS-1'").rows == [("x'00ff'",)]


@pytest.mark.parametrize("query", ["selct 1", ".dump", "select 1; select 2", "select * from payroll"])
def test_an_invalid_query_is_a_usage_error(copies: DatabaseCopies, query: str) -> None:
    with pytest.raises(Exit) as ended:
        copies.run_query(query)
    assert ended.value.exit_code == 2


def test_rows_too_wide_for_a_table_are_printed_vertically(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(OUT, "width", 80)
    columns = [f"column_{n}" for n in range(9)]
    print_rows(QueryResult(columns, [tuple("x" * 30 for _ in columns)]))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1:10] == [[column, "x" * 30] for column in columns]
    print_rows(QueryResult(columns[:3], [("a", 1, None)]))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [columns[:3], ["a", "1", "null"]]


def test_the_built_in_shell_continues_after_an_error_and_quits(
    copies: DatabaseCopies, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.StringIO(".help\nselct 1;\nselect key\n  from tickets;\n.quit\nselect 9;"))
    sql.open_shell(copies)
    message = capsys.readouterr()
    assert "OPS-2" in message.out
    assert "9" not in message.out.replace("OPS", "")
    assert 'near "selct": syntax error' in message.err


def test_a_statement_that_writes_is_rejected_with_the_reason(copies: DatabaseCopies) -> None:
    with pytest.raises(sqlite3.DatabaseError, match="only statements that read are accepted"):
        copies.query_result("delete from tickets")
    with pytest.raises(sqlite3.ProgrammingError, match="one statement at a time"):
        copies.query_result("select 1; select 2")


@pytest.mark.parametrize(
    "query",
    [
        "vacuum into '{there}'",
        "attach '{there}' as other",
        "detach desk",
        "pragma user_version = 7",
        "pragma desk.journal_mode = wal",
        "pragma temp_store_directory = '{folder}'",
        "pragma writable_schema = on",
        "select * from pragma_user_version",
        "select load_extension('{there}')",
        "select fts3_tokenizer('simple')",
        "select writefile('{there}', 'x')",
        "delete from tickets",
        "update tickets set key = 'OPS-9'",
        "insert into tickets values ('OPS-9', null, null)",
        "create table desk.more (a)",
        "create temp table more (a)",
        "create virtual table temp.found using fts5(a)",
        "create temp view more as select 1",
        "drop table tickets",
        "analyze",
        "begin",
        "savepoint one",
    ],
)
def test_a_query_can_only_read(copies: DatabaseCopies, tmp_path: Path, query: str) -> None:
    there = tmp_path / "there"
    before = {path: path.read_bytes() for path in copies.paths.values()}
    with pytest.raises(sqlite3.Error):
        copies.query_result(query.format(there=there, folder=tmp_path))
    assert not there.exists()
    assert {path: path.read_bytes() for path in copies.paths.values()} == before
    assert len(copies.query_result("select * from tickets").rows) == 2


@pytest.mark.parametrize(
    "query",
    [
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select max(i) from n",
        "select group_concat(key), row_number() over (order by key), json_extract('{\"a\": 5}', '$.a') from tickets",
        "select value from json_each('[5]')",
        "select count(*) from pragma_table_info('tickets')",
        "explain query plan select upper(key) from tickets where key like 'OPS%'",
        "values (5)",
    ],
)
def test_a_read_only_query_is_executed(copies: DatabaseCopies, query: str) -> None:
    assert copies.query_result(query).rows


def test_a_query_ends_at_its_deadline(copies: DatabaseCopies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_only, "QUERY_DEADLINE_S", 0.2)
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
    with pytest.raises(sqlite3.Error, match=r"longer than 0\.2 s"):
        copies.query_result(endless)
    assert copies.query_result("select 1").rows == [(1,)]


def test_a_query_with_too_many_rows_is_rejected(copies: DatabaseCopies) -> None:
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n limit {}) select i from n"
    assert len(copies.query_result(rows.format(read_only.MAX_ROWS)).rows) == read_only.MAX_ROWS
    with pytest.raises(sqlite3.Error, match=f"more than {read_only.MAX_ROWS} rows"):
        copies.query_result(rows.format(read_only.MAX_ROWS + 1))


def test_a_value_over_the_size_limit_is_rejected_before_it_takes_memory(copies: DatabaseCopies) -> None:
    with pytest.raises(sqlite3.Error, match="too big"):
        copies.query_result("select length(zeroblob(900000000))")


def test_a_view_of_a_copy_calls_no_unsafe_function(tmp_path: Path) -> None:
    path = a_copy(tmp_path / "copy", "create view trap as select fts3_tokenizer('simple')")
    copies = DatabaseCopies({"desk": path})
    with pytest.raises(sqlite3.Error):
        copies.query_result("select * from trap")
    copies.close()


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the sqlite3 program is not installed")
def test_the_sqlite3_shell_opens_the_copies_read_only(copies: DatabaseCopies) -> None:
    attach_statements = [part for line in copies.attach_statements() for part in ("-cmd", line)]
    shell = ["sqlite3", *attach_statements, ":memory:", "delete from desk.tickets"]
    ended = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert "readonly" in ended.stderr
