// SPDX-License-Identifier: BSD-3-Clause
// Which functions are meant: what the search has hit, within the module that is selected. Every view tells them from the others.
import type { Regions } from "../data/facts";
import { useRegions, useSelection } from "./hooks";
import { search } from "../calltree/tree";

/** A package has its modules in it. */
export const inModule = (module: string, wanted: string): boolean => module === wanted || module.startsWith(`${wanted}.`);

/** 1 for each function that is meant; undefined: none more than others. */
export function meantIn(regions: Regions, text: string | undefined, module: string | undefined): Uint8Array | undefined {
  const found = search(regions.lowered(), text);
  if (module === undefined) return found;
  const meant = found ?? new Uint8Array(regions.count).fill(1);
  for (let i = 0; i < meant.length; i++) if (meant[i] && !inModule(regions.groupOf(i), module)) meant[i] = 0;
  return meant;
}

let last: { regions: Regions; text: string | undefined; module: string | undefined; meant: Uint8Array | undefined } | undefined;

/** For all parts of a view at once: looking at 10^5 names takes longer than the rest of what a letter of the search costs. */
export function useMeant(): Uint8Array | undefined {
  const { search: text, module } = useSelection();
  const regions = useRegions().data;
  if (!regions) return undefined;
  if (last?.regions !== regions || last.text !== text || last.module !== module) last = { regions, text, module, meant: meantIn(regions, text, module) };
  return last.meant;
}
