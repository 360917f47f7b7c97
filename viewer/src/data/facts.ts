// SPDX-License-Identifier: BSD-3-Clause
// What the kinds "facts" and "regions" say. Times are seconds; moments are since the experiment's begin, but start (epoch).
import type { Columns } from "./columns";

export interface Process {
  name: string;
  rank: number | null;
  pid: number;
  parent: number | null;
  host: string;
  begin: number;
  end: number;
  command: string;
}

export interface Location {
  process: number;
  name: string;
  begin: number;
  end: number;
  busy: number;
  /** Of it in functions of MPI themselves. */
  mpi: number;
}

/** Counted beside the time, in 10**exponent unit. */
export interface Metric {
  name: string;
  unit: string;
  exponent: number;
  what: string;
  /** Counted by the function itself, at moments that are not in the trace; the others are read at each enter and leave. */
  own: boolean;
  /** A height that was reached, not a count. */
  level: boolean;
  /** What counted it: "rusage", "sample", "memory" … */
  source: string;
  /** Of the whole run, as it was counted. */
  total: number;
}

export type Has = "trace" | "time" | "states" | "lines" | "mpi" | "io" | "tasks" | "messages" | "waits" | "counters" | "metrics" | "source" | "compare" | "memory" | "locks";

export interface Facts {
  title: string;
  command: string[];
  host: string;
  start: number;
  duration: number;
  /** Calls that were measured. */
  visits: number;
  python: string;
  traced: boolean;
  /** Where the time goes, in words. */
  sentences: string[];
  /** The region that each sentence is about. */
  about: (number | null)[];
  /** Of measuring: seconds for each enter and leave, and the share of the run that this was. */
  cost: { in: number; out: number; share: number };
  /** That cost was taken out of the times of functions and call paths. */
  compensated: boolean;
  lost: string[];
  /** What a file of `spartito html` had no room for; the server leaves nothing out. */
  pruned?: string[];
  /** The page is such a file. */
  file?: boolean;
  problems: string[];
  processes: Process[];
  locations: Location[];
  metrics: Metric[];
  has: Record<Has, boolean>;
  versions: Record<string, string>;
}

export const MPI = "MPI";
/** Functions of no module, by their kind. */
const GROUPS: Record<string, string> = {
  mpi: MPI,
  io: "file I/O",
  c: "functions in C",
  native: "native code",
  user: "user regions",
  parameter: "parameters",
  collapsed: "left out",
  off: "recording off",
  root: "outside of functions",
};
const groups = new Set(Object.values(GROUPS));
export const isGroup = (module: string): boolean => groups.has(module);

/** Names and places of functions; other kinds give indices into these. */
export class Regions {
  readonly names: string[];
  readonly qualnames: string[];
  readonly modules: string[];
  readonly files: string[];
  readonly kinds: string[];
  readonly module: Uint32Array;
  readonly file: Uint32Array;
  readonly line: Uint32Array;
  readonly kind: Uint8Array;
  /** Of each region of the run compared with, which one it is here. */
  readonly ofBase: Uint32Array | undefined;
  private lower?: string[];

  constructor(columns: Columns) {
    const meta = columns.meta;
    this.names = meta.names;
    this.qualnames = meta.qualnames;
    this.modules = meta.modules;
    this.files = meta.files;
    this.kinds = meta.kinds;
    this.module = columns.u32("module");
    this.file = columns.u32("file");
    this.line = columns.u32("line");
    this.kind = columns.u8("kind");
    if (columns.has("of_base")) this.ofBase = columns.u32("of_base");
  }

  get count(): number {
    return this.names.length;
  }

  moduleOf(region: number): string {
    return this.modules[this.module[region]!] ?? "";
  }

  /** The module, or what stands for one where there is none: MPI, file I/O. What is selected and summed up by module is so by this. */
  groupOf(region: number): string {
    return this.moduleOf(region) || (GROUPS[this.kindOf(region)] ?? "");
  }

  kindOf(region: number): string {
    return this.kinds[this.kind[region]!] ?? "";
  }

  /** "file:line", or "" for functions without a place. */
  placeOf(region: number): string {
    const file = this.files[this.file[region]!];
    return file ? (this.line[region] ? `${file}:${this.line[region]}` : file) : "";
  }

  /** For search; made when first wanted, as there may be 10^5. */
  lowered(): string[] {
    this.lower ??= this.names.map((name) => name.toLowerCase());
    return this.lower;
  }
}

/** How options of `spartito run` are given where this was recorded: on a command line, or above the cell of a notebook. */
export function recordBy(facts: Facts, options: string): string {
  return `${facts.title.startsWith("In[") ? "%%spartito" : "spartito run"} ${options}`;
}
