// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import { App } from "./app";
import { loadMore } from "./parts/later";
import { FileSource, ServerSource } from "./data/source";
import { Live, sourceOf } from "./state/live";
import { Store, range } from "./state/store";
import { views } from "./views/index";
import { laterViews } from "./views/later";
import "./style.css";
import "./parts/parts.css";

const version = Number(document.body.dataset["live"] ?? 0); // of a run that has not ended; otherwise 0
const source = FileSource.in(document) ? new FileSource(document) : version ? sourceOf(version) : new ServerSource("data/");
const store = new Store(source);
const live = version ? new Live(store, version) : undefined;
live?.start();

// send all first queries at once, so the first picture waits for only one round trip
for (const [kind, params] of [
  ["facts", {}],
  ["regions", {}],
  [store.selection.view === "summary" || store.selection.view === "table" ? "flat" : "tree", range(store.selection)],
] as const)
  source.get(kind, params).catch(() => undefined); // the view that needs the answer reports the error
if (source instanceof ServerSource && store.selection.view in laterViews) loadMore().catch(() => undefined);

declare global {
  interface Window {
    /** For tests: the selection, the state of the current view, and the names of all views of the page. */
    spartito: { store: Store; state: () => unknown; views?: readonly string[] };
  }
}
window.spartito = { store, state: () => store.state(), views: views.map((view) => view.id) };
const place = document.getElementById("app") ?? document.body.appendChild(document.createElement("div"));
place.id = "app";
render(<App store={store} live={live} />, place);
