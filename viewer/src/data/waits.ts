// SPDX-License-Identifier: BSD-3-Clause
// The answer of the kind "waits", and sums of it.

import type { WaitMetric, WaitRow, Waits } from "./contract";

export type { WaitMetric, WaitRow, Waits };

export interface Waiter {
  process: number;
  waited: number; // s in which it waited
  caused: number; // s in which others waited for it
  count: number;
}

/** The name of a kind of wait: of the metric with the fewest kinds that includes it. */
export function nameOfKind(metrics: readonly WaitMetric[], kind: number): string {
  const all = metrics.filter((metric) => metric.kinds.includes(kind));
  return all.reduce((a, b) => (b.kinds.length < a.kinds.length ? b : a), all[0]!)?.shown ?? `kind ${kind}`;
}

/** The depth of a metric in the tree of metrics. */
export function depthOf(metrics: readonly WaitMetric[], metric: WaitMetric): number {
  let depth = 0;
  for (let up = metric.parent; up !== null && depth < metrics.length; up = metrics[up]!.parent) depth++;
  return depth;
}

/** A key for the same wait in both runs. name: returns the name in this run of a function. */
function keyOf(waits: Waits, row: WaitRow, location: number, on: number | null, name: (text: string) => string): string {
  const stack = waits.stacks[row.path] ?? [];
  return [row.kind, location, on, ...stack.map(name)].join("\n");
}

/** The waits of the other run, by the keys of this run. */
export class WaitsBefore {
  private readonly times = new Map<string, number>();
  private readonly rows: { process: number; on: number; kind: number; time: number }[] = [];

  constructor(
    private readonly here: Waits,
    private readonly base: Waits,
    against: { process: (there: number | null) => number; location: (there: number | null) => number; name: (there: string) => string },
  ) {
    for (const row of base.rows) {
      const key = keyOf(base, row, against.location(row.location), row.on === null ? null : against.process(row.on), (text) => against.name(text));
      this.times.set(key, (this.times.get(key) ?? 0) + row.time);
      this.rows.push({ process: against.process(row.process), on: against.process(row.on), kind: row.kind, time: row.time });
    }
  }

  /** Seconds of the wait with the same location, kind, rank and cause. */
  of(row: WaitRow): number {
    return this.times.get(keyOf(this.here, row, row.location, row.on, (text) => text)) ?? 0;
  }

  metric(metric: WaitMetric): number {
    return this.base.metrics.find((other) => other.name === metric.name)?.time ?? 0;
  }

  /** Seconds that a process waited, and that others waited for it, in waits of these kinds. */
  waiter(process: number, kinds: readonly number[]): { waited: number; caused: number } {
    const found = { waited: 0, caused: 0 };
    for (const row of this.rows) {
      if (!kinds.includes(row.kind)) continue;
      if (row.process === process) found.waited += row.time;
      if (row.on === process) found.caused += row.time;
    }
    return found;
  }

  total(kinds: readonly number[]): number {
    return this.rows.reduce((sum, row) => (kinds.includes(row.kind) ? sum + row.time : sum), 0);
  }
}

/** The selected rows of some kinds. */
export function chosenRows(waits: Waits, kinds: readonly number[], process?: number, location?: number): WaitRow[] {
  return waits.rows.filter(
    (row) =>
      kinds.includes(row.kind) && (process === undefined || row.process === process) && (location === undefined || row.location === location),
  );
}

/** The sums for each process that waits or is waited for. */
export function waiters(rows: readonly WaitRow[]): Waiter[] {
  const found = new Map<number, Waiter>();
  const of = (process: number): Waiter => {
    let waiter = found.get(process);
    if (!waiter) found.set(process, (waiter = { process, waited: 0, caused: 0, count: 0 }));
    return waiter;
  };
  for (const row of rows) {
    const waiter = of(row.process);
    waiter.waited += row.time;
    waiter.count += row.count;
    if (row.on !== null) of(row.on).caused += row.time;
  }
  return [...found.values()].sort((a, b) => a.process - b.process);
}
