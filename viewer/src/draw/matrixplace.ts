// SPDX-License-Identifier: BSD-3-Clause
// Positions in the picture of the communication matrix: square cells as large as fit, with names before them and sums after them.

const GAP = 6; // px; between cells, names and sums
const TOP = 40; // px; names of the receivers, and the head of the sums
const NUMBER = 66; // px; a sum as a number
const BARS = 84; // px; longest bar of a sum
const FOOT = 44; // px; bars and numbers below the cells
const MIN_LABEL = 30; // px; a rank as a number
const NARROW = 520; // px; in narrower pictures, the sums at the right have no bars
const LINE = 17; // px; height of a line of text
const DIGIT = 7.5; // px
const WIDE = 44; // px; cells that have numbers

export interface Place {
  /** px; the corner of the first cell. */
  left: number;
  top: number;
  /** px; size of a cell. */
  cell: number;
  /** px; begin of the numbers, and of the bars, of the sums at the right; width of the longest bar. */
  numbers: number;
  bars: number;
  longest: number;
  /** px; begin of the bars below the cells. */
  foot: number;
  /** Rows of which each has a name, and columns. */
  rows: number;
  columns: number;
  /** Whether cells, and the sums of columns, have numbers. */
  numbered: boolean;
}

/** The smallest of 1, 2, 5, 10, 20, 50 … that is at least `least`. */
export function roundStep(least: number): number {
  for (let power = 1; ; power *= 10) for (const times of [1, 2, 5]) if (times * power >= least) return times * power;
}

/** size: number of rows and of columns; ranks: of processes in them; label: px of the longest name of a row. */
export function placeMatrix(size: number, ranks: number, label: number, width: number, height: number): Place {
  const narrow = width < NARROW;
  const longest = narrow ? 0 : BARS;
  const left = Math.max(Math.min(label, width * 0.2), MIN_LABEL) + 2 * GAP;
  const sizeFor = (numbers: number): number => Math.max(Math.min(width - left - numbers - longest - 3 * GAP, height - TOP - FOOT - GAP) / Math.max(size, 1), 0.5);
  const numbers = sizeFor(NUMBER) >= LINE ? NUMBER : 0; // only if each row has a name
  const cell = sizeFor(numbers);
  const right = left + size * cell + GAP;
  return {
    left,
    top: TOP,
    cell,
    numbers: right,
    bars: right + (numbers ? numbers + GAP : 0),
    longest,
    foot: TOP + size * cell + GAP,
    rows: roundStep(LINE / cell),
    columns: cell >= WIDE ? 1 : roundStep((String(ranks).length * DIGIT + 8) / cell),
    numbered: cell >= WIDE,
  };
}
