// SPDX-License-Identifier: BSD-3-Clause
// What has changed since the other run, as colours want it: from -1 (all gone) over 0 to 1 (new, or twice as long).

export type Measure = "relative" | "absolute";

/** relative: of the path's own time before; absolute: of the largest change that there is. */
export function change(now: number, before: number, measure: Measure, largest: number): number {
  if (measure === "absolute") return largest ? (now - before) / largest : 0;
  if (!before) return now > 0 ? 1 : 0;
  return Math.max(-1, Math.min(1, (now - before) / before));
}

export function largestChange(now: ArrayLike<number>, before: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < now.length; i++) most = Math.max(most, Math.abs(now[i]! - before[i]!));
  return most;
}
