// SPDX-License-Identifier: BSD-3-Clause
// The colours of functions in all views: as the selection says, or else by module or function as the facts of the run say.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Colour, type ColouredBy, muted, ofRegions } from "../draw/colour";
import type { Facts, Regions } from "../data/facts";
import type { Selection } from "../data/url";
import type { Shades } from "../draw/shades";
import { KnownFacts, useDark, useSelection } from "./hooks";

const MUTED = (): Colour => muted(false);
const MUTED_DARK = (): Colour => muted(true);

/** The colours that are neither by module nor by function (shades.ts), which the page makes once for all its parts; undefined: none. */
export const KnownShades = createContext<Shades | undefined>(undefined);
/** For the part of the page that makes them. */
export const SetShades = createContext<(shades: Shades | undefined) => void>(() => undefined);

export const METRIC = "m:"; // begin of a colouring by a recorded metric; its name follows

export interface Colouring {
  value: string;
  title: string;
  hint: string;
}

/** What functions can be coloured by in this run, besides module and function. */
export function colouringsOf(facts: Facts): Colouring[] {
  const { has, processes, locations, metrics } = facts;
  const some = (wanted: boolean, ...those: Colouring[]): Colouring[] => (wanted ? those : []);
  return [
    ...some(has.off_cpu, { value: "state", title: "State", hint: "Whether a function ran or waited, and for what" }),
    ...some(processes.length > 1, { value: "process", title: processes.every(({ rank }) => rank !== null) ? "Rank" : "Process", hint: "The process with more than half of a function's time" }),
    ...some(locations.length > processes.length, { value: "thread", title: "Thread", hint: "The thread with more than half of a function's time" }),
    { value: "share", title: "Self time", hint: "The function's share of the exclusive time" },
    { value: "visits", title: "Calls", hint: "How often the function was called" },
    ...metrics.filter(({ total }) => total > 0).map(({ name, what }) => ({ value: METRIC + name, title: name, hint: what })),
  ];
}

export const BY_NAME: readonly string[] = ["module", "function"] satisfies ColouredBy[];

export function colouredBy({ colour }: Selection, facts: Facts | undefined): ColouredBy {
  return colour === "module" || colour === "function" ? colour : (facts?.colour ?? "module");
}

/** The colour of each function; undefined regions: they are not loaded yet. */
export function useRegionColours(regions: Regions | undefined): (region: number) => Colour {
  const dark = useDark();
  const selection = useSelection();
  const by = colouredBy(selection, useContext(KnownFacts));
  const shades = useContext(KnownShades);
  if (PAGE && shades) return shades.colours(dark, selection.tone);
  return regions ? ofRegions(regions, by, dark) : dark ? MUTED_DARK : MUTED;
}
