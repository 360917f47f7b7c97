// SPDX-License-Identifier: BSD-3-Clause
// The frame below a notebook's cell: what took the time, as icicle, table and lines. All that it shows is in its own document; a
// frame that may run scripts and nothing else has no address, no history and no storage.
import { render } from "preact";
import { useState } from "preact/hooks";
import { Compared } from "./parts/against";
import { Chips } from "./parts/chips";
import { useCutTexts } from "./parts/cut";
import type { Facts } from "./data/facts";
import { KnownFacts, Provide, useFirstFacts, useQuery, useSelection } from "./state/hooks";
import { Waiting } from "./parts/Empty";
import { Search } from "./parts/searchbox";
import { Shown, Tabs, ThemeSwitch, lead, useTheme } from "./parts/shell";
import { FileSource } from "./data/source";
import { NOWHERE, Store } from "./state/store";
import { callers } from "./views/callers";
import { icicle } from "./views/icicle";
import { source } from "./views/source";
import { table } from "./views/table";
import "./style.css";
import "./parts/parts.css";
import "./cell.css";

const views = [icicle, table, callers, { ...source, title: "Lines" }];

function Frame() {
  const facts = useFirstFacts();
  const { view: id } = useSelection();
  const view = views.find((one) => one.id === id) ?? views[0]!;
  useTheme();
  useCutTexts();
  return (
    <KnownFacts.Provider value={facts.data}>
      <Head facts={facts.data} />
      <div class="bar">
        <Tabs views={views} shown={view} facts={facts.data} />
        <Search />
        <ThemeSwitch />
      </div>
      <Chips facts={facts.data} />
      <main id="view" role="tabpanel" aria-labelledby={`tab-${view.id}`}>
        {facts.data ? <Shown key={view.id} view={view} facts={facts.data} /> : <Waiting problem={facts.problem} what="the result" />}
      </main>
    </KnownFacts.Provider>
  );
}

/** What the cell was, where its time went, and what else must be known. */
function Head({ facts }: { facts: Facts | undefined }) {
  const [open, show] = useState(false);
  const compared = useQuery(facts?.has.compare ? "compare" : undefined).data?.meta;
  if (!facts) return null;
  const sentences: string[] = compared ? [...compared["sentences"], ...compared["costs"]] : facts.sentences;
  const remarks = [...facts.lost, ...facts.problems, ...(facts.pruned ?? [])];
  return (
    <>
      <header>
        <div class="title">
          <h1>{facts.title}</h1>
          <span class="lead">{lead(facts)}</span>
        </div>
        {remarks.length > 0 && (
          <button class="warning" aria-expanded={open} onClick={() => show(!open)}>
            {remarks.length === 1 ? "1 remark" : `${remarks.length} remarks`}
          </button>
        )}
      </header>
      {open && (
        <ul class="notes">
          {remarks.map((remark) => (
            <li>{remark}</li>
          ))}
        </ul>
      )}
      {facts.has.compare && <Compared />}
      <p class="where">{sentences.join(" ")}</p>
    </>
  );
}

const store = new Store(new FileSource(document), NOWHERE);
window.spartito = { store, state: () => store.state() };
render(
  <Provide value={store}>
    <Frame />
  </Provide>,
  document.getElementById("app")!,
);
