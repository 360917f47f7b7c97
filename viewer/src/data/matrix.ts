// SPDX-License-Identifier: BSD-3-Clause
// The communication matrix (kind "matrix") by sender and receiver, with sums.
import { largestChange } from "./change";
import { type Columns, NONE } from "./columns";
import { type Facts } from "./facts";
import { processLabel } from "./rows";

export const QUANTITIES = ["bytes", "messages", "time"] as const;
export type Quantity = (typeof QUANTITIES)[number];

/** Maximum of rows and columns in the picture; adjacent ranks are combined if there are more. */
export const MAX_CELLS = 512;

/** The label of a process that may not have been measured. */
export const processTitle = (facts: Facts, process: number): string => (process === NONE ? "not measured" : processLabel(facts, process));

/** A sender and a receiver. */
export interface Pair {
  from: number;
  to: number;
  messages: number;
  bytes: number;
  time: number;
}

export class Matrix {
  readonly processes: number[]; // indices of processes in the order of rows and columns; NONE last: processes that were not measured
  readonly group: number; // number of processes in a row
  readonly size: number; // number of rows
  private readonly sums = new Map<Quantity, Float64Array>();
  private readonly place: ReadonlyMap<number, number>;
  private before: Map<Quantity, Float64Array> | undefined;
  /** Messages of the other run to or from processes that this run does not have. */
  elsewhere = 0;

  constructor(
    readonly columns: Columns<"matrix">,
    facts: Facts,
  ) {
    const [from, to] = [columns.get("from"), columns.get("to")];
    const seen = new Set<number>();
    for (let i = 0; i < from.length; i++) seen.add(from[i]!).add(to[i]!);
    const ranks = facts.processes.map((_, i) => i).filter((i) => facts.processes[i]!.rank !== null);
    const rest = [...seen].filter((i) => i !== NONE && !ranks.includes(i));
    ranks.sort((a, b) => facts.processes[a]!.rank! - facts.processes[b]!.rank! || a - b);
    this.processes = [...ranks, ...rest.sort((a, b) => a - b), ...(seen.has(NONE) ? [NONE] : [])];
    this.group = Math.max(Math.ceil(this.processes.length / MAX_CELLS), 1);
    this.size = Math.ceil(this.processes.length / this.group);
    this.place = new Map(this.processes.map((process, i) => [process, Math.floor(i / this.group)]));
    for (const quantity of QUANTITIES) this.sums.set(quantity, this.summed(columns, quantity, (process) => process));
  }

  private summed(columns: Columns<"matrix">, quantity: Quantity, here: (process: number) => number): Float64Array {
    const [from, to, values] = [columns.get("from"), columns.get("to"), columns.get(quantity)];
    const sums = new Float64Array(this.size * this.size);
    let elsewhere = 0;
    for (let i = 0; i < from.length; i++) {
      const [row, column] = [this.place.get(here(from[i]!)), this.place.get(here(to[i]!))];
      if (row === undefined || column === undefined) elsewhere += values[i]!;
      else sums[row * this.size + column]! += values[i]!;
    }
    if (quantity === "messages") this.elsewhere = elsewhere;
    return sums;
  }

  /** Adds the numbers of the other run. here: index here of a process of the other run, NaN: none. */
  beside(columns: Columns<"matrix">, here: (process: number) => number): this {
    const named = (process: number): number => (process === NONE ? NONE : here(process));
    this.before = new Map(QUANTITIES.map((quantity) => [quantity, this.summed(columns, quantity, named)]));
    return this;
  }

  /** The value of a cell in the other run; undefined: there is no other run. */
  was(quantity: Quantity, row: number, column: number): number | undefined {
    return this.before?.get(quantity)![row * this.size + column];
  }

  largestChange(quantity: Quantity): number {
    const before = this.before?.get(quantity);
    return before ? largestChange(this.sums.get(quantity)!, before) : 0;
  }

  /** The value of a row (sender) and a column (receiver). */
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
  /** At most `most` pairs of sender and receiver, those with the most of the quantity. */
  pairs(quantity: Quantity, most: number): Pair[] {
    const column = (name: "from" | "to" | Quantity) => this.columns.get(name);
    const [from, to, messages, all, times] = [column("from"), column("to"), column("messages"), column("bytes"), column("time")];
    const values = column(quantity);
    const order = Array.from(values.keys()).filter((i) => values[i]! > 0);
    order.sort((a, b) => values[b]! - values[a]! || a - b);
    return order.slice(0, most).map((i) => ({ from: from[i]!, to: to[i]!, messages: messages[i]!, bytes: all[i]!, time: times[i]! }));
  }
  /** The row, and column, of a process. */
  placeOf(process: number): number {
    return this.place.get(process)!;
  }
  total(quantity: Quantity): number {
    return this.sums.get(quantity)!.reduce((a, b) => a + b, 0);
  }
  largest(quantity: Quantity): number {
    return this.sums.get(quantity)!.reduce((a, b) => Math.max(a, b), 0);
  }

  /** The rank of the first process of a row, or its name. */
  number(facts: Facts, row: number): string {
    const first = this.processes[row * this.group]!;
    return String(facts.processes[first]?.rank ?? this.label(facts, row));
  }
  label(facts: Facts, row: number): string {
    const first = this.processes[row * this.group]!;
    const last = this.processes[Math.min((row + 1) * this.group, this.processes.length) - 1]!;
    return first === last ? processTitle(facts, first) : `${processTitle(facts, first)} to ${processTitle(facts, last)}`;
  }
}
