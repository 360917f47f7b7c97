// SPDX-License-Identifier: BSD-3-Clause
// The frame below a notebook's cell: icicle, table and lines, and the views of other recorded data. Its document contains all data. A
// sandboxed frame that may only run scripts has no usable address, history or storage.
import { render } from "preact";
import { useState } from "preact/hooks";
import { Compared } from "./parts/against";
import { Chips } from "./page/chips";
import { Findings } from "./parts/findings";
import { useCutTexts } from "./page/cut";
import { type Facts, type Has, hasSource } from "./data/facts";
import { KnownFacts, Provide, useFirstFacts, useQuery, useRegions, useSelection } from "./state/hooks";
import { Waiting } from "./parts/Empty";
import { Search } from "./page/searchbox";
import { Shown, ThemeSwitch, lead, useTheme } from "./page/shell";
import { Tabs } from "./page/tabs";
import { FileSource } from "./data/source";
import { NOWHERE, Store } from "./state/store";
import { callers } from "./views/callers";
import { icicle } from "./views/icicle";
import { SourceView } from "./views/source";
import { table } from "./views/table";
import type { View } from "./parts/view";
import "./style.css";
import "./parts/parts.css";
import "./cell.css";

const lines: View = { id: "source", title: "Lines", asMeasured: true, available: hasSource, component: SourceView };
const always: readonly View[] = [icicle, table, callers, lines];

/** A view, and the member of Facts.has for which it is shown. */
export type Asked = readonly [Has, View];

/** The frame opens with the first view of optional data. */
function viewsOf(facts: Facts | undefined, more: readonly Asked[]): { views: readonly View[]; first: View } {
  const found = more.filter(([what]) => facts?.has[what]).map(([, view]) => view);
  const first = found[0] ?? (facts?.has.lines ? lines : icicle);
  return { views: [...always, ...found], first: facts?.has.compare ? icicle : first };
}

function Frame({ more }: { more: readonly Asked[] }) {
  const facts = useFirstFacts();
  const { view: id } = useSelection();
  const { views, first } = viewsOf(facts.data, more);
  const view = views.find((one) => one.id === id) ?? first;
  useTheme();
  useCutTexts();
  return (
    <KnownFacts.Provider value={facts.data}>
      <Head facts={facts.data} views={views} />
      <div class="bar">
        <Tabs views={views} shown={view} facts={facts.data} />
        <Search />
        <ThemeSwitch />
      </div>
      <Chips facts={facts.data} view={view} />
      <main id="view" role="tabpanel" aria-labelledby={`tab-${view.id}`}>
        {facts.data ? <Shown key={view.id} view={view} facts={facts.data} /> : <Waiting problem={facts.problem} what="the result" />}
      </main>
    </KnownFacts.Provider>
  );
}

/** A button with the number of sentences that it shows and hides. */
function Count({ name, count, open, flip }: { name: string; count: number; open: boolean; flip: () => void }) {
  return (
    <button class={name === "remark" ? "warning" : "quiet"} aria-expanded={open} onClick={flip}>
      {count === 1 ? `1 ${name}` : `${count} ${name}s`}
    </button>
  );
}

/** Title, summary, findings and remarks of the cell. */
function Head({ facts, views }: { facts: Facts | undefined; views: readonly View[] }) {
  const [open, show] = useState<"findings" | "remarks">();
  const compared = useQuery(facts?.has.compare ? "compare" : undefined, {}).data?.meta;
  const findings = useQuery(facts && !facts.has.compare ? "findings" : undefined, {});
  const regions = useRegions().data;
  if (!facts) return null;
  const sentences = compared ? [...compared.sentences, ...compared.costs] : facts.sentences;
  const remarks = [...facts.lost, ...facts.problems, ...(facts.pruned ?? [])];
  const found = findings.data?.meta.findings.length ?? 0;
  const flip = (what: "findings" | "remarks") => () => show(open === what ? undefined : what);
  return (
    <>
      <header>
        <div class="title">
          <h1>{facts.title}</h1>
          <span class="lead">{lead(facts)}</span>
        </div>
        {found > 0 && <Count name="finding" count={found} open={open === "findings"} flip={flip("findings")} />}
        {remarks.length > 0 && <Count name="remark" count={remarks.length} open={open === "remarks"} flip={flip("remarks")} />}
      </header>
      {open === "findings" && (
        <section class="notes findings">
          <Findings answer={findings} regions={regions} views={views.map((view) => view.id)} />
        </section>
      )}
      {open === "remarks" && (
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

/** more: further views for optional data. */
export function show(more: readonly Asked[]): void {
  const store = new Store(new FileSource(document), NOWHERE);
  window.spartito = { store, state: () => store.state() };
  render(
    <Provide value={store}>
      <Frame more={more} />
    </Provide>,
    document.getElementById("app")!,
  );
}
