# SPDX-License-Identifier: BSD-3-Clause
"""The page in a real browser: which URLs it requests, equal numbers from the server and from one HTML file, and what a hostile page
in the same browser can read."""

import json
import subprocess
import sys

import browser
import pytest
from spartito import analysis
from spartito.view import kinds, onefile
from spartito.view import page as static
from test_view_verb import Viewing

pytestmark = pytest.mark.skipif(not browser.CHROMIUM, reason="needs chromium")

PROGRAM = """
import threading
def leaf(n): return sum(range(n))
def branch(n):
    for i in range(n): leaf(i)
t = threading.Thread(target=branch, args=(500,))
t.start(); t.join(); branch(1000)
"""
# records the questions that got no answer
LISTEN = """(() => {
  const source = window.spartito.store.source, get = source.get.bind(source);
  window.refused = [];
  window.under_way = 0;
  source.get = (kind, parameters) => {
    const answer = get(kind, parameters);
    window.under_way++;
    answer.then(() => {}, (e) => window.refused.push([kind, parameters, e.message])).finally(() => window.under_way--);
    return answer;
  };
})()"""
FLAT = """(async () => {
  const source = window.spartito.store.source;
  const [regions, flat] = await Promise.all([source.get("regions"), source.get("flat")]);
  const columns = ["visits", "incl", "excl"].map((name) => flat.get(name));
  return Array.from(flat.get("region"), (r, i) => [regions.meta.names[r], ...columns.map((c) => c[i])]);
})()"""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("page")
    (cwd / "prog.py").write_text(PROGRAM)
    measure = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "--only-mine", "-o", "x", "--", sys.executable, "prog.py"]
    subprocess.run(measure, cwd=cwd, check=True)
    return cwd / "x"


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    page = browser.Browser(tmp_path_factory.mktemp("browser"))
    for domain in ("Network", "Log"):
        page.call(domain + ".enable")
    yield page
    page.close()


@pytest.fixture
def page(window):
    window.call("Page.navigate", url="about:blank")
    window.events.clear()
    return window


def requests(page):
    page.evaluate("new Promise((done) => setTimeout(done))")  # wait until the browser reported all earlier events
    return [e["params"]["request"]["url"] for e in page.events if e["method"] == "Network.requestWillBeSent"]


def complaints(page):
    return [e["params"]["entry"]["text"] for e in page.events if e["method"] == "Log.entryAdded"] + page.exceptions()


def shows(page, url, experiment):
    """Opens the page and compares its numbers with the model's."""
    page.call("Page.navigate", url=url)
    page.wait_for("window.spartito !== undefined && document.querySelector('#app')?.innerText.length > 0")
    flat = {name: numbers for name, *numbers in page.evaluate(FLAT)}
    rows = {row["name"]: [row["visits"], row["incl"], row["excl"]] for row in analysis.Model(str(experiment)).flat()}
    assert set(flat) == set(rows) and flat["__main__:leaf"][0] == 1500
    for name, numbers in rows.items():
        assert flat[name] == pytest.approx(numbers), name
    page.wait_for("document.body.innerText.includes('leaf')")


def test_the_server_is_all_that_the_page_asks(page, spartito, experiment):
    viewing = Viewing(spartito, "--no-browser", experiment)
    shows(page, viewing.url, experiment)
    assert {url for url in requests(page) if not url.startswith(viewing.url)} <= {"data:,"}
    assert complaints(page) == []
    assert viewing.end() == (0, "", "Ctrl-C ends it\n")


def test_one_file_shows_the_same_without_a_network(page, spartito, experiment):
    path = experiment.with_suffix(".html")
    subprocess.run([*spartito, "html", "-o", str(path), str(experiment)], check=True, stdout=subprocess.DEVNULL)
    page.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    try:
        shows(page, path.as_uri(), experiment)
        assert set(requests(page)) <= {path.as_uri(), "data:,"}
        assert complaints(page) == []
        # a question that the file cannot answer gives a message, and no request
        message = page.evaluate("window.spartito.store.source.get('tree', {begin: 0, end: 0.1}).then(() => '', (e) => e.message)")
        assert "spartito view" in message
        assert set(requests(page)) <= {path.as_uri(), "data:,"}
    finally:
        page.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)


def test_a_file_that_is_too_small_says_so_on_the_page(page, spartito, experiment):
    path = experiment.with_suffix(".small.html")
    text, pruned = onefile.document(kinds.open_experiment(str(experiment)), len(page_code()) + 40_000, True)
    assert pruned
    onefile.write(str(path), text)
    shows(page, path.as_uri(), experiment)
    for sentence in pruned:
        shown = sentence.replace("`", "")  # the page sets commands in another font, without backquotes
        page.wait_for(f"document.body.innerText.includes({json.dumps(shown)})")


def test_every_view_works_in_one_file(page, spartito, experiment):
    """Every view, also for one thread: the file contains what the view needs, and the content security policy blocks nothing."""
    path = experiment.with_suffix(".html")
    subprocess.run([*spartito, "html", "-o", str(path), str(experiment)], check=True, stdout=subprocess.DEVNULL)
    page.call("Page.navigate", url=path.as_uri())
    page.wait_for("document.querySelectorAll('[role=tab]').length > 0")
    page.evaluate(LISTEN)
    views = page.evaluate("window.spartito.views")
    assert len(views) > 20
    leaf = page.evaluate("window.spartito.store.source.get('regions').then((r) => r.meta.names.indexOf('__main__:leaf'))")
    for chosen in ({}, {"region": leaf}, {"region": leaf, "location": 1}):
        for view in views:
            page.evaluate(f"window.spartito.store.select({json.dumps({'view': view, **chosen})})")
            page.wait_for(
                f"document.querySelector('#view').getAttribute('aria-labelledby') === 'tab-{view}' && window.under_way === 0"
            )
            assert page.evaluate("window.refused") == [], (view, chosen)
            assert "has failed" not in page.evaluate("document.querySelector('#view').innerText"), view
    assert set(requests(page)) <= {path.as_uri(), "data:,"}
    assert complaints(page) == []


def page_code():
    return b"".join(static.asset(name) for name in ("app.js", "more.js", "app.css"))


HOSTILE = """(async () => {
  const url = URL_OF_THE_PAGE, answers = {};
  const loads = (element, name, value) => new Promise((done) => {
    element.onload = () => done("loaded");
    element.onerror = () => done("refused");
    element[name] = value;
    document.body.append(element);
  });
  const read = (options) => fetch(url + "data/facts", options).then(async (r) => (await r.text()) || r.type, () => "refused");
  answers.cors = await read({});
  answers.opaque = await read({ mode: "no-cors" });
  answers.post = await read({ method: "POST", mode: "no-cors" });
  answers.credentials = await read({ credentials: "include" });
  answers.script = await loads(document.createElement("script"), "src", url + "app.js");
  answers.style = await loads(Object.assign(document.createElement("link"), { rel: "stylesheet" }), "href", url + "app.css");
  answers.image = await loads(document.createElement("img"), "src", url + "data/facts");
  answers.object = await loads(document.createElement("object"), "data", url + "data/facts");
  answers.socket = await new Promise((done) => {
    const socket = new WebSocket(url.replace("http:", "ws:") + "data/facts");
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  answers.events = await new Promise((done) => {
    const events = new EventSource(url + "data/facts");
    events.onmessage = events.onopen = () => done("open");
    events.onerror = () => (events.close(), done("refused"));
  });
  const target = Object.assign(document.createElement("iframe"), { name: "target" });
  const form = Object.assign(document.createElement("form"), { action: url + "data/facts", target: "target" });
  document.body.append(target, form);
  for (form.method of ["get", "post"]) {
    const sent = new Promise((done) => (target.onload = done));
    form.submit();
    await sent;
    const body = target.contentDocument?.body;
    answers["form " + form.method] = body?.innerText || "refused";
  }
  const frame = document.createElement("iframe");
  await loads(frame, "src", url);
  answers.frame = frame.contentDocument === null ? "refused" : frame.contentDocument.body.innerText || "refused";
  return answers;
})()"""


def test_a_hostile_page_reads_nothing_even_with_the_address(page, spartito, experiment, tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html><title>hostile</title><body>")
    other, viewing = browser.Server(tmp_path), Viewing(spartito, "--no-browser", experiment)
    try:
        for host in ("127.0.0.1", "localhost"):  # another site, and another origin of the same site
            page.call("Page.navigate", url=other.url.replace("127.0.0.1", host) + "/index.html")
            page.wait_for("document.title === 'hostile'")
            reported = page.evaluate(HOSTILE.replace("URL_OF_THE_PAGE", json.dumps(viewing.url)))
            assert set(reported.values()) == {"refused"}, reported
            answers = [e["params"]["response"] for e in page.events if e["method"] == "Network.responseReceived"]
            statuses = {answer["status"] for answer in answers if answer["url"].startswith(viewing.url)}
            assert statuses == {403, 405}, statuses  # the server refused the requests: not only did the browser hide the answers
            assert "spartito" not in page.evaluate("Object.keys(window).join()")
        # a host name of the attacker that resolves to this machine
        page.call("Page.navigate", url=viewing.url.replace("127.0.0.1", "evil.localhost"))
        page.wait_for("document.body.innerText.includes('Not allowed')")
        assert page.evaluate("fetch('data/facts').then((r) => r.status)") == 403
    finally:
        assert viewing.end()[0] == 0
        other.close()
