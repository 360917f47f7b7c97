// SPDX-License-Identifier: BSD-3-Clause
/** A cache of answers for ranges of time, kept as tiles, so that zooming and panning draw known tiles at once and no query is sent twice. A
 * tile of level l is one of 2^l equal parts of the run, with TILE columns. */
import type { Span } from "../data/timescale";
import { length } from "../data/timescale";

export const TILE = 1024; // columns of a tile
const MAX_LEVEL = 44; // finest level; a run of an hour then has columns of 0.2 ns
const SEARCH_DEPTH = 3; // levels below a missing tile that are searched for replacements

export interface TileKey {
  group: string; // contents of the tile: rows, a location, a counter
  level: number;
  index: number;
}
/** A tile to draw between begin and end, which may be only a part of it. */
export interface Piece<T> {
  value: T;
  level: number;
  begin: number;
  end: number;
  exact: boolean; // the tile is of the requested level, or as detailed
}
export interface Asked<T> {
  pieces: Piece<T>[]; // in drawing order: later ones cover earlier ones
  complete: boolean; // all columns are from tiles of the requested level
}
/** left: aborted when the tile is not needed any more. */
type Fetch<T> = (key: TileKey, span: Span, left: AbortSignal) => Promise<T>;
interface Options<T> {
  bytes?: (value: T) => number;
  limit?: number; // bytes of cached tiles
  flights?: number; // maximum of outstanding queries
  enough?: (value: T) => boolean; // returns whether a finer tile would have no more detail
  landed?: () => void; // called when a tile has arrived: the picture must be drawn again
}
interface Kept<T> {
  key: TileKey;
  value: T;
  bytes: number;
  used: number;
}

/** The level whose columns are not wider than a pixel. */
export function levelFor(whole: Span, span: Span, width: number): number {
  const least = (length(whole) / Math.max(length(span), 1e-12)) * (Math.max(width, 1) / TILE);
  return Math.min(Math.max(Math.ceil(Math.log2(least) - 1e-9), 0), MAX_LEVEL);
}

export function tileSpan(whole: Span, level: number, index: number): Span {
  const part = length(whole) / 2 ** level;
  return { begin: whole.begin + index * part, end: index + 1 === 2 ** level ? whole.end : whole.begin + (index + 1) * part };
}

/** First and last index of the tiles that overlap the span. */
export function tilesIn(whole: Span, span: Span, level: number): [number, number] {
  const part = length(whole) / 2 ** level;
  const most = 2 ** level - 1;
  const first = Math.floor((span.begin - whole.begin) / part);
  const last = Math.ceil((span.end - whole.begin) / part) - 1;
  return [Math.min(Math.max(first, 0), most), Math.min(Math.max(last, first, 0), most)];
}

function name(key: TileKey): string {
  return `${key.group}|${key.level}|${key.index}`;
}

export class TimelineCache<T> {
  private readonly kept = new Map<string, Kept<T>>();
  private readonly flying = new Map<string, AbortController>();
  private readonly failed = new Map<string, string>();
  private queue: TileKey[] = [];
  private wanted = new Set<string>();
  private bytes = 0;
  private clock = 0;

  constructor(
    readonly whole: Span,
    private readonly fetch: Fetch<T>,
    private readonly options: Options<T> = {},
  ) {}

  /** The known tiles of these groups. Queries missing tiles, and cancels queries for tiles that only earlier pictures needed. Called for
   * each picture with all groups that it needs. */
  want(groups: readonly string[], span: Span, width: number): Map<string, Asked<T>> {
    this.clock++;
    const level = levelFor(this.whole, span, width);
    const [first, last] = tilesIn(this.whole, span, level);
    const found = new Map<string, Asked<T>>();
    const missing: TileKey[] = [];
    this.wanted = new Set();
    for (const group of groups) {
      const asked: Asked<T> = { pieces: [], complete: true };
      for (let index = first; index <= last; index++) {
        const key = { group, level, index };
        this.cover(key, asked);
        if (this.lacks(key)) {
          asked.complete = false;
          missing.push(key);
          this.wanted.add(name(key));
        }
      }
      found.set(group, asked);
    }
    const middle = (first + last) / 2;
    missing.sort((a, b) => Math.abs(a.index - middle) - Math.abs(b.index - middle));
    this.leave();
    this.queue = missing.filter((key) => !this.flying.has(name(key)) && !this.failed.has(name(key)));
    this.start();
    return found;
  }

  /** The error of a tile in the last picture; "": none. */
  get problem(): string {
    for (const key of this.wanted) {
      const text = this.failed.get(key);
      if (text) return text;
    }
    return "";
  }
  get busy(): boolean {
    return this.flying.size > 0 || this.queue.length > 0;
  }
  get size(): number {
    return this.bytes;
  }

  retry(): void {
    this.failed.clear();
  }
  /** Cancels all queries. */
  close(): void {
    this.queue = [];
    this.wanted.clear();
    this.leave();
  }

  /** Cancels outstanding queries for tiles that are not needed, so they do not delay others. */
  private leave(): void {
    for (const [id, flight] of this.flying) {
      if (this.wanted.has(id)) continue;
      this.flying.delete(id);
      flight.abort();
    }
  }

  private look(key: TileKey): T | undefined {
    const kept = this.kept.get(name(key));
    if (kept) kept.used = this.clock;
    return kept?.value;
  }

  /** The finest known tile that covers this one, or this one. */
  private above(key: TileKey): { value: T; level: number } | undefined {
    for (let level = key.level; level >= 0; level--) {
      const value = this.look({ group: key.group, level, index: Math.floor(key.index / 2 ** (key.level - level)) });
      if (value !== undefined) return { value, level };
    }
    return undefined;
  }

  private lacks(key: TileKey): boolean {
    const found = this.above(key);
    return !found || (found.level < key.level && !this.options.enough?.(found.value));
  }

  private cover(key: TileKey, asked: Asked<T>): void {
    const place = tileSpan(this.whole, key.level, key.index);
    const found = this.above(key);
    const exact = !this.lacks(key);
    if (found) asked.pieces.push({ value: found.value, level: found.level, ...place, exact });
    if (exact) return;
    for (let down = 1; down <= SEARCH_DEPTH; down++)
      for (let i = 0; i < 2 ** down; i++) {
        const below = { group: key.group, level: key.level + down, index: key.index * 2 ** down + i };
        const value = this.look(below);
        if (value === undefined) continue;
        asked.pieces.push({ value, level: below.level, ...tileSpan(this.whole, below.level, below.index), exact: false });
      }
  }

  private start(): void {
    while (this.queue.length > 0 && this.flying.size < (this.options.flights ?? 4)) void this.fly(this.queue.shift()!);
  }

  private async fly(key: TileKey): Promise<void> {
    const id = name(key);
    const flight = new AbortController();
    this.flying.set(id, flight);
    try {
      this.keep(key, await this.fetch(key, tileSpan(this.whole, key.level, key.index), flight.signal));
    } catch (error) {
      if (flight.signal.aborted) return;
      this.failed.set(id, error instanceof Error ? error.message : String(error));
    }
    if (this.flying.get(id) === flight) this.flying.delete(id);
    this.start();
    this.options.landed?.();
  }

  private keep(key: TileKey, value: T): void {
    const bytes = this.options.bytes?.(value) ?? 1;
    const before = this.kept.get(name(key));
    this.bytes += bytes - (before?.bytes ?? 0);
    this.kept.set(name(key), { key, value, bytes, used: this.clock });
    if (this.bytes <= (this.options.limit ?? 64e6)) return;
    const old = [...this.kept.entries()].sort(([, a], [, b]) => a.used - b.used);
    for (const [id, kept] of old) {
      // keep tiles of the last picture, and level 0, which can replace all others
      if (this.bytes <= (this.options.limit ?? 64e6) * 0.75 || kept.used >= this.clock) break;
      if (kept.key.level === 0) continue;
      this.bytes -= kept.bytes;
      this.kept.delete(id);
    }
  }
}
