// SPDX-License-Identifier: BSD-3-Clause
// Colours of functions by what they did: their state, the process or thread that ran them, or a number. Each function is in one class, which has a
// colour and an entry of the legend.
import type { Spread } from "../data/balance";
import type { Flat } from "../data/flat";
import type { OffCpuTimes } from "../data/offcpu";
import { NONE } from "../data/columns";
import { type Colour, grey, muted, ofNumber } from "./colour";

/** Colours of the kinds of waiting by their number in ofNumber(), which also differ in lightness. */
const KINDS: Record<string, number> = { lock: 6, queue: 3, thread: 8, process: 9, "I/O": 7, sleep: 4, event: 5, MPI: 5, other: 1 };
const READY = "preempted";
const RUNS = 0; // blue, which no common kind of colour blindness takes for the orange of OTHER
export const RUNNING = "runs";
const OTHER = "other";
/** The scale of numbers, from small to large. Labels on it have the contrast of other labels on boxes, and lightness alone tells its order. */
const SCALE: Record<"light" | "dark", readonly Colour[]> = {
  light: [
    [255, 251, 234],
    [254, 235, 178],
    [252, 212, 128],
    [247, 182, 98],
    [238, 148, 88],
    [220, 114, 86],
  ],
  dark: [
    [38, 40, 44],
    [62, 54, 42],
    [90, 66, 36],
    [118, 76, 30],
    [146, 80, 30],
    [172, 78, 40],
  ],
};
const STEPS = SCALE.light.length; // classes of numbers
const HALF = 0.5; // share of its time above which a function belongs to one process or thread

export interface Shade {
  /** In the selection. */
  id: string;
  title: string;
  /** Its number in the colours or on the scale; undefined: of no class. */
  colour: { hue: number } | { step: number } | undefined;
  /** Index of the process or thread, which a click selects. */
  unit?: number;
}

export class Shades {
  private readonly made = new Map<string, (region: number) => Colour>();

  /** classOf: the class of a function; -1: none. waits: the class of a function while it waits. */
  constructor(
    readonly classes: readonly Shade[],
    readonly classOf: (region: number) => number,
    readonly waits?: (region: number) => number,
    /** What a unit is, if classes are processes or threads. */
    readonly over?: "process" | "location",
  ) {}

  colour(at: number, dark: boolean, tone?: string): Colour {
    const shade = this.classes[at];
    if (tone !== undefined && !this.over && shade?.id !== tone && this.classes.some(({ id }) => id === tone)) return muted(dark);
    const colour = shade?.colour;
    if (!colour) return grey(dark);
    return "hue" in colour ? ofNumber(colour.hue, dark) : SCALE[dark ? "dark" : "light"][colour.step]!;
  }

  /** The colours of functions. tone: the class that is highlighted. */
  colours(dark: boolean, tone?: string): (region: number) => Colour {
    const key = `${dark} ${tone ?? ""}`;
    let colours = this.made.get(key);
    if (!colours) this.made.set(key, (colours = (region) => this.colour(this.classOf(region), dark, tone)));
    return colours;
  }
}

/** What a function does for the largest part of its exclusive time: it runs, is preempted, or waits for what it waits for longest. */
export function byState(flat: Flat, waits: OffCpuTimes | undefined, regionOf: (name: string) => number | undefined): Shades {
  const kinds = new Map<number, { kind: string; time: number }>();
  for (const { name, kind, waiting } of waits?.rows ?? []) {
    const region = regionOf(name);
    if (region !== undefined && waiting > (kinds.get(region)?.time ?? 0)) kinds.set(region, { kind, time: waiting });
  }
  const names = [...new Set([...[...kinds.values()].map(({ kind }) => kind), OTHER])].sort((a, b) => (waits?.ofKind(b) ?? 0) - (waits?.ofKind(a) ?? 0));
  const at = new Map(names.map((kind, i) => [kind, i + 2]));
  const waiting = (region: number): number => at.get(kinds.get(region)?.kind ?? OTHER)!;
  const classes = new Map<number, number>();
  flat.region.forEach((region, row) => {
    const [ran, waited] = [flat.running?.[row] ?? flat.excl[row]!, flat.waiting?.[row] ?? 0];
    const ready = flat.excl[row]! - ran - waited;
    classes.set(region, ready > Math.max(ran, waited) ? 1 : waited > ran ? waiting(region) : 0);
  });
  const title = (kind: string): string => (kind === OTHER ? "waits: other" : kind === "sleep" ? "sleeps" : `waits: ${kind}`);
  return new Shades(
    [{ id: RUNNING, title: "runs", colour: { hue: RUNS } }, { id: READY, title: "preempted", colour: { hue: 2 } }, ...names.map((kind) => ({ id: kind, title: title(kind), colour: { hue: KINDS[kind] ?? KINDS[OTHER]! } }))],
    (region) => classes.get(region) ?? -1,
    waiting,
  );
}

/** A function has the colour of the process or thread with more than half of its time. */
export function byUnit(spread: Spread, label: (unit: number) => string): Shades {
  const { units } = spread;
  const classes = new Map<number, number>();
  for (const region of spread.regions) {
    if (region === NONE) continue;
    const values = spread.values(region, spread.self);
    const sum = values.reduce((all, value) => all + value, 0);
    const most = values.reduce((best, value, i) => (value > values[best]! ? i : best), 0);
    classes.set(region, sum > 0 && values[most]! > HALF * sum ? most : units.length);
  }
  return new Shades(
    [...units.map((unit, i) => ({ id: String(unit), title: label(i), colour: { hue: i }, unit })), { id: "several", title: "several", colour: undefined }],
    (region) => classes.get(region) ?? units.length,
    undefined,
    spread.ofThreads ? "location" : "process",
  );
}

/** The lower bounds of the classes of numbers up to `most`, in descending order: 1 or 3 times a power of ten, the last one 0. */
export function bounds(most: number): number[] {
  if (!(most > 0)) return [0];
  let exponent = Math.floor(Math.log10(most) + 1e-9);
  let three = most >= 3 * 10 ** exponent * (1 - 1e-9);
  const found: number[] = [];
  while (found.length < STEPS - 1) {
    found.push(Number(`${three ? 3 : 1}e${exponent}`));
    if (!three) exponent--;
    three = !three;
  }
  return [...found, 0];
}

/** Functions by a number of each, on a scale with steps of about a factor of three. show: writes a number. */
export function byNumber(regions: ArrayLike<number>, values: ArrayLike<number>, most: number, show: (value: number) => string): Shades {
  const lower = bounds(most);
  const classes = new Map<number, number>();
  for (let row = 0; row < regions.length; row++) classes.set(regions[row]!, lower.findIndex((least) => values[row]! >= least));
  return new Shades(
    lower.map((least, i) => ({
      id: String(least),
      title: least === 0 ? (i ? `< ${show(lower[i - 1]!)}` : show(0)) : i === 0 ? `≥ ${show(least)}` : `${show(least)} – ${show(lower[i - 1]!)}`,
      colour: { step: lower.length - 1 - i },
    })),
    (region) => classes.get(region) ?? -1,
  );
}
