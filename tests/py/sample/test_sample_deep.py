# SPDX-License-Identifier: BSD-3-Clause
"""`spartito run --sample` with stacks so deep that one sample fills a large part of a chunk."""

import pytest
from spartito._sample import check
from test_sample_run import model, rows, run

pytestmark = pytest.mark.skipif(check() is not None, reason=f"other processes cannot be sampled here: {check()}")


def test_lines_of_deep_stacks_fit_into_the_file(tmp_path):
    """All lines of each sample differ from those of the sample before it: they need more than one record."""
    levels = "\n".join(f"    if n % 2 == {i}:\n        return deeper(n - 1, odd)" for i in range(2))
    program = f"""
import sys, threading
sys.setrecursionlimit(10000)
threading.stack_size(256 << 20)
def deeper(n, odd):
    if n < 2:
        return work(0, 2)
    if odd:
        return deeper(n - 1, odd)
{levels}
def thread():
    for i in range(60):
        deeper(900, i % 2)
thread = threading.Thread(target=thread)
thread.start()
thread.join()
"""
    run(tmp_path, program, "-q", "--trace", "--sample-rate", "200")
    info = model(tmp_path).info()
    assert info["problems"] == []
    assert rows(model(tmp_path))["__main__:deeper"]["metrics"]
