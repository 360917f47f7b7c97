// SPDX-License-Identifier: BSD-3-Clause
// What has changed since the other run, as colours want it: from -1 (all gone) over 0 to 1 (new, or twice as long).

export type Measure = "relative" | "absolute";

/** relative: of the path's exclusive time before; absolute: of the largest change that there is. */
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

/** Seconds here, and in the other run. */
export interface Change {
  now: number;
  before: number;
}

const FACTOR = 10; // from here on a percentage would have four digits

/** For a column of percentages: "+12.3", "×96", "new", "gone". */
export function changeOf({ now, before }: Change): string {
  if (now === before) return "0.0";
  if (!before) return "new";
  if (!now) return "gone";
  const share = now / before - 1;
  if (share >= FACTOR) return `×${Number((now / before).toPrecision(3))}`;
  return `${share > 0 ? "+" : ""}${(share * 100).toFixed(1)}`;
}

/** The same for a sentence: with its sign of percent. */
export function changeText(change: Change): string {
  const text = changeOf(change);
  return /\d$/.test(text) && !text.startsWith("×") ? `${text} %` : text;
}

/** What was there before, and what that changed to. */
export function both(seconds: (value: number) => string, change: Change): string {
  const more = change.now - change.before;
  if (!more) return "unchanged";
  return `${more > 0 ? "+" : ""}${seconds(more)}, ${changeText(change)}`;
}
