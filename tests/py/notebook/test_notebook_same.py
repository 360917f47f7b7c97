# SPDX-License-Identifier: BSD-3-Clause
"""Measured cells behave as in a plain kernel: output, errors with their lines, values, displays and cell numbers."""

import pytest
from notebookcells import CELLS

notebook = pytest.importorskip("notebook")
from kernel_helpers import is_ours, start  # noqa: E402

# Another thread tells with a file that the cell is in its loop: an interrupt must not occur in a function such as print(), which
# takes locks and sends messages. Sleeps in steps: a signal just before a sleep does not end it, and ipykernel's loop handles a
# signal only when it wakes up.
LOOP = """import asyncio, pathlib, threading, time
looping = False
def tell():
    while not looping:
        time.sleep(0.01)
    pathlib.Path('looping').touch()
threading.Thread(target=tell, daemon=True).start()
print('before')
looping = True
while True:
    """
BUSY, ASLEEP, WAITING = LOOP + "pass", LOOP + "time.sleep(1)", LOOP + "await asyncio.sleep(0.01)"
ASKING = "input('answer? ')"


def extended(directory, specs):
    kernel = notebook.Kernel(directory)
    kernel.ok("%load_ext spartito")
    return kernel


@pytest.fixture(scope="module", params=["%%spartito --trace", "%%execute_with_scorep"])
def kernels(tmp_path_factory, request):
    """(plain kernel, measured kernel, line above a measured cell); the kernels run in two directories with the same contents."""
    above = tmp_path_factory.mktemp("same")
    for name in ("plain", "measured"):
        (above / name).mkdir()
    measuring = start if "scorep" in request.param else extended
    with notebook.Kernel(above / "plain") as plain, measuring(above / "measured", above / "specs") as measured:
        if measuring is extended:
            plain.ok("1;")  # keeps the cell numbers equal
        yield plain, measured, request.param


def test_there_are_enough():
    assert len(CELLS) >= 100


def test_cells_in_order(kernels):
    plain, measured, mark = kernels
    for code, *answers in CELLS:
        _, cell = notebook.same(plain, measured, code, mark, *answers, without=is_ours)
        # a syntax error has no stack and no result
        ran = not (cell.error and cell.error[0] in ("SyntaxError", "IndentationError")) or "most recent call" in cell.traceback
        assert len([o for o in cell.outputs if is_ours(o)]) == ran, cell


def interrupted(kernel, code):
    looping = kernel.directory / "looping"
    looping.unlink(missing_ok=True)
    running = kernel.begin(code).until(looping.exists)
    kernel.interrupt()
    return running.end()


@pytest.mark.parametrize("code", [BUSY, ASLEEP, WAITING, ASKING])
def test_interrupts(kernels, code):
    plain, measured, mark = kernels
    if code == ASKING:
        found = [plain.run("#\n" + code, KeyboardInterrupt), measured.run(f"{mark}\n{code}", KeyboardInterrupt)]
    else:
        found = [interrupted(plain, "#\n" + code), interrupted(measured, f"{mark}\n{code}")]
    # The line of the interrupt may differ. An interrupt before input() waits has another message.
    seen = [(cell.status, cell.error and cell.error[: 1 if code == ASKING else None], cell.count, cell.text,
             "Cell In[" in cell.traceback) for cell in found]  # fmt: skip
    assert seen[0] == seen[1], found
    assert found[1].error and len(list(filter(is_ours, found[1].outputs))) == 1, found[1]
    notebook.same(plain, measured, "'goes on'", mark, without=is_ours)
