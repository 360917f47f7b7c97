// SPDX-License-Identifier: BSD-3-Clause
// Formats numbers with units: ns, µs, ms, s and B, KiB, MiB, GiB. A column has one unit, so digits are aligned.

export interface Unit {
  /** Values are divided by this. */
  size: number;
  name: string;
}

const TIMES: Unit[] = [
  { size: 1, name: "s" },
  { size: 1e-3, name: "ms" },
  { size: 1e-6, name: "µs" },
  { size: 1e-9, name: "ns" },
];
const BYTES: Unit[] = [
  { size: 2 ** 40, name: "TiB" },
  { size: 2 ** 30, name: "GiB" },
  { size: 2 ** 20, name: "MiB" },
  { size: 2 ** 10, name: "KiB" },
  { size: 1, name: "B" },
];
const COUNTS: Unit[] = [
  { size: 1e12, name: "T" },
  { size: 1e9, name: "G" },
  { size: 1e6, name: "M" },
  { size: 1e3, name: "k" },
  { size: 1, name: "" },
];

function unitFor(units: Unit[], value: number): Unit {
  const size = Math.abs(value);
  return units.find((unit) => size >= unit.size * 0.9995) ?? units[units.length - 1]!;
}

/** The unit for values up to `largest` seconds. */
export const timeUnit = (largest: number): Unit => (largest ? unitFor(TIMES, largest) : TIMES[0]!);
export const byteUnit = (largest: number): Unit => unitFor(BYTES, largest);
export const countUnit = (largest: number): Unit => unitFor(COUNTS, largest);

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** The unit for a column of times up to `largest` seconds: a step finer, as most values are much smaller than the largest. */
export const columnUnit = (largest: number): Unit => timeUnit(largest / 100);

/** Local date and time of seconds since 1970. */
export const moment = (seconds: number): string => new Date(seconds * 1000).toLocaleString();

/** Whole numbers with thousands separators. */
export function count(value: number): string {
  return grouped.format(value);
}

/** The label of paths that are drawn together because each is too small. */
export function smaller(paths: number): string {
  return paths === 1 ? "1 smaller path" : `${count(paths)} smaller paths`;
}

/** A number with the same decimals as all of a column. A value above 0 that is rounded to 0 is marked. */
export function inUnit(value: number, unit: Unit, decimals = 3): string {
  if (!Number.isFinite(value)) return "–";
  const shown = value / unit.size;
  const least = 10 ** -decimals;
  if (shown !== 0 && Math.abs(shown) < least / 2) return `${shown < 0 ? "-" : ""}<${least.toFixed(decimals)}`;
  return shown.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function short(value: number, unit: Unit): string {
  const shown = value / unit.size;
  const size = Math.abs(shown);
  const decimals = size >= 100 || unit.name === "ns" || unit.name === "B" ? 0 : size >= 10 ? 1 : 2;
  const text = shown.toFixed(decimals);
  return unit.name ? `${text} ${unit.name}` : text;
}

/** A single value with three digits and its unit: "1.24 ms". */
export function time(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  return seconds === 0 ? "0 s" : short(seconds, timeUnit(seconds));
}

export function bytes(value: number): string {
  return short(value, byteUnit(value));
}

/** A quantity other than time: with its unit, or in thousands. */
export function amount(value: number, unit: string): string {
  if (unit === "bytes" || unit === "B") return bytes(value);
  if (unit === "s") return time(value);
  const text = Math.abs(value) < 1e5 && Number.isInteger(value) ? count(value) : short(value, countUnit(value));
  return unit ? `${text} ${unit}` : text;
}

export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.05) return value < 0 ? "-<0.1 %" : "<0.1 %";
  return `${value.toFixed(1)} %`;
}

export function signed(text: string, value: number): string {
  return value > 0 ? `+${text}` : text;
}

/** Removes the middle of a name to fit the width, as its end has more information. */
export function shorten(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text;
  const dots = measure("…");
  let left = 0;
  let right = text.length;
  let used = dots;
  for (;;) {
    // the end gets the first letter, then the side with fewer letters
    const end = text.length - right <= left;
    const letter = (end ? text[right - 1] : text[left])!;
    const more = measure(letter);
    if (right - left <= 1 || used + more > width) break;
    used += more;
    if (end) right--;
    else left++;
  }
  return text.length - right < 1 ? "" : `${text.slice(0, left)}…${text.slice(right)}`;
}

/** The label of a function in a box: its whole name, or without its module, or shortened; empty: none of it could be read. */
export function label(name: string, width: number, measure: (text: string) => number): string {
  if (measure(name) <= width) return name;
  const own = name.slice(name.indexOf(":") + 1);
  const shown = shorten(own, width, measure);
  return shown === own || shown.length > 5 ? shown : "";
}
