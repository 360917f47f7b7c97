// SPDX-License-Identifier: BSD-3-Clause
// The store of the page: the selection and the source of data.
import type { Kind } from "../data/columns";
import { type Params, query, type Source } from "../data/source";
import { type Selection, read, write } from "../data/url";
import { Listeners } from "./listeners";

export type { Selection } from "../data/url";

export const FIRST = "summary"; // the first view

/** Merges a change into the selection. A path also sets the function; a function without a path removes the path. */
export function chosen(before: Selection, patch: Partial<Selection>): Selection {
  const after = { ...before, ...patch };
  if (patch.path?.length) after.region = patch.path[patch.path.length - 1];
  else if ("region" in patch && patch.region !== before.region && !("path" in patch)) after.path = undefined;
  for (const name of Object.keys(after) as (keyof Selection)[]) if (after[name] === undefined) delete after[name];
  return after;
}

/** The parameters that all queries of a view share. */
export function range(selection: Selection): Pick<Selection, "process" | "location" | "begin" | "end"> {
  const { process, location, begin, end } = selection;
  return { process, location, begin, end };
}

/** Where the selection is kept: the URL of the page, or nowhere. */
export type Place = Pick<Window, "addEventListener"> & { location: { hash: string }; history: Pick<History, "pushState" | "replaceState"> };

/** For a frame within a notebook, whose URL and history belong to the notebook. */
export const NOWHERE: Place = {
  location: { hash: "" },
  history: { pushState: () => undefined, replaceState: () => undefined },
  addEventListener: () => undefined,
};

/** A query of a part of the page. */
export interface Asked {
  kind: Kind;
  params: Params<Kind>;
  parts: number; // that need its answer
}

export class Store extends Listeners {
  selection: Selection;
  /** The queries whose answers are shown, by their text. */
  readonly asked = new Map<string, Asked>();
  /** Returns the state of the current view in numbers, for tests. */
  report: (() => unknown) | undefined;

  constructor(
    public source: Source,
    private readonly place: Place = window,
  ) {
    super();
    this.selection = read(place.location.hash, FIRST);
    const back = (): void => {
      this.selection = read(place.location.hash, FIRST);
      this.notify();
    };
    place.addEventListener("popstate", back);
    place.addEventListener("hashchange", back);
  }

  /** Whether the page is a frame within another page, which the wheel scrolls. */
  get embedded(): boolean {
    return this.place === NOWHERE;
  }

  /** how: "replace" for changes that need no step in the history, such as letters of a search. */
  select(patch: Partial<Selection>, how: "push" | "replace" = "push"): void {
    const after = chosen(this.selection, patch);
    const hash = write(after);
    if (hash === write(this.selection)) return;
    this.selection = after;
    if (how === "push") this.place.history.pushState(null, "", hash);
    else this.place.history.replaceState(null, "", hash);
    this.notify();
  }

  /** Notes that a part of the page needs an answer. Returns the function that ends this. */
  need(kind: Kind, params: Params<Kind>): () => void {
    const key = query(kind, params);
    const entry = this.asked.get(key) ?? { kind, params, parts: 0 };
    entry.parts++;
    this.asked.set(key, entry);
    return () => {
      if (--entry.parts === 0) this.asked.delete(key);
    };
  }

  /** Shows a later version of the run. move: the same selection there. */
  advance(source: Source, move: (selection: Selection) => Selection): void {
    this.source = source;
    const before = write(this.selection);
    this.selection = move(this.selection);
    if (write(this.selection) !== before) this.place.history.replaceState(null, "", write(this.selection));
    this.notify();
  }

  state(): { selection: Selection; view: unknown } {
    return { selection: this.selection, view: this.report?.() ?? null };
  }
}
