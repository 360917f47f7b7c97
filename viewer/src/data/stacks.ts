// SPDX-License-Identifier: BSD-3-Clause
// Ways from the names that tables of waits speak in to the indices that are selected.
import type { Facts, Regions } from "./facts";

export type { Stacks } from "./contract";

const known = new WeakMap<Regions, Map<string, number>>();

/** The region of a name, undefined: none. Of several the first. */
export function regionNamed(regions: Regions, name: string): number | undefined {
  let names = known.get(regions);
  if (!names) {
    names = new Map();
    for (let i = regions.count - 1; i >= 0; i--) names.set(regions.names[i]!, i);
    known.set(regions, names);
  }
  return names.get(name);
}

/** The call path as the selection keeps it. */
export function pathOf(regions: Regions, stack: readonly string[]): number[] | undefined {
  const path: number[] = [];
  for (const name of stack) {
    const region = regionNamed(regions, name);
    if (region === undefined) return undefined;
    if (regions.kindOf(region) !== "root") path.push(region);
  }
  return path.length ? path : undefined;
}

/** The function that called what the path ends in, and that. */
export function shortStack(stack: readonly string[]): string {
  return stack.slice(-2).join(" → ");
}

/** "Rank 2", with the thread where the process has several; the thread alone where there is one process. */
export function placeName(facts: Facts, location: number | null): string {
  if (location === null) return "";
  const at = facts.locations[location];
  const process = at && facts.processes[at.process];
  if (!at || !process) return `location ${location}`;
  const alone = facts.locations.every((other, i) => i === location || other.process !== at.process);
  if (facts.processes.length === 1) return at.name;
  return alone ? process.name : `${process.name}, ${at.name}`;
}

export function processName(facts: Facts, process: number | null): string {
  return process === null ? "" : (facts.processes[process]?.name ?? `process ${process}`);
}
