// SPDX-License-Identifier: BSD-3-Clause
// The frame around all views: title of the run, tabs, current selection, search, theme.
import { useEffect, useState } from "preact/hooks";
import { LegendOfPictures } from "./charts/charted";
import { Compared } from "./parts/against";
import { Chips } from "./page/chips";
import { useCutTexts } from "./page/cut";
import { useFilterPanel } from "./page/filters";
import { Search } from "./page/searchbox";
import type { Facts } from "./data/facts";
import type { Shades } from "./draw/shades";
import { KnownFacts, Provide, useFirstFacts, useSelection, useStore } from "./state/hooks";
import { later } from "./parts/later";
import { Legend } from "./parts/legend";
import { Narrow, narrowed } from "./parts/narrow";
import { Syntax, colouredSource } from "./parts/syntax";
import { KeyHelp } from "./page/keys";
import { Waiting } from "./parts/Empty";
import { Shown, ThemeSwitch, lead, useTheme } from "./page/shell";
import { GroupedTabs } from "./page/tabs";
import { LiveState } from "./live";
import type { Live } from "./state/live";
import type { Store } from "./state/store";
import { TakeAlong } from "./page/take";
import { Unknowns } from "./page/unknown";
import { BY_NAME, KnownShades, SetShades } from "./state/colours";
import { groups, views } from "./views/index";

export function App({ store, live }: { store: Store; live: Live | undefined }) {
  return (
    <Provide value={store}>
      <LegendOfPictures.Provider value={Legend}>
        <Narrow.Provider value={narrowed}>
          <Syntax.Provider value={colouredSource}>
            <Frame live={live} />
          </Syntax.Provider>
        </Narrow.Provider>
      </LegendOfPictures.Provider>
    </Provide>
  );
}

const ShadesMaker = later("shades", true);

function Frame({ live }: { live: Live | undefined }) {
  const facts = useFirstFacts();
  const { view: id, colour } = useSelection();
  const view = views.find((one) => one.id === id) ?? views[0]!;
  const [shades, setShades] = useState<Shades>();
  const shaded = facts.data && colour !== undefined && !BY_NAME.includes(colour);
  const filters = useFilterPanel(facts.data, view);
  useTheme();
  useCutTexts();
  useEffect(() => {
    if (facts.data) document.title = `${facts.data.title} · ${view.title} · Spartito`;
  }, [facts.data, view]);
  return (
    <KnownFacts.Provider value={facts.data}>
      <KnownShades.Provider value={shaded ? shades : undefined}>
        <SetShades.Provider value={setShades}>{shaded && <ShadesMaker />}</SetShades.Provider>
        <header>
          <Title facts={facts.data} />
          {live && <LiveState live={live} />}
          <Search />
          {filters.button}
          <TakeAlong view={view} facts={facts.data} />
          <KeyHelp view={view} />
          <ThemeSwitch />
        </header>
        {facts.data?.has.compare && <Compared />}
        <GroupedTabs groups={groups} shown={view} facts={facts.data} />
        {filters.panel}
        <Chips facts={facts.data} view={view} />
        <Unknowns facts={facts.data} />
        <main id="view" role="tabpanel" aria-labelledby={`tab-${view.id}`}>
          {facts.data ? <Shown key={view.id} view={view} facts={facts.data} /> : <Waiting problem={facts.problem} what="the experiment" />}
        </main>
      </KnownShades.Provider>
    </KnownFacts.Provider>
  );
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
