// SPDX-License-Identifier: BSD-3-Clause
// What parts of the page subscribe to.

export class Listeners {
  private readonly all = new Set<() => void>();

  /** Calls the listener at each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.all.add(listener);
    return () => this.all.delete(listener);
  }

  protected notify(): void {
    for (const listener of [...this.all]) listener();
  }
}
