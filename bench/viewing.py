# SPDX-License-Identifier: BSD-3-Clause
"""Level-of-detail index and questions of the viewer for a large trace: time to make the index, and time to answer."""

import os
import shutil
import subprocess

# One location, so one core. Processor times: the minimum of three indexes, the maximum over all positions at a zoom level.
CODE = """
import json, os, random, sys, time
import spartito._analyse as a
index = os.path.join(sys.argv[1], "lod")
def took(kind, **parameters):
    begin = time.process_time()
    m.view(kind, **parameters)
    return time.process_time() - begin
made = []
for _ in range(3):
    if made:
        os.remove(index)
    m = a.Model(sys.argv[1])
    made.append(took("timeline", location=0, pixels=10))
info, r = m.info(), random.Random(1)
end = info["end"] - info["begin"]
worst = dict.fromkeys(("timeline", "overview", "tree"), 0.0)
for zoom in (1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000, 1000000):
    for _ in range(5):
        begin = r.random() * (end - end / zoom)
        part = {"begin": begin, "end": begin + end / zoom}
        for kind in worst:
            given = {"timeline": {"location": 0, "pixels": 1500}, "overview": {"pixels": 1500}, "tree": {}}[kind]
            worst[kind] = max(worst[kind], took(kind, **part, **given))
size = os.path.getsize(index)
print(json.dumps([info["events"], min(made), *worst.values(), size]))
"""


def collect(bench, work, quick):
    import figures  # figures imports this module

    rows = []
    for count in (1000000,) if quick else (10000000, 100000000):
        directory = os.path.join(work, "viewing")
        subprocess.run([figures.rawgen(), directory, "200", "0", "1", str(count), "1", "narrow"], check=True)
        events, made, timeline, overview, tree, size = figures.ask(bench, CODE, directory)
        shutil.rmtree(directory)
        rate, of = events / made / 1e6, f"{count:,} events"
        rows += [
            (f"level-of-detail index of {of}, million events a second, one core", f"{rate:.1f}", "at least 20", rate >= 20),
            (f"level-of-detail index of {of}, bytes an event", f"{size / events:.1f}", "", None),
            (f"timeline of 1,500 pixels of {of}, any zoom, ms", f"{timeline * 1e3:.1f}", "under 20", timeline < 0.02),
            (f"overview of 1,500 pixels of {of}, any zoom, ms", f"{overview * 1e3:.1f}", "under 20", overview < 0.02),
            (f"call tree of a range of {of}, ms", f"{tree * 1e3:.1f}", "under 100", tree < 0.1),
        ]
    return rows
