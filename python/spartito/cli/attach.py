# SPDX-License-Identifier: BSD-3-Clause
"""spartito attach: samples a running process."""

from __future__ import annotations

from spartito.base.messages import Refused, complain, reason, say
from spartito.base.text import as_argument
from spartito.cli.run import deferred_work
from spartito.experiments import rundir
from spartito.experiments.rundir import Found
from spartito.options.settings import resolve, strange_variables
from spartito.run.ending import finish
from spartito.run.implied import with_trace
from spartito.sample.attaching import Samplers, duration_of, image, interrupted, until
from spartito.sample.liveprofile import opened
from spartito.sample.operand import command_of, one_process


def main(given: dict[str, object], operands: list[str]) -> int:
    pid, duration = one_process("attach", operands), duration_of(given)
    given.pop("duration", None)
    values = resolve(given)
    for line in strange_variables():
        complain(line)
    texts = {value.setting.name: value.text for value in values}
    texts["lines"], texts["lines_only"] = "", "0"  # lines are counted within a process only
    if texts["to"]:
        with_trace(texts, values)
    opened(pid).close()  # reports an error before the experiment directory is made
    command = command_of(pid)
    directory = rundir.create(texts["output"], command, wanted=deferred_work(texts))
    samplers = Samplers(directory.path, {value.setting.name: value for value in values})
    quiet = texts["quiet"] == "1"
    with interrupted() as wanted:
        try:
            samplers.begin(pid)
        except OSError as e:
            directory.remove()
            raise Refused(f"process {pid} cannot be sampled: {e.strerror}") from None
        if not quiet:
            say(f"spartito: sampling process {pid} into {as_argument(directory.path)}" + ("" if duration else "; Ctrl-C ends it"))
        until(samplers, duration, wanted)
    became = "runs" if image(pid) else "ended"
    reasons = [sampler.why for sampler in (*samplers.before, *samplers.all.values()) if sampler.why]
    found = Found(directory.path)
    if not found.regions:
        directory.remove()
        why = "ended before it could be sampled" if became == "ended" else "ran no Python code in that time"
        raise Refused(reasons[0] if reasons else f"process {pid} {why}")
    for why in reasons:
        complain(f"not sampled: {why}")
    try:
        directory.describe(None, became)
    except OSError as e:
        complain(f"the end is not recorded in experiment.json: {reason(e)}")
    found.seal()
    finish(directory, found, texts, [])
    return 0
