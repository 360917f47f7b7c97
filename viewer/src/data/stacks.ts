// SPDX-License-Identifier: BSD-3-Clause
// Indices for the names in tables of waits, as the selection uses indices.
import type { Facts, Regions } from "./facts";

export type { Stacks } from "./contract";

const known = new WeakMap<Regions, Map<string, number>>();

/** The first region of that name; undefined: unknown name. */
export function regionNamed(regions: Regions, name: string): number | undefined {
  let names = known.get(regions);
  if (!names) {
    names = new Map();
    for (let i = regions.count - 1; i >= 0; i--) names.set(regions.names[i]!, i);
    known.set(regions, names);
  }
  return names.get(name);
}

/** The indices of a call path, as in the selection. */
export function pathOf(regions: Regions, stack: readonly string[]): number[] | undefined {
  const path: number[] = [];
  for (const name of stack) {
    const region = regionNamed(regions, name);
    if (region === undefined) return undefined;
    if (regions.kindOf(region) !== "root") path.push(region);
  }
  return path.length ? path : undefined;
}

/** The last function of the path, and its caller. */
export function shortStack(stack: readonly string[]): string {
  return stack.slice(-2).join(" → ");
}

/** "Rank 2", with the thread if the process has several; only the thread if there is one process. */
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
