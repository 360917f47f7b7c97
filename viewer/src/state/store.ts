// SPDX-License-Identifier: BSD-3-Clause
// The one store: what is selected, and where data comes from.
import type { Source } from "../data/source";
import { type Selection, read, write } from "../data/url";

export type { Selection } from "../data/url";

export const FIRST = "summary"; // the view that opens

/** The path names the function; a function chosen by itself is in no path. */
export function chosen(before: Selection, patch: Partial<Selection>): Selection {
  const after = { ...before, ...patch };
  if (patch.path?.length) after.region = patch.path[patch.path.length - 1];
  else if ("region" in patch && patch.region !== before.region && !("path" in patch)) after.path = undefined;
  for (const name of Object.keys(after) as (keyof Selection)[]) if (after[name] === undefined) delete after[name];
  return after;
}

/** The parameters that every question of a view carries. */
export function range(selection: Selection): Pick<Selection, "process" | "location" | "begin" | "end"> {
  const { process, location, begin, end } = selection;
  return { process, location, begin, end };
}

/** Where the selection is kept: the address of the page, or nowhere. */
export type Place = Pick<Window, "addEventListener"> & { location: { hash: string }; history: Pick<History, "pushState" | "replaceState"> };

/** For a frame in somebody else's page, whose address and history are not ours. */
export const NOWHERE: Place = {
  location: { hash: "" },
  history: { pushState: () => undefined, replaceState: () => undefined },
  addEventListener: () => undefined,
};

export class Store {
  selection: Selection;
  /** What the view that is shown says about itself, for tests: numbers, not pixels. */
  report: (() => unknown) | undefined;
  private readonly listeners = new Set<() => void>();

  constructor(
    readonly source: Source,
    private readonly place: Place = window,
  ) {
    this.selection = read(place.location.hash, FIRST);
    const back = (): void => {
      this.selection = read(place.location.hash, FIRST);
      this.tell();
    };
    place.addEventListener("popstate", back);
    place.addEventListener("hashchange", back);
  }

  /** Within another page, which scrolls with the wheel. */
  get embedded(): boolean {
    return this.place === NOWHERE;
  }

  /** how: "replace" for what is not worth a step back, as each letter of a search. */
  select(patch: Partial<Selection>, how: "push" | "replace" = "push"): void {
    const after = chosen(this.selection, patch);
    const hash = write(after);
    if (hash === write(this.selection)) return;
    this.selection = after;
    if (how === "push") this.place.history.pushState(null, "", hash);
    else this.place.history.replaceState(null, "", hash);
    this.tell();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }

  state(): { selection: Selection; view: unknown } {
    return { selection: this.selection, view: this.report?.() ?? null };
  }
}
