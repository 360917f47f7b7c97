# SPDX-License-Identifier: BSD-3-Clause
"""Score-P's filter files: how they are read, their error messages, and the functions that they leave out."""

import pytest
from scorep_helpers import measured, program, results, run, visits


def read(tmp_path, text):
    from spartito.compat.scorep.filters import read

    (tmp_path / "filter").write_text(text)
    return read(str(tmp_path / "filter"))


def test_blocks_rules_and_comments(tmp_path):
    text = """\
# everything but one
SCOREP_REGION_NAMES_BEGIN # the regions
  EXCLUDE *  # first all
  INCLUDE __main__:f numpy:*
          other:[ab]?
SCOREP_REGION_NAMES_END
SCOREP_FILE_NAMES_BEGIN
  EXCLUDE */lib/*
  INCLUDE MANGLED */lib/a\\ b.py */\\#c
SCOREP_FILE_NAMES_END
SCOREP_REGION_NAMES_BEGIN EXCLUDE MANGLED x SCOREP_REGION_NAMES_END
"""
    assert read(tmp_path, text) == [
        "-region:*", "+region:__main__:f", "+region:numpy:*", "+region:other:[ab]?",
        "-file:*/lib/*", "+file:*/lib/a b.py", "+file:*/#c", "-region:x",
    ]


def test_empty_files_and_blocks(tmp_path):
    assert read(tmp_path, "") == read(tmp_path, "# nothing\n\n") == []
    assert read(tmp_path, "SCOREP_FILE_NAMES_BEGIN\nSCOREP_FILE_NAMES_END\n") == []


def test_module_re_is_no_regular_expression(tmp_path):
    assert read(tmp_path, "SCOREP_REGION_NAMES_BEGIN EXCLUDE re:* SCOREP_REGION_NAMES_END") == ["-region:\\re:*"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\nEXCLUDE *\n", 2, "'EXCLUDE' where SCOREP_REGION_NAMES_BEGIN"),
        ("SCOREP_REGION_NAME_BEGIN\n", 1, "'SCOREP_REGION_NAME_BEGIN' where"),
        ("SCOREP_REGION_NAMES_BEGIN\n  foo\nSCOREP_REGION_NAMES_END\n", 2, "'foo' where EXCLUDE or INCLUDE"),
        ("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE a\n\n", 1, "is not ended by SCOREP_REGION_NAMES_END"),
        ("SCOREP_REGION_NAMES_BEGIN\nEXCLUDE a\nSCOREP_FILE_NAMES_END\n", 3, "SCOREP_FILE_NAMES_END within the block"),
        ("SCOREP_FILE_NAMES_BEGIN\nSCOREP_FILE_NAMES_BEGIN\n", 2, "within the block"),
        ("SCOREP_FILE_NAMES_BEGIN\nEXCLUDE\nSCOREP_FILE_NAMES_END\n", 3, "EXCLUDE without a pattern"),
        ("SCOREP_FILE_NAMES_BEGIN\nEXCLUDE # all\nINCLUDE a\nSCOREP_FILE_NAMES_END\n", 3, "EXCLUDE without a pattern"),
        ("SCOREP_FILE_NAMES_END\n", 1, "where"),
        ("# x\n\0\n", 2, "NUL"),
    ],
)
def test_malformed_files(tmp_path, text, line, message):
    program(tmp_path, "print('ran')")
    (tmp_path / "my.filter").write_text(text)
    done = run(tmp_path, "program.py", env={"SCOREP_FILTERING_FILE": "my.filter"})
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.startswith(f"scorep: filter file my.filter, line {line}: ") and done.stderr.count("\n") == 1
    assert message in done.stderr
    assert not results(tmp_path)


PROGRAM = """\
    import part
    class Grid:
        def smooth(self): step()
        def rough(self): step()
    def step(): part.helper()
    for _ in range(3): Grid().smooth(), Grid().rough()
"""


def test_regions_and_files_are_left_out(tmp_path):
    program(tmp_path, "def helper(): pass\ndef other(): pass\n", "part.py")
    text = """\
SCOREP_REGION_NAMES_BEGIN
  EXCLUDE __main__.Grid:*
  INCLUDE __main__.Grid:rough
SCOREP_REGION_NAMES_END
SCOREP_FILE_NAMES_BEGIN
  EXCLUDE */part.py
SCOREP_FILE_NAMES_END
"""
    (tmp_path / "f").write_text(text)
    env = {"SCOREP_FILTERING_FILE": "f"}
    found = visits(measured(tmp_path, PROGRAM, env=env))
    assert found["__main__.Grid:rough"] == 3 and found["__main__:step"] == 6
    assert "__main__.Grid:smooth" not in found and "part:helper" not in found
    # an included name does not bring back functions of an excluded file
    (tmp_path / "f").write_text(text.replace("SCOREP_REGION_NAMES_END", "INCLUDE part:helper\nSCOREP_REGION_NAMES_END"))
    assert "part:helper" not in visits(measured(tmp_path, PROGRAM, env=env))


def test_user_regions_are_filtered_by_their_full_name(tmp_path):
    (tmp_path / "f").write_text("SCOREP_REGION_NAMES_BEGIN EXCLUDE user:quiet* SCOREP_REGION_NAMES_END\n")
    source = """\
        import scorep.user
        with scorep.user.region("quiet one"): pass
        with scorep.user.region("loud"): pass
    """
    found = visits(measured(tmp_path, source, env={"SCOREP_FILTERING_FILE": "f"}))
    assert found["user:loud"] == 1 and "user:quiet one" not in found
