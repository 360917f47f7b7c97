// SPDX-License-Identifier: BSD-3-Clause
// The critical path as a picture: lanes of the threads it runs in, its pieces over time, and the shares of its functions.
import type { Critical, CriticalRegion } from "../data/contract";

export type Piece = Critical["pieces"][number];

export interface Lane {
  /** -1: all threads without a dedicated lane. */
  location: number;
  time: number; // s on the path
}

export interface Lanes {
  lanes: Lane[];
  /** The lane of each location; -1: the path does not run in it. */
  of: Int32Array;
}

/** At most `most` lanes, in the order of locations; the last one is for those with the least time, if there are more. */
export function lanesOf(times: readonly number[], most: number): Lanes {
  const order = Array.from(times.keys()).filter((at) => times[at]! > 0);
  const fits = order.length <= most;
  const chosen = fits ? order : [...order].sort((a, b) => times[b]! - times[a]! || a - b).slice(0, Math.max(most - 1, 0)).sort((a, b) => a - b);
  const of = new Int32Array(times.length).fill(-1);
  const lanes = chosen.map((location) => ({ location, time: times[location]! }));
  chosen.forEach((location, lane) => (of[location] = lane));
  if (!fits) {
    const rest = order.filter((location) => of[location]! < 0);
    for (const location of rest) of[location] = lanes.length;
    lanes.push({ location: -1, time: rest.reduce((sum, location) => sum + times[location]!, 0) });
  }
  return { lanes, of };
}

/** The index of the piece at a time; -1: none. */
export function pieceAt(pieces: readonly Piece[], time: number): number {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[middle]![1] <= time) low = middle + 1;
    else high = middle;
  }
  const found = pieces[low - 1];
  return found && time <= found[2] ? low - 1 : -1;
}

/** A function's share of the path, side by side with the others: from begin to end, 0 to 1. */
export interface Share {
  region: CriticalRegion | undefined; // undefined: all others
  begin: number;
  end: number;
}

/** The shares in descending order. Those below `least`, and what no function has, are one share at the end. */
export function sharesOf({ regions, length }: Pick<Critical, "regions" | "length">, least: number): Share[] {
  const found: Share[] = [];
  let at = 0;
  for (const region of [...regions].sort((a, b) => b.time - a.time)) {
    const share = length > 0 ? region.time / length : 0;
    if (share < least || share === 0) break;
    found.push({ region, begin: at, end: Math.min(at + share, 1) });
    at += share;
  }
  if (at < 1 - 1e-9) found.push({ region: undefined, begin: at, end: 1 });
  return found;
}
