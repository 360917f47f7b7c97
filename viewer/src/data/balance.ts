// SPDX-License-Identifier: BSD-3-Clause
// The distribution of time over ranks, processes or threads: the kind "balance" by function and by unit.
import { type Columns, NONE } from "./columns";
import { type Facts, roleOf } from "./facts";
import { locationLabel, processLabel } from "./rows";

const FAR = 2; // standard deviations from the mean of a unit that is an outlier
const FEW = 0.05; // fraction of the mean: smaller differences are no outliers

export interface Stats {
  region: number; // NONE: sum of all other functions
  units: number; // number of units in which it ran
  sum: number;
  mean: number; // over all units, including those where it did not run
  std: number;
  min: number;
  max: number;
  minUnit: number; // index in Spread.units
  maxUnit: number;
  imbalance: number; // max - mean
  percent: number; // (max / mean - 1) * 100
  outliers: number[]; // indices of units, most distant first
}

/** running: the exclusive time in which the threads ran; in MPI all of it. */
export type Time = "running" | "excl" | "incl";
export const TIMES: Record<Time, string> = { running: "running time", excl: "self time", incl: "total time" };

/** Units with equal roles. */
export interface Group {
  role: string;
  /** Indices of processes or locations. */
  units: number[];
}

/** The groups of several units with equal roles, the largest first, and the units that cannot be compared: the only ones with their
 * role, and idle helpers. Ranks have no roles. */
export function groupsOf(facts: Facts, over: string, units: readonly number[]): { groups: Group[]; single: number[]; helpers: number[] } {
  const those = over === "threads" ? facts.locations : facts.processes;
  if (over === "ranks") return { groups: [{ role: "rank", units: [...units] }], single: [], helpers: [] };
  const found = new Map<string, number[]>();
  const helpers: number[] = [];
  for (const unit of units) {
    const role = roleOf(those[unit]!);
    if (those[unit]!.helper) helpers.push(unit);
    else if (found.has(role)) found.get(role)!.push(unit);
    else found.set(role, [unit]);
  }
  const all = [...found].map(([role, of]): Group => ({ role, units: of }));
  const groups = all.filter((group) => group.units.length > 1).sort((a, b) => b.units.length - a.units.length);
  return { groups, single: all.flatMap((group) => (group.units.length > 1 ? [] : group.units)), helpers };
}

/** The roles of units for a sentence: "resource tracker ×2, forkserver". */
export function rolesOf(facts: Facts, over: string, units: readonly number[]): string {
  const those = over === "threads" ? facts.locations : facts.processes;
  const numbers = new Map<string, number>();
  for (const role of units.map((unit) => roleOf(those[unit]!))) numbers.set(role, (numbers.get(role) ?? 0) + 1);
  return [...numbers].map(([role, n]) => (n > 1 ? `${role} ×${n}` : role)).join(", ");
}

export class Spread {
  readonly over: string;
  readonly units: number[]; // indices of processes or locations
  readonly regions: number[]; // in descending order of time; NONE last
  readonly total: number;
  private readonly rows = new Map<number, number[]>(); // row by region and unit
  private readonly unit: Uint32Array;
  private readonly region: Uint32Array;

  /** only: of these units alone. self: the time in the functions themselves that is compared. */
  constructor(
    readonly columns: Columns<"balance">,
    only: readonly number[] = columns.meta.units,
    readonly self: Exclude<Time, "incl"> = columns.has("running") ? "running" : "excl",
  ) {
    const kept = new Set(only);
    this.over = columns.meta.over;
    this.units = columns.meta.units.filter((unit) => kept.has(unit));
    const at = new Map(this.units.map((unit, i) => [unit, i]));
    this.unit = columns.get("unit").map((unit) => at.get(columns.meta.units[unit]!) ?? NONE);
    this.region = columns.get("region");
    for (let i = 0; i < this.region.length; i++) {
      if (this.unit[i] === NONE) continue;
      const known = this.rows.get(this.region[i]!);
      if (known) known.push(i);
      else this.rows.set(this.region[i]!, [i]);
    }
    const sums = new Map([...this.rows.keys()].map((region) => [region, this.of(region).reduce((sum, row) => sum + this.time(self)[row]!, 0)]));
    this.total = self === "excl" && this.units.length === columns.meta.units.length ? columns.meta.total : [...sums.values()].reduce((sum, time) => sum + time, 0);
    this.regions = [...this.rows.keys()].sort((a, b) => (a === NONE || b === NONE ? Number(a === NONE) - Number(b === NONE) : sums.get(b)! - sums.get(a)! || a - b));
  }

  get ofThreads(): boolean {
    return this.over === "threads";
  }

  label(facts: Facts, unit: number): string {
    const index = this.units[unit]!;
    return this.ofThreads ? locationLabel(facts, index) : processLabel(facts, index);
  }

  /** The index of the unit for the selected process or location; -1: none. */
  unitOf(facts: Facts, process: number | undefined, location: number | undefined): number {
    if (this.ofThreads) return location === undefined ? -1 : this.units.indexOf(location);
    const wanted = location !== undefined ? facts.locations[location]?.process : process;
    return wanted === undefined ? -1 : this.units.indexOf(wanted);
  }

  /** Time of a region in each unit; 0: it did not run there. */
  values(region: number, time: Time): Float64Array {
    const found = new Float64Array(this.units.length);
    for (const row of this.of(region)) found[this.unit[row]!]! += this.time(time)[row]!;
    return found;
  }

  /** Calls of a region in each unit. */
  visits(region: number): Float64Array {
    const found = new Float64Array(this.units.length);
    const visits = this.columns.get("visits");
    for (const row of this.of(region)) found[this.unit[row]!]! += visits[row]!;
    return found;
  }

  stats(region: number, time: Time): Stats {
    const values = this.values(region, time);
    const n = Math.max(values.length, 1);
    const sum = values.reduce((a, b) => a + b, 0);
    const mean = sum / n;
    let [minUnit, maxUnit, squares] = [0, 0, 0];
    values.forEach((value, i) => {
      if (value < values[minUnit]!) minUnit = i;
      if (value > values[maxUnit]!) maxUnit = i;
      squares += (value - mean) ** 2;
    });
    const std = Math.sqrt(squares / n);
    const [min, max] = [values[minUnit] ?? 0, values[maxUnit] ?? 0];
    return {
      region,
      units: new Set(this.of(region).map((row) => this.unit[row]!)).size,
      sum,
      mean,
      std,
      min,
      max,
      minUnit,
      maxUnit,
      imbalance: max - mean,
      percent: mean > 0 ? (max / mean - 1) * 100 : 0,
      outliers: outliers(values),
    };
  }

  /** Time of each region itself in a unit. All units have the same order of regions, so their bars can be compared. */
  parts(unit: number): { region: number; value: number }[] {
    this.places ??= this.placesOf();
    return this.places[unit] ?? [];
  }
  private places: { region: number; value: number }[][] | undefined;

  private placesOf(): { region: number; value: number }[][] {
    const found: { region: number; value: number }[][] = this.units.map(() => []);
    const time = this.time(this.self);
    for (const region of this.regions) for (const row of this.of(region)) found[this.unit[row]!]?.push({ region, value: time[row]! });
    return found;
  }

  /** Whether a region has a separate row; the other regions are summed in the row of NONE. */
  knows(region: number): boolean {
    return this.rows.has(region) || !this.rows.has(NONE);
  }

  private of(region: number): readonly number[] {
    return this.rows.get(region) ?? [];
  }
  private time(time: Time): Float64Array {
    return this.columns.get(time);
  }
}

/** The distribution in the other run, by the functions and units of this run. */
export class SpreadBefore {
  private readonly regions = new Map<number, number[]>(); // region here: regions in the other run; several if they have the same name

  constructor(
    private readonly base: Spread,
    ofBase: ArrayLike<number>,
    private readonly unitHere: (unit: number) => number,
  ) {
    for (let there = 0; there < ofBase.length; there++) {
      const known = this.regions.get(ofBase[there]!);
      if (known) known.push(there);
      else this.regions.set(ofBase[there]!, [there]);
    }
  }

  /** Mean over the units of the other run; NaN: the region has no separate row there. */
  mean(region: number, time: Time): number {
    let sum = 0;
    for (const there of this.regions.get(region) ?? []) sum += this.base.knows(there) ? this.base.stats(there, time).mean : Number.NaN;
    return sum;
  }

  /** Time of a region (undefined: of all) in each unit of this run; NaN: the other run has no such unit. */
  values(region: number | undefined, time: Time, units: readonly number[]): Float64Array {
    const at = new Map(units.map((unit, i) => [unit, i]));
    const found = new Float64Array(units.length).fill(Number.NaN);
    const there = region === undefined ? [] : (this.regions.get(region) ?? []).map((one) => this.base.values(one, time));
    this.base.units.forEach((unit, i) => {
      const here = at.get(this.unitHere(unit));
      if (here === undefined) return;
      found[here] = region === undefined ? this.base.parts(i).reduce((sum, part) => sum + part.value, 0) : there.reduce((sum, values) => sum + values[i]!, 0);
    });
    return found;
  }
}

/** The units whose value is far from the others. Mean and deviation exclude the unit's own value, as among few units an outlier would
 * change both. */
export function outliers(values: ArrayLike<number>): number[] {
  const n = values.length;
  if (n < 3) return [];
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < n; i++) {
    sum += values[i]!;
    squares += values[i]! ** 2;
  }
  const found: [number, number][] = [];
  for (let i = 0; i < n; i++) {
    const mean = (sum - values[i]!) / (n - 1);
    const std = Math.sqrt(Math.max((squares - values[i]! ** 2) / (n - 1) - mean * mean, 0));
    const away = Math.abs(values[i]! - mean);
    if (away > FAR * std && away > FEW * Math.max(mean, values[i]!) && away > 0) found.push([i, away]);
  }
  return found.sort((a, b) => b[1] - a[1]).map(([i]) => i);
}
