// SPDX-License-Identifier: BSD-3-Clause
// The kind "flat": a row for each function that ran; and what tables do with it.
import type { Columns, Numbers } from "./columns";
import type { Regions } from "./facts";
import { scaleOf, type Weight } from "./weight";

export interface FlatMetric {
  name: string;
  incl: Float64Array;
  excl: Float64Array;
}

export class Flat {
  readonly region: Uint32Array;
  readonly visits: Float64Array;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  readonly mean: Float64Array;
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly std: Float64Array;
  /** Of the run compared with, if there is one. */
  readonly base: { visits: Float64Array; incl: Float64Array; excl: Float64Array } | undefined;
  /** How often generators and coroutines went on; undefined where none did. */
  readonly resumed: Float64Array | undefined;
  readonly metrics: FlatMetric[];
  /** Names of metrics that are not known within the range of time. */
  readonly unranged: readonly string[];
  /** How many ran; a frame has rows for those with the most time alone. */
  readonly functions: number;
  /** Exclusive time of all functions, which is that of the run in all its threads. */
  readonly total: number;
  /** Why there is no base where two runs are compared: a sentence. */
  readonly baseNone: string | undefined;

  constructor(columns: Columns<"flat">) {
    this.region = columns.get("region");
    this.visits = columns.get("visits");
    this.incl = columns.get("incl");
    this.excl = columns.get("excl");
    this.mean = columns.get("mean");
    this.min = columns.get("min");
    this.max = columns.get("max");
    this.std = columns.get("std");
    this.baseNone = columns.meta.base_none;
    if (columns.has("resumed")) this.resumed = columns.get("resumed");
    if (columns.has("base_incl"))
      this.base = { visits: columns.get("base_visits"), incl: columns.get("base_incl"), excl: columns.get("base_excl") };
    this.metrics = columns.metrics().map((name) => ({ name, incl: columns.metric(name, "incl"), excl: columns.metric(name, "excl") }));
    this.unranged = columns.meta.unranged ?? [];
    this.functions = Math.max(columns.meta.functions, this.count);
    this.total = this.functions > this.count ? columns.meta.total : this.excl.reduce((sum, value) => sum + value, 0);
  }

  /** Exclusive time of each, or what it counted itself. */
  exclusive(weight: Weight): Float64Array {
    const { metric } = weight;
    const found = metric && this.metrics.find(({ name }) => name === metric.name);
    return metric ? (found?.excl ?? this.excl).map((value) => value * scaleOf(metric)) : this.excl;
  }

  get count(): number {
    return this.region.length;
  }
}

export function largest(numbers: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < numbers.length; i++) {
    const size = Math.abs(numbers[i]!);
    if (size > most && size < Infinity) most = size;
  }
  return most;
}

/** Rows by a column; equal ones stay in the order they came in. */
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

/** Sums of `excl` (of each row) over each package (the part of a module's name before the first dot), the largest first. */
export function byPackage(flat: Flat, regions: Regions, excl: Float64Array = flat.excl): ModuleShare[] {
  const times = new Map<string, number>();
  for (let row = 0; row < flat.count; row++) {
    const name = regions.groupOf(flat.region[row]!).split(".", 1)[0]!;
    times.set(name, (times.get(name) ?? 0) + excl[row]!);
  }
  return [...times].map(([module, excl]) => ({ module, excl })).sort((a, b) => b.excl - a.excl);
}
