# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin for tools/sanitize_all.sh: skips the tests that cannot run in processes with AddressSanitizer, and prints at the
end how many these were, and why. In the other tests, Python objects are blocks of malloc, so that a use after free is detected.
Not in tests of memory, whose numbers depend on the allocator.

The keys of tests are paths below tests/py; one without brackets means all parameters of a test."""

import os
from collections import Counter

import browser
import pytest

browser.PATIENCE *= 5  # Jupyter starts about five times slower

# {why: tests}
UNSUITABLE = {
    "limits its address space, of which AddressSanitizer takes 20 TB": [
        "cli/test_faults_crash.py::test_address_space_limit",
    ],
    "puts an allocator of its own in the place of AddressSanitizer's": [
        "memory/test_memory.py::test_an_allocator_of_the_programs_own",
        "memory/test_memory_allocators.py::test_one_that_comes_before_the_wrappers",
        "waits/test_waits_faults.py::test_a_lock_that_is_taken_for_fork",
        "waits/test_waits_faults.py::test_an_allocator_with_a_lock",
    ],
    "counts calls of malloc by functions that AddressSanitizer has itself, with another way to memory: strdup, operator new": [
        "memory/test_memory_allocators.py::test_c_plus_plus",
        "memory/test_memory_allocators.py::test_the_rest_of_the_family",
    ],
    "writes behind a block of malloc, so that the C library finds it": [
        "waits/test_waits_faults.py::test_a_handler_of_a_crash",
    ],
    "uses greenlets, which copy pieces of the C stack, but not what AddressSanitizer has marked there": [
        "record/test_labels.py::test_programs_do_and_count_the_same[own_greenlet]",
        "record/test_lines.py::test_greenlets_take_turns",
        "record/test_metrics.py::test_programs[own_greenlet]",
        "record/test_programs.py::test_program[own_greenlet-evalframe]",
        "record/test_user_regions.py::test_greenlets_that_were_imported_before_the_start",
    ],
    "has an executable of its own, which is not linked to AddressSanitizer's library": [
        "memory/test_memory_allocators.py::test_an_executable_that_takes_the_address_of_malloc",
    ],
}
# {options of AddressSanitizer: tests that run with these}
OPTIONS = {
    # measures the memory of a process, or needs blocks at the address of earlier ones: released memory is reusable at once
    "quarantine_size_mb=0:thread_local_quarantine_size_kb=0": [
        "record/test_user_regions.py::test_many_measurements_keep_no_memory",
        "sample/test_sample_native_run.py::test_counters_of_call_paths",
        "waits/test_waits.py::test_the_address_of_a_lock_is_used_again",
    ],
}
MARK = "sanitized: "


def keys(table):
    return {f"tests/py/{name}": key for key, names in table.items() for name in names}


WHY, CHOSEN = keys(UNSUITABLE), keys(OPTIONS)


def of(found, item):
    return found.get(item.nodeid) or found.get(item.nodeid.split("[")[0])


def pytest_collection_modifyitems(items):
    for item in items:
        why = of(WHY, item)
        if why:
            item.add_marker(pytest.mark.skip(reason=MARK + why))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Called before fixtures of a module are created; an autouse fixture would be called too late."""
    os.environ["PYTHONMALLOC"] = "pymalloc" if item.path.parent.name == "memory" else "malloc"
    os.environ["ASAN_OPTIONS"] = of(CHOSEN, item) or ""
    return (yield)


def pytest_terminal_summary(terminalreporter):
    skipped = [report.longrepr for report in terminalreporter.stats.get("skipped", [])]
    reasons = [where[2] for where in skipped if isinstance(where, (tuple, list))]
    left_out = Counter(reason.split(MARK)[1] for reason in reasons if MARK in reason)
    terminalreporter.write_line(f"{left_out.total()} tests left out, as they cannot run in processes that AddressSanitizer watches")
    for why, count in left_out.most_common():
        terminalreporter.write_line(f"{count:>5} {why}")
