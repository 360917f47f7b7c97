// SPDX-License-Identifier: BSD-3-Clause
/** Answers about ranges of time, kept as tiles, so that what was seen once is drawn at once when one zooms or pans, and each
 * question is asked once. A tile of level l is one of 2^l equal parts of the whole run; each has TILE columns. */
import type { Span } from "../data/timescale";
import { length } from "../data/timescale";

export const TILE = 1024; // columns of a tile
const FINEST = 44; // level; a run of an hour then has columns of 0.2 ns
const DEEPER = 3; // so many levels below a tile that is missing are looked at for what can stand for it

export interface TileKey {
  group: string; // what the tile is about: rows, a location, a counter
  level: number;
  index: number;
}
/** A tile to be drawn between begin and end, which may be less than it covers. */
export interface Piece<T> {
  value: T;
  level: number;
  begin: number;
  end: number;
  exact: boolean; // of the level that was asked for, or as good as it
}
export interface Asked<T> {
  pieces: Piece<T>[]; // in the order of painting: what comes later covers what came before
  complete: boolean; // each column comes from a tile of the level asked for
}
/** left: nobody waits for it any more. */
type Fetch<T> = (key: TileKey, span: Span, left: AbortSignal) => Promise<T>;
interface Options<T> {
  bytes?: (value: T) => number;
  limit?: number; // bytes kept
  flights?: number; // questions under way at once
  enough?: (value: T) => boolean; // a finer tile would not tell more
  landed?: () => void; // something came: draw again
}
interface Kept<T> {
  key: TileKey;
  value: T;
  bytes: number;
  used: number;
}

/** The level at which a column is not wider than a pixel. */
export function levelFor(whole: Span, span: Span, width: number): number {
  const least = (length(whole) / Math.max(length(span), 1e-12)) * (Math.max(width, 1) / TILE);
  return Math.min(Math.max(Math.ceil(Math.log2(least) - 1e-9), 0), FINEST);
}

export function tileSpan(whole: Span, level: number, index: number): Span {
  const part = length(whole) / 2 ** level;
  return { begin: whole.begin + index * part, end: index + 1 === 2 ** level ? whole.end : whole.begin + (index + 1) * part };
}

/** First and last index of the tiles that the span touches. */
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

  /** What there is for these groups; what is missing is asked for, and what only earlier pictures lacked is not waited for. Called for
   * each picture, with everything that it needs. */
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

  /** What went wrong with tiles of the last picture; empty: nothing. */
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
  /** Nobody looks any more. */
  close(): void {
    this.queue = [];
    this.wanted.clear();
    this.leave();
  }

  /** The questions under way about tiles that are not wanted are taken back, so that they keep no others waiting. */
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

  /** The nearest tile above, itself included, that covers the place. */
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
    for (let down = 1; down <= DEEPER; down++)
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
      // what the last picture used stays; level 0 stands for everything
      if (this.bytes <= (this.options.limit ?? 64e6) * 0.75 || kept.used >= this.clock) break;
      if (kept.key.level === 0) continue;
      this.bytes -= kept.bytes;
      this.kept.delete(id);
    }
  }
}
