// SPDX-License-Identifier: BSD-3-Clause
// Rows of tables that stand for call paths, given as names: how they follow the selection, and what they select.
import { useSelection, useStore } from "./hooks";
import type { Regions } from "../data/facts";
import { useMeant } from "./meant";
import { pathOf, regionNamed } from "../data/stacks";

/** stack: names of a row's functions, outermost first; path: whether these are all. opens: the view that a double click leads to. */
export function useStackRows<T>(regions: Regions, stack: (row: T) => readonly string[], opens: (row: T) => string, whole: (row: T) => boolean = () => true) {
  const store = useStore();
  const { region: selected } = useSelection();
  const meant = useMeant();
  const stays = (row: T): boolean => {
    if (!meant && selected === undefined) return true;
    const path = stack(row).map((name) => regionNamed(regions, name));
    return (selected === undefined || path.includes(selected)) && (!meant || path.some((region) => region !== undefined && meant[region] === 1));
  };
  const go = (row: T, view?: string): void => {
    const names = stack(row);
    const path = whole(row) ? pathOf(regions, names) : undefined;
    const region = regionNamed(regions, names[names.length - 1] ?? "");
    store.select({ ...(view !== undefined && { view }), ...(path ? { path } : { path: undefined, region }) }, view === undefined ? "replace" : "push");
  };
  return { onSelect: (row: T) => go(row), onOpen: (row: T) => go(row, opens(row)), rowClass: (row: T) => (stays(row) ? "" : "faded") };
}
