# SPDX-License-Identifier: BSD-3-Clause
"""Reads an OTF2 archive with otf2-print, which shares no code with Spartito."""

import re
import resource
import shutil
import subprocess
from collections import Counter

EVENT = re.compile(r'^(ENTER|LEAVE) +(\d+) +(\d+) +Region: "(.*)" <(\d+)>$')
LOCATION = re.compile(r'^LOCATION +(\d+) +Name: "(.*?)" <\d+>, Type: CPU_THREAD, # Events: (\d+), Group: "(.*?)" <(\d+)>')
OTF2_PRINT = shutil.which("otf2-print")


def many_files():
    """otf2-print keeps several files open for each location. The soft limit of descriptors is often 1024."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else 8192, hard))


class Trace:
    """enters and leaves by region name, callers by (callee, caller), locations {id: (name, group)}, faults in the archive."""

    def __init__(self, anchor):
        self.enters, self.leaves, self.callers = Counter(), Counter(), Counter()
        self.locations, self.groups, self.faults = {}, set(), []
        self.events = 0
        for line in self.lines("-G", anchor):
            match = LOCATION.match(line)
            if match:
                self.locations[int(match[1])] = match[2]
                self.groups.add(match[5])
        stacks, last = {}, {}
        for line in self.lines(anchor):
            match = EVENT.match(line)
            if match:
                self.event(match, stacks.setdefault(match[2], []), last)
        self.faults += [f"location {where}: {len(stack)} regions never left" for where, stack in stacks.items() if stack]

    def event(self, match, stack, last):
        kind, where, time, name, region = match.groups()
        self.events += 1
        if int(time) < last.get(where, 0):
            self.faults.append(f"location {where}: time goes back at {time}")
        last[where] = int(time)
        if kind == "ENTER":
            self.enters[name] += 1
            self.callers[name, stack[-1][1] if stack else ""] += 1
            stack.append((region, name))
        else:
            self.leaves[name] += 1
            if not stack or stack.pop()[0] != region:
                self.faults.append(f"location {where} at {time}: {name} left without being the innermost")

    @staticmethod
    def lines(*arguments):
        command = [OTF2_PRINT, *map(str, arguments)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", preexec_fn=many_files
        ) as p:
            yield from (line.rstrip("\n") for line in p.stdout)
            errors = p.stderr.read()
        if p.returncode or "ERROR" in errors:
            raise AssertionError(f"{' '.join(command)}: {errors}")


def anchor_in(directory):
    found = sorted(directory.rglob("*.otf2"))
    assert len(found) == 1, f"one anchor file expected, found {found}"
    return found[0]
