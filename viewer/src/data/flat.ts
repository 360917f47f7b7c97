// SPDX-License-Identifier: BSD-3-Clause
// The answer of the kind "flat", a row for each function that ran, and operations of tables.
import type { Columns, Numbers } from "./columns";
import type { Regions } from "./facts";
import { scaleOf, type Weight } from "./weight";

const ROUNDING = 0.5e-9; // s; sums of times differ by less

export interface FlatMetric {
  name: string;
  incl: Float64Array;
  excl: Float64Array;
}

export type FlatParts = Omit<Flat, "self" | "selfName" | "exclusive" | "withoutImports" | "count">;

export class Flat {
  readonly region: Uint32Array;
  readonly visits: Float64Array;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  /** Of single calls; undefined: not known with filters. */
  readonly each: { mean: Float64Array; min: Float64Array; max: Float64Array; std: Float64Array } | undefined;
  /** The parts of the exclusive time; undefined: times are not split. */
  readonly running: Float64Array | undefined;
  readonly waiting: Float64Array | undefined;
  /** The part of the times of `self` that was spent in imports; undefined: none was. */
  readonly imported: Float64Array | undefined;
  /** In the other run, if there is one. */
  readonly base: { visits: Float64Array; incl: Float64Array; excl: Float64Array } | undefined;
  /** Number of resumptions of generators and coroutines; undefined: none were recorded. */
  readonly resumed: Float64Array | undefined;
  readonly metrics: FlatMetric[];
  /** Names of metrics that have no values for the selected range of time. */
  readonly unranged: readonly string[];
  /** Number of functions that ran; a frame in a notebook may only have the rows with the most time. */
  readonly functions: number;
  /** Exclusive time of all functions: the total over all threads. */
  readonly total: number;
  /** Why there are no numbers of the other run although two runs are compared. */
  readonly baseNone: string | undefined;

  constructor(parts: FlatParts) {
    this.region = parts.region;
    this.visits = parts.visits;
    this.incl = parts.incl;
    this.excl = parts.excl;
    this.each = parts.each;
    this.running = parts.running;
    this.waiting = parts.waiting;
    this.imported = parts.imported;
    this.base = parts.base;
    this.resumed = parts.resumed;
    this.metrics = parts.metrics;
    this.unranged = parts.unranged;
    this.functions = parts.functions;
    this.total = parts.total;
    this.baseNone = parts.baseNone;
  }

  /** The time by which functions are ordered: running time, or exclusive time if it is not split. */
  get self(): Float64Array {
    return this.running ?? this.excl;
  }
  get selfName(): string {
    return this.running ? "running time" : "self time";
  }

  /** That time, or the exclusive value of the metric, of each row. */
  exclusive(weight: Weight): Float64Array {
    const { metric } = weight;
    const found = metric && this.metrics.find(({ name }) => name === metric.name);
    return metric ? (found?.excl ?? this.excl).map((value) => value * scaleOf(metric)) : this.self;
  }

  /** The same without imports, and the sum of what is left out. A metric is not split. */
  withoutImports(weight: Weight): { excl: Float64Array; imports: number } {
    const excl = this.exclusive(weight);
    const imported = weight.metric ? undefined : this.imported;
    if (!imported) return { excl, imports: 0 };
    const rest = (value: number, row: number): number => (value - imported[row]! < ROUNDING ? 0 : value - imported[row]!);
    return { excl: excl.map(rest), imports: sumOf(imported) };
  }

  get count(): number {
    return this.region.length;
  }
}

export const sumOf = (numbers: Float64Array): number => numbers.reduce((sum, value) => sum + value, 0);

/** For useAnswer(): the views that use it share one object. */
export function asFlat(columns: Columns<"flat">): Flat {
  const get = <const N extends Parameters<typeof columns.get>[0]>(name: N) => (columns.has(name) ? columns.get(name) : undefined);
  const excl = columns.get("excl");
  const functions = Math.max(columns.meta.functions, excl.length);
  return new Flat({
    region: columns.get("region"),
    visits: columns.get("visits"),
    incl: columns.get("incl"),
    excl,
    each: { mean: columns.get("mean"), min: columns.get("min"), max: columns.get("max"), std: columns.get("std") },
    running: get("running"),
    waiting: get("waiting"),
    imported: get("imported"),
    resumed: get("resumed"),
    base: columns.has("base_incl") ? { visits: columns.get("base_visits"), incl: columns.get("base_incl"), excl: columns.get("base_excl") } : undefined,
    metrics: columns.metrics().map((name) => ({ name, incl: columns.metric(name, "incl"), excl: columns.metric(name, "excl") })),
    unranged: columns.meta.unranged ?? [],
    functions,
    total: functions > excl.length ? columns.meta.total : sumOf(excl),
    baseNone: columns.meta.base_none,
  });
}

export function largest(numbers: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < numbers.length; i++) {
    const size = Math.abs(numbers[i]!);
    if (size > most && size < Infinity) most = size;
  }
  return most;
}

/** Sorts rows by a column; equal ones keep their order. */
export function sorted(rows: Uint32Array, by: Numbers | ((row: number) => string), down: boolean): Uint32Array {
  const out = rows.slice();
  const way = down ? -1 : 1;
  if (typeof by === "function") {
    const texts = new Map<number, string>();
    for (const row of rows) texts.set(row, by(row));
    const collator = new Intl.Collator("en");
    return out.sort((a, b) => way * collator.compare(texts.get(a)!, texts.get(b)!) || a - b);
  }
  return out.sort((a, b) => way * (by[a]! - by[b]!) || a - b);
}

export interface ModuleShare {
  module: string;
  excl: number;
}

/** Sums of `excl` over each package (a module's name up to the first dot), in descending order. */
export function byPackage(flat: Flat, regions: Regions, excl: Float64Array = flat.excl): ModuleShare[] {
  const times = new Map<string, number>();
  for (let row = 0; row < flat.count; row++) {
    const name = regions.groupOf(flat.region[row]!).split(".", 1)[0]!;
    times.set(name, (times.get(name) ?? 0) + excl[row]!);
  }
  return [...times].map(([module, excl]) => ({ module, excl })).sort((a, b) => b.excl - a.excl);
}
