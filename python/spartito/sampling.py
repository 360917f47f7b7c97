# SPDX-License-Identifier: BSD-3-Clause
"""The process that samples those of a run: begun before the program, and waited for after it."""

from __future__ import annotations

import os

from spartito import _sample
from spartito.say import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.settings import Value

RECORDED = ("memory", "when_full", "filter", "only_mine", "metrics")  # settings that are the sampler's too
LONGEST = 30  # seconds that the last files may take


class Sampling:
    """pid: of the process that the measured ones let look into them; end: a descriptor that is written to at the program's end."""

    def __init__(self, pid: int, end: int) -> None:
        self.pid = pid
        self.end = end

    def finish(self) -> None:
        """Waits until the samples of all processes that have ended are in their files."""
        import select

        try:
            os.write(self.end, b"e")
            if not select.select([self.end], [], [], LONGEST)[0]:
                complain("--sample: the last samples are not written yet")
        except OSError:
            pass  # it was killed; what it wrote is there
        os.close(self.end)


def records_calls(values: dict[str, Value]) -> bool:
    """Whether functions are recorded as well: without a word about it, samples take their place, but for a trace."""
    calls = values["calls"]
    if calls.origin != "default":
        return calls.text == "1"
    return values["sample"].text != "1" or values["trace"].text == "1"


def begin(directory: str, values: dict[str, Value], calls: bool, quiet: bool) -> Sampling | None:
    """None: nothing can be sampled here; calls: they are recorded as well; quiet: another rank says so."""
    why = _sample.check()
    if why:
        if not quiet:
            complain(f"--sample: no samples: {why}")
        return None
    other = [name for name in values["metrics"].text.split(",") if name and not name.startswith("perf:")]
    if other and not calls and not quiet:
        complain(f"--sample: {', '.join(other)} cannot be counted by samples, perf:… can; --calls counts them with the calls")
    settings = [b"instrument", b"1" if calls else b"0"]
    for value in values.values():
        if value.setting.name in RECORDED:
            settings += [os.fsencode(value.setting.name), os.fsencode(value.text)]
    rate = int(values["sample_rate"].text)
    try:
        return Sampling(*_sample.manage(directory, settings, rate, values["sample_native"].text == "1"))
    except OSError as e:
        if not quiet:
            complain(f"--sample: no samples: {e.strerror}")
        return None
