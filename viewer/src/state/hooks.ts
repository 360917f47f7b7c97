// SPDX-License-Identifier: BSD-3-Clause
// Hooks of views: the selection, answers to queries, and reports for tests.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Columns, Kind } from "../data/columns";
import { type Facts, Regions } from "../data/facts";
import { type Params, query, type Source } from "../data/source";
import { type Selection, type Store } from "./store";

const Context = createContext<Store>(undefined as never);
export const Provide = Context.Provider;

/** The facts. A view is only shown after they have arrived. */
export const KnownFacts = createContext<Facts | undefined>(undefined);
export const useFacts = (): Facts => useContext(KnownFacts)!;

export const useStore = (): Store => useContext(Context);

export function useSelection(): Selection {
  const store = useStore();
  const [selection, set] = useState(store.selection);
  useLayoutEffect(() => {
    set(store.selection);
    return store.subscribe(() => set(store.selection));
  }, [store]);
  return selection;
}

/** The source of the shown version. */
export function useSource(): Source {
  const store = useStore();
  const [source, set] = useState(store.source);
  useLayoutEffect(() => {
    set(store.source);
    return store.subscribe(() => set(store.source));
  }, [store]);
  return source;
}

export interface Answer<T> {
  /** While a new query is outstanding, the data of the previous one, to avoid flicker. */
  data: T | undefined;
  loading: boolean;
  /** An error message. */
  problem: string | undefined;
}

interface Held<T> {
  key: string;
  data: T | undefined;
  problem: string | undefined;
}

/** Queries the source; kind undefined: no query. make converts the columns, once for each answer. */
export function useAnswer<K extends Kind, T>(kind: K | undefined, params: Params<K>, make: (columns: Columns<K>) => T): Answer<T> {
  const store = useStore();
  const source = useSource();
  const key = kind === undefined ? "" : query(kind, params);
  const [held, hold] = useState<Held<T>>({ key: "", data: undefined, problem: undefined });
  useEffect(() => {
    let wanted = true;
    if (kind === undefined) return undefined;
    const leave = new AbortController();
    const needless = store.need(kind, params);
    source.get(kind, params, leave.signal).then(
      (columns) => wanted && hold({ key, data: made(columns, make), problem: undefined }),
      (error: Error) => wanted && hold({ key, data: undefined, problem: error.message }),
    );
    return () => {
      wanted = false;
      needless();
      leave.abort(); // the selection has changed
    };
  }, [store, source, key]);
  return { data: held.data, loading: held.key !== key, problem: held.key === key ? held.problem : undefined };
}

const makings = new WeakMap<object, Map<unknown, unknown>>();

/** Caches make(columns), as several views need the same Tree of an answer. */
function made<K extends Kind, T>(columns: Columns<K>, make: (columns: Columns<K>) => T): T {
  let known = makings.get(columns);
  if (!known) makings.set(columns, (known = new Map()));
  if (!known.has(make)) known.set(make, make(columns));
  return known.get(make) as T;
}

const same = <K extends Kind>(columns: Columns<K>): Columns<K> => columns;
const asFacts = (columns: Columns<"facts">): Facts => columns.meta;
const asRegions = (columns: Columns<"regions">): Regions => new Regions(columns);

export const useQuery = <K extends Kind>(kind: K | undefined, params: Params<K>): Answer<Columns<K>> => useAnswer(kind, params, same<K>);
export const useFirstFacts = (): Answer<Facts> => useAnswer("facts", {}, asFacts);
export const useRegions = (): Answer<Regions> => useAnswer("regions", {}, asRegions);

/** Makes the state of a view available to tests as window.spartito.state().view. */
export function useReport(report: (() => unknown) | undefined): void {
  const store = useStore();
  useLayoutEffect(() => {
    if (!report) return undefined; // the picture is part of a view, which reports itself
    store.report = report;
    return () => {
      if (store.report === report) store.report = undefined;
    };
  });
}

/** Width and height in CSS pixels of the element with the returned ref. */
export function useSize<E extends Element>(): [{ current: E | null }, { width: number; height: number }] {
  const element = useRef<E>(null);
  const [size, set] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const now = element.current;
    if (!now) return undefined;
    const look = (): void => set({ width: now.clientWidth, height: now.clientHeight });
    look();
    const observer = new ResizeObserver(look);
    observer.observe(now);
    return () => observer.disconnect();
  }, []);
  return [element, size];
}

/** Whether the page is dark: by the switch, or else by the system. */
export function useDark(): boolean {
  const { theme } = useSelection();
  const media = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, set] = useState(media.matches);
  useEffect(() => {
    const look = (): void => set(media.matches);
    media.addEventListener("change", look);
    return () => media.removeEventListener("change", look);
  }, [media]);
  return theme ? theme === "dark" : dark;
}
