# SPDX-License-Identifier: BSD-3-Clause
"""pstats files, read by Python's pstats, by SnakeViz and by gprof2dot, and compared with cProfile."""

import cProfile
import json
import marshal
import pstats
import runpy

import pytest
import written


def stats(*options):
    return pstats.Stats(str(written.written("pstats", *options))).stats


def line(text):
    return written.SOURCE.split(text)[0].count("\n") + 1


def key(name):
    short = name.rpartition(".")[2]
    return written.file(), written.rows()[name]["line"], short


def test_calls():
    found = stats()
    for name, visits in written.VISITS.items():
        assert found[key(name)][1] == visits + written.RESUMED.get(name, 0), name


def test_keys_are_those_of_cprofile():
    assert key("fib") == (written.file(), line("def fib"), "fib")
    assert (written.file(), line("lambda x"), "<lambda>") in stats()
    assert (written.file(), line("return sum"), "<genexpr>") in stats()


def test_primitive_calls_of_recursion():
    found = stats()
    assert found[key("fib")][:2] == (1, 25)
    assert found[key("even")][:2] == (1, 4)
    assert found[key("odd")][:2] == (1, 4)
    assert found[key("fib")][4][key("fib")][:2] == (24, 2)  # calls, primitive calls: the two below the outermost call
    assert found[key("odd")][4][key("even")][:2] == (4, 1)


def test_times():
    found = stats()
    for name, row in written.rows().items():
        if name in written.VISITS:
            _, _, own, total, _ = found[key(name)]
            assert own == pytest.approx(row["excl"], abs=1e-9)
            assert total == pytest.approx(row["incl"], abs=1e-9)
    known = sum(row["excl"] for row in written.model().flat() if row["kind"] != "root")
    assert sum(entry[2] for entry in found.values()) == pytest.approx(known, rel=1e-9)


def test_callers_are_entries_and_add_up():
    found = stats()
    for entry in found.values():
        assert set(entry[4]) <= set(found)
        assert sum(caller[0] for caller in entry[4].values()) <= entry[1]
    leaf = found[key("leaf")]
    assert sum(caller[0] for caller in leaf[4].values()) == leaf[1]
    assert sum(caller[2] for caller in leaf[4].values()) == pytest.approx(leaf[2], abs=1e-9)


def test_user_regions():
    """A user region has the source location of its first call."""
    assert stats()[written.file(), line("with spartito.region"), written.REGION][:2] == (2, 2)


def test_c_functions_are_named_as_cprofile_names_them():
    found = stats("--c-calls")
    assert found["~", 0, "<built-in method builtins.len>"][4][key("make.<locals>.<lambda>")][:2] == (4, 4)
    assert found["~", 0, "<built-in method builtins.sum>"][4][key("Grid.smooth")][:2] == (10, 10)
    assert found[key("Grid.smooth.<locals>.<genexpr>")][4]["~", 0, "<built-in method builtins.sum>"][:2] == (110, 110)


def test_same_counts_as_cprofile(tmp_path):
    """The program under cProfile, in one thread, has the same counts as that thread."""
    source = written.SOURCE.replace("thread.start()", "worker()").replace("thread.join()", "pass")
    program = tmp_path / "known.py"
    program.write_text(source, encoding="utf-8")
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    runpy.run_path(str(program), run_name="__main__")
    profile.disable()
    profile.create_stats()
    of_cprofile = {(k[1], k[2]): v for k, v in profile.stats.items() if k[0] == str(program)}
    of_spartito = {(k[1], k[2]): v for k, v in stats().items() if k[0] == written.file()}
    for name in ("fib", "even", "odd", "pulse", "leaf", "smooth", "<genexpr>", "<lambda>", "caught", "thrown"):
        (k,) = [k for k in of_spartito if k[1] == name]
        assert of_spartito[k][:2] == of_cprofile[k][:2], name
        if name == "smooth":  # called from a user region, which cProfile does not know
            continue
        calls = {(c[1], c[2]): v[:2] for c, v in of_spartito[k][4].items() if c[0] == written.file()}
        assert calls == {(c[1], c[2]): v[:2] for c, v in of_cprofile[k][4].items() if c[0] == str(program)}, name


def test_marshal_is_plain():
    data = written.written("pstats").read_bytes()
    assert data[:1] == b"{"
    assert isinstance(marshal.loads(data), dict)


def test_prints():
    p = pstats.Stats(str(written.written("pstats")))
    p.sort_stats("cumulative").print_stats(5)
    p.print_callers(5)
    p.print_callees(5)


def test_snakeviz():
    from snakeviz.stats import json_stats, table_rows

    p = pstats.Stats(str(written.written("pstats")))
    assert len(table_rows(p)) == len(stats())
    tree = json_stats(p)
    assert any(name.endswith("(fib)") for name in (json.loads(tree) if isinstance(tree, str) else tree))


def test_gprof2dot():
    import gprof2dot

    profile = gprof2dot.PstatsParser(str(written.written("pstats"))).parse()
    (fib,) = [f for f in profile.functions.values() if f.name.endswith(":fib")]
    assert fib.called == 25
    assert fib[gprof2dot.TOTAL_TIME] == pytest.approx(written.rows()["fib"]["incl"], rel=1e-6, abs=1e-9)
