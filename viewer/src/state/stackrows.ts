// SPDX-License-Identifier: BSD-3-Clause
// Rows of tables whose call paths are given as names: highlighting by the selection, and the selection on a click.
import { useSelection, useStore } from "./hooks";
import type { Regions } from "../data/facts";
import { useHighlighted } from "./highlighted";
import { pathOf, regionNamed } from "../data/stacks";

/** stack: names of a row's functions, outermost first; whole: whether these are the whole call path. opens: the view for a double click. */
export function useStackRows<T>(regions: Regions, stack: (row: T) => readonly string[], opens: (row: T) => string, whole: (row: T) => boolean = () => true) {
  const store = useStore();
  const { region: selected } = useSelection();
  const highlighted = useHighlighted();
  const stays = (row: T): boolean => {
    if (!highlighted && selected === undefined) return true;
    const path = stack(row).map((name) => regionNamed(regions, name));
    return (selected === undefined || path.includes(selected)) && (!highlighted || path.some((region) => region !== undefined && highlighted[region] === 1));
  };
  const go = (row: T, view?: string): void => {
    const names = stack(row);
    const path = whole(row) ? pathOf(regions, names) : undefined;
    const region = regionNamed(regions, names[names.length - 1] ?? "");
    store.select({ ...(view !== undefined && { view }), ...(path ? { path } : { path: undefined, region }) }, view === undefined ? "replace" : "push");
  };
  return { onSelect: (row: T) => go(row), onOpen: (row: T) => go(row, opens(row)), rowClass: (row: T) => (stays(row) ? "" : "faded") };
}
