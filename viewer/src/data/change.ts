// SPDX-License-Identifier: BSD-3-Clause
// The change since the other run as a number for colours: -1 (gone), 0 (unchanged), 1 (new, or at least twice as long).

export type Measure = "relative" | "absolute";

/** relative: to the exclusive time before; absolute: to the largest change of any path. */
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

/** Seconds in this run and in the other one. */
export interface Change {
  now: number;
  before: number;
}

const FACTOR = 10; // factor from which a percentage would have four digits

/** A ratio with three significant digits: "×12.3", "×98,400", "×1.23 million". */
function times(ratio: number): string {
  const value = Number(ratio.toPrecision(3));
  return value < 1e6 ? `×${value.toLocaleString("en")}` : `×${(value / 1e6).toLocaleString("en")} million`;
}

/** The change in a column of percentages: "+12.3", "×96", "new", "gone". */
export function changeOf({ now, before }: Change): string {
  if (now === before) return "0.0";
  if (!before) return "new";
  if (!now) return "gone";
  const share = now / before - 1;
  if (share >= FACTOR) return times(now / before);
  return `${share > 0 ? "+" : ""}${(share * 100).toFixed(1)}`;
}

/** The change in a sentence, with percent sign. */
export function changeText(change: Change): string {
  const text = changeOf(change);
  return /\d$/.test(text) && !text.startsWith("×") ? `${text} %` : text;
}

/** The value before and the change. */
export function both(seconds: (value: number) => string, change: Change): string {
  const more = change.now - change.before;
  if (!more) return "unchanged";
  return `${more > 0 ? "+" : ""}${seconds(more)}, ${changeText(change)}`;
}
