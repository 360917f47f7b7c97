// SPDX-License-Identifier: BSD-3-Clause
// The highlighted functions: those that the search has found, within the selected module. All views highlight them.
import type { Regions } from "../data/facts";
import { useRegions, useSelection } from "./hooks";
import { search } from "../calltree/tree";

/** Whether a module is the wanted one, or in the wanted package. */
export const inModule = (module: string, wanted: string): boolean => module === wanted || module.startsWith(`${wanted}.`);

/** 1 for each highlighted function; undefined: neither search nor module are set. */
export function highlightedIn(regions: Regions, text: string | undefined, module: string | undefined): Uint8Array | undefined {
  const found = search(regions.lowered(), text);
  if (module === undefined) return found;
  const highlighted = found ?? new Uint8Array(regions.count).fill(1);
  for (let i = 0; i < highlighted.length; i++) if (highlighted[i] && !inModule(regions.groupOf(i), module)) highlighted[i] = 0;
  return highlighted;
}

let last: { regions: Regions; text: string | undefined; module: string | undefined; highlighted: Uint8Array | undefined } | undefined;

/** Caches the result for all parts of a view, as the search in 10^5 names takes most of the time of a keystroke. */
export function useHighlighted(): Uint8Array | undefined {
  const { search: text, module } = useSelection();
  const regions = useRegions().data;
  if (!regions) return undefined;
  if (last?.regions !== regions || last.text !== text || last.module !== module) last = { regions, text, module, highlighted: highlightedIn(regions, text, module) };
  return last.highlighted;
}
