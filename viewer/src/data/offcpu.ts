// SPDX-License-Identifier: BSD-3-Clause
// The answer of the kind "offcpu": waiting by function and kind. Times are seconds.
import type { Answers, OffCpu } from "./contract";

export type { OffCpu };

export interface KindSum {
  kind: string;
  waiting: number;
}

export class OffCpuTimes {
  readonly rows: readonly OffCpu[];
  /** In descending order of time. */
  readonly kinds: readonly KindSum[];
  /** Of all threads. */
  readonly waited: number;
  readonly busy: number;
  /** Call paths with a smaller share of the time are not in the rows. */
  readonly least: number;
  private readonly sum: number;

  constructor({ rows, waited, busy, least }: Answers["offcpu"]["meta"]) {
    this.rows = rows;
    this.waited = waited;
    this.busy = busy;
    this.least = least;
    const sums = new Map<string, number>();
    for (const { kind, waiting } of rows) sums.set(kind, (sums.get(kind) ?? 0) + waiting);
    this.kinds = [...sums].map(([kind, waiting]) => ({ kind, waiting })).sort((a, b) => b.waiting - a.waiting);
    this.sum = rows.reduce((sum, { waiting }) => sum + waiting, 0);
  }

  /** The share of a row or kind in all of them. */
  share({ waiting }: Pick<OffCpu, "waiting">): number {
    return this.sum > 0 ? waiting / this.sum : 0;
  }

  ofKind(kind: string): number {
    return this.kinds.find((one) => one.kind === kind)?.waiting ?? 0;
  }

  /** A function that returns the time here of a row of another run. here: the other run's name of a function here. */
  byName(here: (name: string) => string): (row: OffCpu) => number {
    const times = new Map<string, number>();
    for (const { name, kind, waiting } of this.rows) {
      const key = `${kind}\n${here(name)}`;
      times.set(key, (times.get(key) ?? 0) + waiting);
    }
    return ({ name, kind }) => times.get(`${kind}\n${name}`) ?? 0;
  }
}
