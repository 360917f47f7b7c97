// SPDX-License-Identifier: BSD-3-Clause
// Shared by the page of a run and the frame below a notebook's cell: tabs, theme, short description of the run.
import { useErrorBoundary, useLayoutEffect } from "preact/hooks";
import type { Facts } from "../data/facts";
import { useDark, useStore } from "../state/hooks";
import { Empty } from "../parts/Empty";
import { count, percent, time } from "../data/units";
import type { View } from "../parts/view";

/** Sets the theme of the document: the selected one, or the system's. */
export function useTheme(): void {
  const dark = useDark();
  useLayoutEffect(() => {
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  }, [dark]);
}

/** Shows a view; an exception in it does not affect the other views. */
export function Shown({ view, facts }: { view: View; facts: Facts }) {
  const [error] = useErrorBoundary((thrown) => console.error(thrown));
  if (error) return <Empty title={`This view has failed: ${(error as Error).message}`}>The other views still work. Reload the page to try again.</Empty>;
  const available = view.available(facts);
  if (available !== true) return <Empty title={`${view.title}: nothing to show`}>{available}</Empty>;
  const Component = view.component;
  return (
    <>
      {facts.compensated && view.asMeasured && <p class="note measured">The cost of measuring is in these times: it is taken out of those of functions and call paths.</p>}
      <Component />
    </>
  );
}

/** Duration, size and cost of the run. */
export function lead(facts: Facts): string {
  const { processes, locations } = facts;
  const ranks = processes.filter((process) => process.rank !== null).length;
  const parts = [time(facts.duration)];
  if (ranks > 1) parts.push(`${count(ranks)} ranks`);
  else if (processes.length > 1) parts.push(`${count(processes.length)} processes`);
  if (locations.length > processes.length) parts.push(`${count(locations.length)} threads`);
  parts.push(`Python ${facts.python}`, facts.host);
  if (facts.cost.share > 0) parts.push(`measuring took ${percent(facts.cost.share)}${facts.compensated ? ", taken out" : ""}`);
  return parts.join(" · ");
}

export function ThemeSwitch() {
  const store = useStore();
  const dark = useDark();
  return (
    <button class="quiet" aria-pressed={dark} onClick={() => store.select({ theme: dark ? "light" : "dark" }, "replace")}>
      {dark ? "Light" : "Dark"}
    </button>
  );
}
