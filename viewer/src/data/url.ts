// SPDX-License-Identifier: BSD-3-Clause
// The selection as the URL's hash, so that links to a view work, and the back button.

/** Values of filters. */
export const [OWN, ENTRIES, IMPORTS, RECURSION, FOUND] = ["own", "entries", "imports", "recursion", "found"] as const;
/** The parts of the selection that are filters of call paths. */
export const FILTERS = ["code", "hide", "fold", "only", "least"] as const;
export const INVERTED = "callers"; // value of `invert`
export type Theme = "light" | "dark";

/** The selection that all views share. A call path has the regions from the outermost to the function itself. */
export interface Selection {
  view: string;
  region?: number;
  path?: readonly number[];
  module?: string;
  process?: number;
  location?: number;
  /** Only processes or threads with this role are shown: "process:pool worker". */
  role?: string;
  begin?: number;
  end?: number;
  search?: string;
  /** The call path that fills icicle and sunburst. */
  centre?: readonly number[];
  /** The icicle is inverted: callers below. */
  invert?: string;
  /** What fills the inverted icicle: a function, then its callers. */
  inverse?: readonly number[];
  metric?: string;
  /** OWN: own functions alone are shown. ENTRIES: own functions, and the functions of other code that they call. */
  code?: string;
  /** IMPORTS: they are left out. */
  hide?: string;
  /** RECURSION: calls of a function within itself count for the outermost. */
  fold?: string;
  /** FOUND: only call paths with functions that the search has found, or in the module. */
  only?: string;
  /** The smallest fraction of the time of a call path that is shown by itself. */
  least?: string;
  /** What functions are coloured by, see state/shades.ts: "module", "function", "state" …; undefined: as the facts of the run say. */
  colour?: string;
  /** The entry of the legend whose functions are highlighted, of colours other than by module, function or unit. */
  tone?: string;
  /** A range of time as writeRange(): the selected range is compared with it. */
  against?: string;
  /** Which part of a view is shown, where it has several; other views ignore it. */
  part?: string;
  theme?: Theme;
}

/** "3.7*40.9": repeated regions are counted, as recursion would make the URL very long. */
export function writePath(path: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < path.length; ) {
    let n = 1;
    while (path[i + n] === path[i]) n++;
    parts.push(n > 1 ? `${path[i]}*${n}` : `${path[i]}`);
    i += n;
  }
  return parts.join(".");
}

const MAX_FRAMES = 1_000_000; // frames; limit for the memory that an edited hash can use

export function readPath(text: string): number[] | undefined {
  const path: number[] = [];
  for (const part of text.split(".")) {
    const match = /^(\d{1,10})(?:\*(\d{1,7}))?$/.exec(part);
    const n = match ? Number(match[2] ?? 1) : 0;
    if (!match || n < 1 || path.length + n > MAX_FRAMES) return undefined;
    for (let i = 0; i < n; i++) path.push(Number(match[1]));
  }
  return path;
}

export const writeRange = (begin: number, end: number): string => `${begin}~${end}`;

export function readRange(text: string | undefined): { begin: number; end: number } | undefined {
  const [begin, end, ...more] = (text ?? "").split("~").map(Number);
  return more.length === 0 && begin! < end! && Number.isFinite(end! - begin!) ? { begin: begin!, end: end! } : undefined;
}

const INDICES = ["region", "process", "location"] as const;
const MOMENTS = ["begin", "end"] as const;
const PATHS = ["path", "centre", "inverse"] as const;
const TEXTS = ["invert", "role", "module", "search", "metric", ...FILTERS, "against", "part", "colour", "tone"] as const;

export function write(selection: Selection): string {
  const out = new URLSearchParams();
  out.set("view", selection.view);
  for (const name of [...INDICES, ...MOMENTS]) if (selection[name] !== undefined) out.set(name, String(selection[name]));
  for (const name of PATHS) {
    const path = selection[name];
    if (path?.length) out.set(name, writePath(path));
  }
  for (const name of TEXTS) if (selection[name]) out.set(name, selection[name]!);
  if (selection.theme) out.set("theme", selection.theme);
  return "#" + out.toString();
}

/** Ignores invalid parts, so an old or mistyped link shows as much as possible. */
export function read(hash: string, view: string): Selection {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const selection: Selection = { view: given.get("view") || view };
  for (const name of INDICES) {
    const value = given.get(name);
    if (value !== null && /^\d{1,10}$/.test(value)) selection[name] = Number(value);
  }
  for (const name of MOMENTS) {
    const value = given.get(name);
    if (value && Number.isFinite(Number(value))) selection[name] = Number(value);
  }
  for (const name of PATHS) {
    const value = given.get(name);
    const path = value ? readPath(value) : undefined;
    if (path) selection[name] = path;
  }
  for (const name of TEXTS) {
    const value = given.get(name);
    if (value) selection[name] = value;
  }
  const theme = given.get("theme");
  if (theme === "light" || theme === "dark") selection.theme = theme;
  return selection;
}
