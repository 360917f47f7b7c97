// SPDX-License-Identifier: BSD-3-Clause
// What the kinds "facts" and "regions" say. Times are seconds; moments are since the experiment's begin, but start (epoch).
import type { Columns } from "./columns";
import type { Facts } from "./contract";

export type { Facts, Location, Metric, Process } from "./contract";
export type Has = keyof Facts["has"];

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
    if (columns.has("of_base")) this.ofBase = columns.get("of_base");
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
