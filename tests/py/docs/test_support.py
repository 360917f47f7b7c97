# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/versions.md says what holds of this build of Python: each feature is tried, and its result compared."""

import importlib.util

import pytest
from conftest import ROOT

spec = importlib.util.spec_from_file_location("support_table", ROOT / "tools" / "support_table.py")
table = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)


@pytest.mark.parametrize("feature", table.FEATURES)
def test_the_table_says_what_holds(feature):
    documented = table.read()
    assert table.build() in documented, "tools/support_table.py --write adds this build"
    assert table.tried(feature) == documented[table.build()][feature]


def test_the_table_is_as_written():
    text = table.PAGE.read_text(encoding="utf-8")
    assert table.text_of(table.read()) == text.partition(table.BEGIN)[2].partition(table.END)[0]
