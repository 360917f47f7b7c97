# SPDX-License-Identifier: BSD-3-Clause
"""spartito finalize: completes experiments with names, compression, merged file, level-of-detail index, formats and the summary."""

from __future__ import annotations

import os

from spartito._analyse import Error, Model, keep_symbols
from spartito.base.messages import Refused, complain
from spartito.base.text import plural, size, standard_output
from spartito.experiments import conversion, finalization, lod, mpiranks, rundir
from spartito.experiments.description import command, launcher
from spartito.experiments.finalization import Wanted
from spartito.experiments.mpiranks import Ranks
from spartito.experiments.reading import check, named
from spartito.options.table import Usage
from spartito.report import summary
from spartito.run import linepatterns


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
            status |= _Experiment(named(directory), values).finalize(formats, ranks)
        except (Refused, Error, OSError) as e:
            if len(operands) == 1 and not (ranks and ranks.rank):
                raise
            status = 1
            if not ranks:
                complain(str(e))
            elif ranks.rank:
                ranks.job.wait_for_report()
    return status


class _Experiment:
    """One experiment, and the options of the command line. changed: something was done."""

    def __init__(self, directory: str, values: dict[str, object]) -> None:
        self.directory = directory
        self.quiet, self.force, self.compress = (bool(values.get(key)) for key in ("quiet", "force", "compress"))
        self.index = not values.get("no_index")
        self.changed = False

    def _report(self, text: str) -> None:
        self.changed = True
        if not self.quiet:
            standard_output().line(f"{self.directory}: {text}")

    def finalize(self, formats: list[str], ranks: Ranks | None) -> int:
        """Finalizes the experiment and returns the exit status. ranks: if mpiexec started several ranks of this command, they merge
        together. Refused, Error, OSError: it failed."""
        check(self.directory)
        if ranks and ranks.rank:
            conversion.merge(self.directory, self.force, quiet=True, ranks=ranks)
            return 0
        finalization.refuse_unfinished(self.directory, "finalized")
        rundir.Found(self.directory).seal()
        wanted = Wanted(self.directory)
        wanted.to = list(dict.fromkeys([*wanted.to, *formats]))
        wanted.compress |= self.compress
        if wanted.compress:
            self._compress()
        self._symbols()
        self._merge(ranks)
        model = Model(self.directory)
        self._make_index(model)
        ran = command(launcher(self.directory)[0], model.info())
        for line in linepatterns.unmatched(model, wanted.lines, ran):
            complain(line)
        has_formats = bool(wanted.to)
        wanted.to = [name for name in wanted.to if not self._convert(model, name)]
        wanted.compress, wanted.lines = False, []
        finalization.store(self.directory, wanted if wanted.to else None)
        if not self.quiet and (self.changed or wanted.pending or has_formats):
            summary.write(model, self.directory, rundir.label(ran), [])
        elif not self.quiet:
            self._report("finalized before, and nothing has changed since (--force: merge again)")
        return 1 if wanted.to else 0

    def _make_index(self, model: Model) -> None:
        wanted = self.index and lod.may_be_large(self.directory) and lod.is_large(model)
        if wanted and lod.make(model, self.directory, self.quiet):
            self._report("made the level-of-detail index of the trace")

    def _compress(self) -> None:
        before, after = conversion.compress(self.directory)
        if after != before:
            self._report(f"compressed {size(before)} to {size(after)}")

    def _symbols(self) -> None:
        kept = keep_symbols(self.directory)
        if kept["added"]:
            self._report(f"stored the names of {plural(kept['added'], 'compiled function')}")
        if kept["unknown"]:
            complain(
                f"{self.directory}: {plural(kept['unknown'], 'compiled function')} without file and line: the object files are "
                "missing, or were built again since the run"
            )

    def _merge(self, ranks: Ranks | None) -> None:
        raw = os.path.join(self.directory, "raw")
        files = sum(name.endswith(".raw") and not name.endswith(rundir.SAMPLES) for name in os.listdir(raw))
        if files < 2 and not self.force and not ranks:  # a single raw file loads as fast as a merged one, unless it is large
            done = conversion.merge_large(self.directory, self.quiet)
        else:
            done = conversion.merge(self.directory, self.force, self.quiet, ranks)
        if done and not done["current"]:
            self._report(
                f"merged {plural(done['processes'], 'process')} with {plural(done['locations'], 'thread')} and "
                f"{plural(done['paths'] - 1, 'call path')} ({size(done['bytes'])})"
            )

    def _convert(self, model: Model, name: str) -> bool:
        """Writes the format beside the experiment. Returns whether it succeeded."""
        try:
            self._report(conversion.put_beside(model, self.directory, name))
        except (Error, Refused, OSError) as e:
            complain(f"{self.directory}: {name}: {e}")
            return False
        return True
