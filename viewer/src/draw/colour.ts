// SPDX-License-Identifier: BSD-3-Clause
// Colours of modules and functions, computed from their names, so they are the same in every view and every run. Hue and lightness differ enough for common kinds of
// colour blindness. Labels on boxes have a contrast of at least 4.5:1, which the tests check.

import { MPI, type Regions, isGroup } from "../data/facts";

export type Colour = readonly [number, number, number];

/** Hues after Okabe and Ito, adjusted for large areas. Functions without module are grey, MPI is blue. */
const LIGHT: Colour[] = [
  [126, 178, 221], // sky
  [238, 172, 104], // orange
  [118, 194, 160], // green
  [222, 148, 184], // pink
  [236, 214, 112], // yellow
  [150, 152, 216], // violet
  [226, 138, 118], // vermilion
  [136, 206, 212], // teal
  [190, 186, 124], // olive
  [190, 158, 206], // mauve
];
const DARK: Colour[] = [
  [38, 98, 148],
  [150, 84, 20],
  [20, 110, 78],
  [146, 62, 104],
  [116, 98, 10],
  [84, 82, 164],
  [158, 66, 46],
  [14, 106, 116],
  [96, 94, 36],
  [110, 72, 134],
];
const GREY: Record<"light" | "dark", Colour> = { light: [200, 203, 207], dark: [74, 78, 84] };
/** A strong blue, whose lightness also differs from the other colours. */
const IN_MPI: Record<"light" | "dark", Colour> = { light: [72, 132, 214], dark: [60, 98, 220] };
export const INK: Record<"light" | "dark", Colour> = { light: [20, 22, 26], dark: [240, 242, 245] };

/** FNV-1a, as it separates similar short names. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value ^= value >>> 15;
  return Math.imul(value, 0x2c1b3c6d) >>> 0;
}

function nudged(colour: Colour, by: number): Colour {
  return colour.map((part) => Math.round(Math.min(255, Math.max(0, part + by)))) as unknown as Colour;
}

/** One of the colours of modules; `shaded` chooses between three lightnesses of the hue, away from the label's colour. */
function named(text: string, shaded: string, dark: boolean): Colour {
  const colour = (dark ? DARK : LIGHT)[hash(text) % LIGHT.length]!;
  return nudged(colour, (dark ? -1 : 1) * ((hash(shaded) >>> 8) % 3) * 9);
}

/** The hue of the nth of several things. The lightness differs after all hues were used. */
export const ofNumber = (n: number, dark: boolean): Colour => nudged((dark ? DARK : LIGHT)[n % LIGHT.length]!, (dark ? -1 : 1) * (Math.floor(n / LIGHT.length) % 3) * 9);
export const grey = (dark: boolean): Colour => GREY[dark ? "dark" : "light"];

/** A package has a hue; its modules differ a little in lightness. Groups without module are grey, except MPI. */
export function ofModule(module: string, dark: boolean): Colour {
  if (module === MPI) return IN_MPI[dark ? "dark" : "light"];
  if (!module || module === "builtins" || isGroup(module)) return GREY[dark ? "dark" : "light"];
  return named(module.split(".", 1)[0]!, module, dark);
}

/** What functions are coloured by. */
export type ColouredBy = "module" | "function";

const made = new WeakMap<Regions, Map<string, (region: number) => Colour>>();

/** The colour of each function. MPI and what is no function have their colours in both cases. */
export function ofRegions(regions: Regions, by: ColouredBy, dark: boolean): (region: number) => Colour {
  let known = made.get(regions);
  if (!known) made.set(regions, (known = new Map()));
  const key = `${by} ${dark}`;
  let colours = known.get(key);
  if (!colours) known.set(key, (colours = makeColours(regions, by, dark)));
  return colours;
}

function makeColours(regions: Regions, by: ColouredBy, dark: boolean): (region: number) => Colour {
  const known: Colour[] = [];
  const make = (region: number): Colour => {
    const name = regions.names[region];
    if (name === undefined) return muted(dark);
    const group = regions.groupOf(region);
    return by === "module" || !group || isGroup(group) ? ofModule(group, dark) : named(name, name, dark);
  };
  return (region) => (known[region] ??= make(region));
}

export const css = (colour: Colour): string => `rgb(${colour[0]},${colour[1]},${colour[2]})`;

function linear(part: number): number {
  const value = part / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

export function luminance([red, green, blue]: Colour): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** The contrast ratio of WCAG: 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const SLOWER: Record<"light" | "dark", Colour> = { light: [238, 140, 60], dark: [156, 74, 14] };
const FASTER: Record<"light" | "dark", Colour> = { light: [96, 160, 222], dark: [36, 108, 172] };
const EVEN: Record<"light" | "dark", Colour> = { light: [226, 228, 231], dark: [60, 63, 68] };

/** -1 (faster, blue), 0 (grey), 1 (slower, orange): hues that people with colour blindness can distinguish. */
export function ofChange(change: number, dark: boolean): Colour {
  const theme = dark ? "dark" : "light";
  const to = (change > 0 ? SLOWER : FASTER)[theme];
  const by = Math.min(1, Math.abs(change)) ** 0.5;
  return EVEN[theme].map((part, i) => Math.round(part + (to[i]! - part) * by)) as unknown as Colour;
}

/** A fraction from 0 to 1 as one hue of growing strength, for lines and matrices. */
export function ofHeat(share: number, dark: boolean): Colour {
  const [from, to]: [Colour, Colour] = dark ? [[34, 36, 40], [150, 72, 20]] : [[255, 255, 255], [240, 160, 92]];
  const by = Math.min(1, Math.max(0, share));
  return from.map((part, i) => Math.round(part + (to[i]! - part) * by)) as unknown as Colour;
}

/** The colour of combined boxes, and of boxes that a search has not found. */
export const muted = (dark: boolean): Colour => (dark ? [46, 48, 53] : [232, 234, 237]);
