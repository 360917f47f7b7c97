# SPDX-License-Identifier: BSD-3-Clause
"""spartito finalize: what a run with --no-finalize has left for later."""

from __future__ import annotations

import os

from spartito import conversion, finalization, linepatterns, mpiranks, pyramid, rundir, summary
from spartito._analyse import Error, Model, keep_symbols
from spartito.finalization import Wanted
from spartito.mpiranks import Ranks
from spartito.options import Usage
from spartito.reading import check, command, launcher, named
from spartito.say import Refused, complain
from spartito.text import plural, size, standard_output


def main(values: dict[str, object], operands: list[str]) -> int:
    if not operands:
        raise Usage("no experiment given: spartito finalize DIR")
    formats = [conversion.find(name).name for name in str(values.get("to") or "").split(",") if name]
    ranks = mpiranks.find()
    if ranks and len(operands) > 1:
        raise Usage(f"under mpiexec one experiment at a time, not also {operands[1]!r}")
    status = 0
    for directory in operands:
        try:
            one = _One(named(directory), bool(values.get("quiet")))
            status |= one.all(formats, bool(values.get("compress")), ranks)
        except (Refused, Error, OSError) as e:
            if len(operands) == 1 and not (ranks and ranks.rank):
                raise
            status = 1
            if not ranks:
                complain(str(e))
            elif ranks.rank:
                ranks.job.let_speak()
    return status


class _One:
    def __init__(self, directory: str, quiet: bool) -> None:
        self.directory = directory
        self.quiet = quiet
        self.did = False

    def _tell(self, text: str) -> None:
        self.did = True
        if not self.quiet:
            standard_output().line(f"{self.directory}: {text}")

    def all(self, formats: list[str], compress: bool, ranks: Ranks | None) -> int:
        """The exit status. Refused, Error, OSError: it cannot go on."""
        check(self.directory)
        if ranks and ranks.rank:
            conversion.merge(self.directory, quiet=True, ranks=ranks)
            return 0
        finalization.refuse_unfinished(self.directory, "finalized")
        rundir.Found(self.directory).seal()
        wanted = Wanted(self.directory)
        wanted.to = list(dict.fromkeys([*wanted.to, *formats]))
        wanted.compress |= compress
        if wanted.compress:
            self._compress()
        self._symbols()
        self._merge(ranks)
        model = Model(self.directory)
        if pyramid.may_be_large(self.directory) and pyramid.is_large(model) and pyramid.make(model, self.directory, self.quiet):
            self._tell("made what the trace is opened fast with")
        ran = command(launcher(self.directory)[0], model.info())
        for line in linepatterns.unmatched(model, wanted.lines, ran):
            complain(line)
        asked = bool(wanted.to)
        wanted.to = [name for name in wanted.to if not self._convert(model, name)]
        wanted.compress, wanted.lines = False, []
        finalization.keep(self.directory, wanted if wanted.to else None)
        if not self.quiet and (self.did or wanted.waits or asked):
            summary.write(model, self.directory, rundir.label(ran), [])
        elif not self.quiet:
            self._tell("finalized before, and nothing has changed since")
        return 1 if wanted.to else 0

    def _compress(self) -> None:
        before, after = conversion.compress(self.directory)
        if after != before:
            self._tell(f"compressed {size(before)} to {size(after)}")

    def _symbols(self) -> None:
        kept = keep_symbols(self.directory)
        if kept["added"]:
            self._tell(f"kept the names of {plural(kept['added'], 'compiled function')}")
        if kept["unknown"]:
            complain(
                f"{self.directory}: {plural(kept['unknown'], 'compiled function')} without file and line: the object files are not "
                "here, or not those that were measured"
            )

    def _merge(self, ranks: Ranks | None) -> None:
        raw = os.path.join(self.directory, "raw")
        if not ranks and sum(name.endswith(".raw") and not name.endswith(rundir.SAMPLES) for name in os.listdir(raw)) < 2:
            return  # one file is opened as fast
        done = conversion.merge(self.directory, quiet=self.quiet, ranks=ranks)
        if not done["current"]:
            self._tell(f"merged {plural(done['processes'], 'process')} ({size(done['bytes'])})")

    def _convert(self, model: Model, name: str) -> bool:
        """Whether it is written."""
        try:
            self._tell(conversion.put_beside(model, self.directory, name))
        except (Error, Refused, OSError) as e:
            complain(f"{self.directory}: {name}: {e}")
            return False
        return True
