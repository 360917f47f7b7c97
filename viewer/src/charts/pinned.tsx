// SPDX-License-Identifier: BSD-3-Clause
// The details of the selected function or call path beside a picture, in wide windows.
import type { ComponentChildren } from "preact";
import type { Facts, Regions } from "../data/facts";
import { ROOT } from "../calltree/tree";
import { useFacts, useSelection, useStore } from "../state/hooks";
import { css } from "../draw/colour";
import { About, type Chart, nameOf } from "./treechart";

const VIEWS = [
  ["callers", "Callers"],
  ["source", "Source"],
  ["table", "Table"],
  ["icicle", "Icicle"],
] as const;

/** The views that have data for a function, without the current one. */
function viewsFor(facts: Facts, regions: Regions, region: number, current: string): (typeof VIEWS)[number][] {
  const hasSource = (facts.has.lines || facts.has.source) && Boolean(regions.placeOf(region));
  return VIEWS.filter(([id]) => id !== current && (id !== "source" || hasSource));
}

/** Opens other views with the function, or with the call path to it. */
export function Links({ regions, region, path }: { regions: Regions; region: number; path: readonly number[] | undefined }) {
  const store = useStore();
  const { view: current } = useSelection();
  return (
    <>
      {viewsFor(useFacts(), regions, region, current).map(([view, text]) => (
        <button key={view} class="link" onClick={() => store.select(path ? { view, path } : { view, region })}>
          {text}
        </button>
      ))}
    </>
  );
}

export function Unpin({ act, title = "Unpin" }: { act: () => void; title?: string }) {
  return (
    <button class="unpin" aria-label="Unpin" title={title} onClick={act}>
      ×
    </button>
  );
}

/** The column beside a picture. Windows that are not wide do not have it (pinned.css). */
export function Pinned({ links, unpin, children }: { links: ComponentChildren; unpin: () => void; children: ComponentChildren }) {
  return (
    <aside class="beside pin" aria-label="The selected element">
      <div class="head">
        {links}
        <Unpin act={unpin} />
      </div>
      {children}
    </aside>
  );
}

/** The selected call path of a tree, and its callers, innermost first. */
export function PinnedPath({ chart }: { chart: Chart }) {
  const { tree, regions, selected } = chart;
  if (selected === ROOT) return null;
  const path = chart.inverted ? undefined : tree.pathOf(selected);
  const above = tree.ancestors(selected).slice(0, -1).reverse();
  return (
    <Pinned links={<Links regions={regions} region={tree.region[selected]!} path={path} />} unpin={() => (chart.inverted ? chart.go(ROOT) : chart.select(ROOT))}>
      <About chart={chart} row={selected} until={0} />
      {above.length > 0 && (
        <section class="stack" aria-label={chart.inverted ? "The boxes above" : "Callers of the selected call path, innermost first"}>
          <h2>{chart.inverted ? "Calls, up to the function with the time" : "Called by"}</h2>
          <ol>
            {above.map((row) => (
              <li key={row}>
                <button title={nameOf(chart, row)} onClick={() => (chart.inverted ? chart.go(row) : chart.select(row))}>
                  <i style={{ background: css(chart.colour(row)) }} />
                  <span>{regions.qualnames[tree.region[row]!] || nameOf(chart, row)}</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      )}
    </Pinned>
  );
}
