// SPDX-License-Identifier: BSD-3-Clause
// Where the functions, processes and threads of one version of a run are in a later version: their indices may differ.
import type { Facts, Regions } from "./facts";
import type { Selection } from "./url";

type Move = (index: number) => number | undefined;

/** Maps indices of one list to those of another by equal keys. Of equal keys in one list, the nth belongs to the nth. */
function moved(before: readonly string[], after: readonly string[]): Move {
  const numbered = (keys: readonly string[]): string[] => {
    const seen = new Map<string, number>();
    return keys.map((key) => {
      const n = seen.get(key) ?? 0;
      seen.set(key, n + 1);
      return `${n}\0${key}`;
    });
  };
  const there = new Map(numbered(after).map((key, i) => [key, i]));
  const keys = numbered(before);
  return (index) => there.get(keys[index] ?? "");
}

const processKeys = (facts: Facts): string[] => facts.processes.map((process) => `${process.host}\0${process.pid}`);

const regionKeys = (regions: Regions): string[] => regions.names.map((name, i) => `${regions.kindOf(i)}\0${name}\0${regions.placeOf(i)}`);

export const movedProcesses = (before: Facts, after: Facts): Move => moved(processKeys(before), processKeys(after));

/** A thread may get its name later: it is the nth of its process. */
export function movedLocations(before: Facts, after: Facts): Move {
  const keys = (facts: Facts): string[] => {
    const processes = processKeys(facts);
    return facts.locations.map((location) => processes[location.process] ?? "");
  };
  return moved(keys(before), keys(after));
}

/** The same selection in the later version. What is not there any more is not selected. */
export function movedSelection(before: { facts: Facts; regions: Regions }, after: { facts: Facts; regions: Regions }): (selection: Selection) => Selection {
  const region = moved(regionKeys(before.regions), regionKeys(after.regions));
  const process = movedProcesses(before.facts, after.facts);
  const location = movedLocations(before.facts, after.facts);
  const path = (regions: readonly number[]): readonly number[] | undefined => {
    const found = regions.map(region);
    return found.every((one) => one !== undefined) ? found : undefined;
  };
  return (selection) => {
    const out: Selection = { ...selection };
    for (const [name, move] of [["region", region], ["process", process], ["location", location]] as const) {
      const index = selection[name] === undefined ? undefined : move(selection[name]);
      if (index === undefined) delete out[name];
      else out[name] = index;
    }
    for (const name of ["path", "centre", "inverse"] as const) {
      const found = selection[name] && path(selection[name]);
      if (found === undefined) delete out[name];
      else out[name] = found;
    }
    return out;
  };
}
