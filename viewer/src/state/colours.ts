// SPDX-License-Identifier: BSD-3-Clause
// The colours of functions in all views: by module or by function, as the selection says, or else the facts of the run.
import { useContext } from "preact/hooks";
import { type Colour, type ColouredBy, muted, ofRegions } from "../draw/colour";
import type { Facts, Regions } from "../data/facts";
import type { Selection } from "../data/url";
import { KnownFacts, useDark, useSelection } from "./hooks";

const MUTED = (): Colour => muted(false);
const MUTED_DARK = (): Colour => muted(true);

export function colouredBy({ colour }: Selection, facts: Facts | undefined): ColouredBy {
  return colour === "module" || colour === "function" ? colour : (facts?.colour ?? "module");
}

/** The colour of each function; undefined regions: they are not loaded yet. */
export function useRegionColours(regions: Regions | undefined): (region: number) => Colour {
  const dark = useDark();
  const by = colouredBy(useSelection(), useContext(KnownFacts));
  return regions ? ofRegions(regions, by, dark) : dark ? MUTED_DARK : MUTED;
}
