// SPDX-License-Identifier: BSD-3-Clause
// The tree of imported modules: each below the module that imports it, those with the most time first. Times are seconds.
import type { Columns } from "./columns";
import type { ImportedModule } from "./contract";

export type { ImportedModule };

const OPEN = 0.05; // fraction of the time of all imports, from which a module is open at first

export class ImportTree {
  readonly modules: readonly ImportedModule[];
  /** Of all imports. */
  readonly total: number;
  readonly busy: number;
  /** Of each module, the modules that it imports; of the first entry, the program. */
  private readonly below: number[][];
  private readonly depths: number[] = [];

  constructor(columns: Columns<"imports">) {
    this.modules = columns.meta.modules;
    this.busy = columns.meta.busy;
    this.total = this.modules[0]?.incl ?? 0;
    this.below = this.modules.map(() => []);
    this.modules.forEach(({ importer }, i) => {
      this.depths.push(i ? this.depths[importer]! + 1 : -1); // an importer comes before what it imports
      if (i) this.below[importer]!.push(i);
    });
    for (const those of this.below) those.sort((a, b) => this.modules[b]!.incl - this.modules[a]!.incl || a - b);
  }

  /** Number of imported modules. */
  get count(): number {
    return Math.max(this.modules.length - 1, 0);
  }

  /** 0: imported by the program. */
  depth(module: number): number {
    return this.depths[module]!;
  }

  imports(module: number): boolean {
    return this.below[module]!.length > 0;
  }

  /** The modules that are open at first. */
  openAtFirst(): Set<number> {
    return new Set(this.modules.flatMap(({ incl }, i) => (i && this.imports(i) && incl >= OPEN * this.total ? [i] : [])));
  }

  /** The rows to show, if these modules are open. */
  shown(open: ReadonlySet<number>): number[] {
    const found: number[] = [];
    const pending = [...(this.below[0] ?? [])].reverse();
    while (pending.length) {
      const module = pending.pop()!;
      found.push(module);
      if (open.has(module)) for (const other of [...this.below[module]!].reverse()) pending.push(other);
    }
    return found;
  }
}
