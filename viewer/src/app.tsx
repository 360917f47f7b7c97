// SPDX-License-Identifier: BSD-3-Clause
// The frame around all views: what run this is, tabs, what is selected, search, theme.
import { useEffect, useErrorBoundary, useLayoutEffect } from "preact/hooks";
import { Chips } from "./chips";
import { Search } from "./searchbox";
import type { Facts } from "./facts";
import { KnownFacts, Provide, useDark, useFirstFacts, useSelection, useStore } from "./hooks";
import { Empty, Waiting } from "./parts/Empty";
import type { Store } from "./store";
import { count, percent, time } from "./units";
import { views } from "./views/index";
import type { View } from "./views/view";

export function App({ store }: { store: Store }) {
  return (
    <Provide value={store}>
      <Frame />
    </Provide>
  );
}

function Frame() {
  const facts = useFirstFacts();
  const { view: id, theme } = useSelection();
  const view = views.find((one) => one.id === id) ?? views[0]!;
  useLayoutEffect(() => {
    if (theme) document.documentElement.dataset["theme"] = theme;
    else delete document.documentElement.dataset["theme"];
  }, [theme]);
  useEffect(() => {
    if (facts.data) document.title = `${facts.data.title} · ${view.title} · Spartito`;
  }, [facts.data, view]);
  return (
    <KnownFacts.Provider value={facts.data}>
      <header>
        <Title facts={facts.data} />
        <Search />
        <ThemeSwitch />
      </header>
      <Tabs shown={view} facts={facts.data} />
      <Chips facts={facts.data} />
      <main id="view" role="tabpanel" aria-labelledby={`tab-${view.id}`}>
        {facts.data ? <Shown key={view.id} view={view} facts={facts.data} /> : <Waiting problem={facts.problem} what="the experiment" />}
      </main>
    </KnownFacts.Provider>
  );
}

/** A mistake in one view leaves the others usable. */
function Shown({ view, facts }: { view: View; facts: Facts }) {
  const [error] = useErrorBoundary((thrown) => console.error(thrown));
  if (error) return <Empty title={`This view has failed: ${(error as Error).message}`}>The other views still work. Reload the page to try again.</Empty>;
  const available = view.available(facts);
  if (available !== true) return <Empty title={`${view.title}: nothing to show`}>{available}</Empty>;
  const Component = view.component;
  return <Component />;
}

function lead(facts: Facts): string {
  const { processes, locations } = facts;
  const ranks = processes.filter((process) => process.rank !== null).length;
  const parts = [time(facts.duration)];
  if (ranks > 1) parts.push(`${count(ranks)} ranks`);
  else if (processes.length > 1) parts.push(`${count(processes.length)} processes`);
  if (locations.length > processes.length) parts.push(`${count(locations.length)} threads`);
  parts.push(`Python ${facts.python}`, facts.host);
  if (facts.cost.share > 0) parts.push(`measuring took ${percent(facts.cost.share)}`);
  return parts.join(" · ");
}

function Title({ facts }: { facts: Facts | undefined }) {
  const store = useStore();
  const lost = facts ? facts.lost.length + facts.problems.length + (facts.pruned?.length ?? 0) : 0;
  return (
    <div class="title">
      <h1 title={facts?.command.join(" ")}>{facts?.title ?? "Spartito"}</h1>
      {facts && <span class="lead">{lead(facts)}</span>}
      {facts && lost > 0 && (
        <button class="warning" title={[...facts.lost, ...facts.problems, ...(facts.pruned ?? [])].join("\n")} onClick={() => store.select({ view: "summary" })}>
          {lost === 1 ? "1 remark" : `${lost} remarks`}
        </button>
      )}
    </div>
  );
}

function ThemeSwitch() {
  const store = useStore();
  const dark = useDark();
  return (
    <button class="quiet" aria-pressed={dark} onClick={() => store.select({ theme: dark ? "light" : "dark" }, "replace")}>
      {dark ? "Light" : "Dark"}
    </button>
  );
}

function Tabs({ shown, facts }: { shown: View; facts: Facts | undefined }) {
  const store = useStore();
  const go = (view: View): void => {
    store.select({ view: view.id });
    document.getElementById(`tab-${view.id}`)?.focus();
  };
  const key = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    go(views[(views.indexOf(shown) + by + views.length) % views.length]!);
    event.preventDefault();
  };
  return (
    <nav class="tabs" role="tablist" aria-label="Views" onKeyDown={key}>
      {views.map((view) => {
        const available = facts ? view.available(facts) : true;
        return (
          <button
            key={view.id}
            id={`tab-${view.id}`}
            role="tab"
            aria-selected={view === shown}
            aria-controls="view"
            tabIndex={view === shown ? 0 : -1}
            class={available === true ? "" : "dim"}
            title={available === true ? undefined : available}
            onClick={() => go(view)}
          >
            {view.title}
          </button>
        );
      })}
    </nav>
  );
}
