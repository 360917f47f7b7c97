// SPDX-License-Identifier: BSD-3-Clause
// The answers of the kinds "facts" and "regions". Times are seconds since the begin of the experiment; `start` is since 1970.
import type { Columns } from "./columns";
import type { Facts } from "./contract";

export type { Facts, Location, Metric, Process } from "./contract";
export type Has = keyof Facts["has"];

export const MPI = "MPI";
/** Groups of functions without module, by their kind. */
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

/** Names and source locations of functions; answers of other kinds refer to them by index. */
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
  /** 1: own code. */
  readonly own: Uint8Array;
  /** For each region of the other run its index here. */
  readonly ofBase: Uint32Array | undefined;
  private lower?: string[];

  constructor(columns: Columns<"regions">) {
    const meta = columns.meta;
    this.names = meta.names;
    this.qualnames = meta.qualnames;
    this.modules = meta.modules;
    this.files = meta.files;
    this.kinds = meta.kinds;
    this.module = columns.get("module");
    this.file = columns.get("file");
    this.line = columns.get("line");
    this.kind = columns.get("kind");
    this.own = columns.get("own");
    if (columns.has("of_base")) this.ofBase = columns.get("of_base");
  }

  get count(): number {
    return this.names.length;
  }

  moduleOf(region: number): string {
    return this.modules[this.module[region]!] ?? "";
  }

  /** The module, or for functions without module their group: MPI, file I/O. Selection and sums by module use it. */
  groupOf(region: number): string {
    return this.moduleOf(region) || (GROUPS[this.kindOf(region)] ?? "");
  }

  kindOf(region: number): string {
    return this.kinds[this.kind[region]!] ?? "";
  }

  /** "file:line", or "" for functions without source location. */
  placeOf(region: number): string {
    const file = this.files[this.file[region]!];
    return file ? (this.line[region] ? `${file}:${this.line[region]}` : file) : "";
  }

  /** Names in lower case for the search; computed on first use, as there may be 10^5. */
  lowered(): string[] {
    this.lower ??= this.names.map((name) => name.toLowerCase());
    return this.lower;
  }
}

/** The title of the group of processes or threads with equal roles. */
export const roleOf = (unit: { role?: string; name: string }): string => unit.role ?? unit.name;

/** How to record with these options of `spartito run`: on a command line, or in the first line of a notebook's cell. */
export function recordBy(facts: Facts, options: string): string {
  return `${facts.title.startsWith("In[") ? "%%spartito" : "spartito run"} ${options}`;
}

/** true, or why there is neither source nor lines. */
export function hasSource(facts: Facts): true | string {
  return facts.has.lines || facts.has.source || `This page was made without source, and no lines were recorded. ${recordBy(facts, "--lines FUNCTION")} records them.`;
}
