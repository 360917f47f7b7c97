// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import { App } from "./app";
import { loadMore } from "./parts/later";
import { FileSource, ServerSource } from "./data/source";
import { Store, range } from "./state/store";
import { laterViews } from "./views/later";
import "./style.css";
import "./parts/parts.css";

const source = FileSource.in(document) ? new FileSource(document) : new ServerSource("data/");
const store = new Store(source);

// all under way at once, so that the first picture waits for one answer only
for (const [kind, params] of [
  ["facts", {}],
  ["regions", {}],
  [store.selection.view === "summary" || store.selection.view === "table" ? "flat" : "tree", range(store.selection)],
] as const)
  source.get(kind, params).catch(() => undefined); // who shows it tells what went wrong
if (source instanceof ServerSource && store.selection.view in laterViews) loadMore().catch(() => undefined);

declare global {
  interface Window {
    /** For tests: what is selected, and what the view shows, in numbers. */
    spartito: { store: Store; state: () => unknown };
  }
}
window.spartito = { store, state: () => store.state() };
const place = document.getElementById("app") ?? document.body.appendChild(document.createElement("div"));
place.id = "app";
render(<App store={store} />, place);
