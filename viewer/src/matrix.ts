// SPDX-License-Identifier: BSD-3-Clause
// The communication matrix: what the kind "matrix" says, by sender and receiver, with the sums of both.
import { type Columns, NONE } from "./columns";
import { type Facts } from "./facts";
import { processLabel } from "./rows";

export const QUANTITIES = ["bytes", "messages", "time"] as const;
export type Quantity = (typeof QUANTITIES)[number];

/** Cells that the picture has at most in each direction; more ranks are put together. */
export const MOST = 512;

export class Matrix {
  readonly processes: number[]; // indices, in the order of rows and columns; NONE last: those that were not measured
  readonly group: number; // processes that share a row
  readonly size: number; // rows
  private readonly sums = new Map<Quantity, Float64Array>();

  constructor(
    readonly columns: Columns,
    facts: Facts,
  ) {
    const [from, to] = [columns.u32("from"), columns.u32("to")];
    const seen = new Set<number>();
    for (let i = 0; i < from.length; i++) seen.add(from[i]!).add(to[i]!);
    const ranks = facts.processes.map((_, i) => i).filter((i) => facts.processes[i]!.rank !== null);
    const rest = [...seen].filter((i) => i !== NONE && !ranks.includes(i));
    ranks.sort((a, b) => facts.processes[a]!.rank! - facts.processes[b]!.rank! || a - b);
    this.processes = [...ranks, ...rest.sort((a, b) => a - b), ...(seen.has(NONE) ? [NONE] : [])];
    this.group = Math.max(Math.ceil(this.processes.length / MOST), 1);
    this.size = Math.ceil(this.processes.length / this.group);
    const place = new Map(this.processes.map((process, i) => [process, Math.floor(i / this.group)]));
    for (const quantity of QUANTITIES) {
      const sums = new Float64Array(this.size * this.size);
      const values = columns.f64(quantity);
      for (let i = 0; i < from.length; i++) sums[place.get(from[i]!)! * this.size + place.get(to[i]!)!]! += values[i]!;
      this.sums.set(quantity, sums);
    }
  }

  /** Of a row (who sends) and a column (who receives). */
  value(quantity: Quantity, row: number, column: number): number {
    return this.sums.get(quantity)![row * this.size + column] ?? 0;
  }
  sent(quantity: Quantity, row: number): number {
    let sum = 0;
    for (let column = 0; column < this.size; column++) sum += this.value(quantity, row, column);
    return sum;
  }
  received(quantity: Quantity, column: number): number {
    let sum = 0;
    for (let row = 0; row < this.size; row++) sum += this.value(quantity, row, column);
    return sum;
  }
  total(quantity: Quantity): number {
    return this.sums.get(quantity)!.reduce((a, b) => a + b, 0);
  }
  largest(quantity: Quantity): number {
    return this.sums.get(quantity)!.reduce((a, b) => Math.max(a, b), 0);
  }

  label(facts: Facts, row: number): string {
    const first = this.processes[row * this.group]!;
    const last = this.processes[Math.min((row + 1) * this.group, this.processes.length) - 1]!;
    const name = (process: number): string => (process === NONE ? "not measured" : processLabel(facts, process));
    return first === last ? name(first) : `${name(first)} to ${name(last)}`;
  }
}
