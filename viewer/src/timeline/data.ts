// SPDX-License-Identifier: BSD-3-Clause
// The data of a timeline and its queries: overviews of blocks of locations, call stacks of locations, messages, markers.
import { type Columns, NONE } from "../data/columns";
import { metricParams } from "../data/curves";
import type { Facts } from "../data/facts";
import { BLOCK, blocksOf, type Crowd } from "../data/rows";
import type { Source } from "../data/source";
import { type Asked, TILE, type TileKey, TimelineCache } from "./cache";
import { type CrowdTile, crowdTile } from "./crowd";
import type { Span } from "../data/timescale";

const MESSAGES = 100_000; // maximum in a tile, as in python/spartito/view/packing.py

/** A fraction as 0 to 255. */
const byteOf = (fraction: number): number => Math.round(Math.min(Math.max(fraction, 0), 1) * 255);

/** A tile of the kind "overview": for each location and column the region with the most exclusive time. */
export class Overview {
  readonly region: Uint32Array;
  readonly share: Uint8Array; // fraction of the column's time, 0 to 255
  readonly events: Uint32Array;
  readonly waiting: Uint8Array; // fraction of the column's time in which the location waited, 0 to 255

  constructor(
    readonly first: number, // first location
    readonly rows: number,
    columns: Columns<"overview">,
  ) {
    this.region = new Uint32Array(rows * TILE).fill(NONE);
    this.share = new Uint8Array(rows * TILE);
    this.events = new Uint32Array(rows * TILE);
    this.waiting = new Uint8Array(rows * TILE);
    const location = columns.get("location");
    const bucket = columns.get("bucket");
    const region = columns.get("region");
    const share = columns.get("share");
    const events = columns.get("events");
    const waiting = columns.get("waiting");
    for (let i = 0; i < location.length; i++) {
      const row = location[i]! - first;
      if (row < 0 || row >= rows || bucket[i]! >= TILE) continue;
      const at = row * TILE + bucket[i]!;
      this.region[at] = region[i]!;
      this.share[at] = byteOf(share[i]!);
      this.events[at] = events[i]!;
      this.waiting[at] = byteOf(waiting[i]!);
    }
  }
  get bytes(): number {
    return this.region.byteLength + this.share.byteLength + this.events.byteLength + this.waiting.byteLength;
  }
}

export const GROUPS = 22; // maximum of rows in the overview of the whole run
const COARSE = 256; // columns of the overview if several locations share a row

/** The overview of the whole run: all locations; adjacent ones share a row if there are more than GROUPS. */
export interface Small {
  rows: number;
  region: Uint32Array; // for each row TILE columns
  share: Uint8Array;
}

export function smallOf(columns: Columns<"overview">, locations: number): Small {
  const { groups, pixels } = columns.meta;
  const small = { rows: groups, region: new Uint32Array(groups * TILE).fill(NONE), share: new Uint8Array(groups * TILE) };
  const [location, bucket, region, share] = [columns.get("location"), columns.get("bucket"), columns.get("region"), columns.get("share")];
  const wide = TILE / pixels;
  for (let i = 0; i < location.length; i++) {
    const at = Math.floor((location[i]! * groups) / locations) * TILE + bucket[i]! * wide;
    small.region.fill(region[i]!, at, at + wide);
    small.share.fill(byteOf(share[i]!), at, at + wide);
  }
  return small;
}

interface Blocks extends Pick<Stack, "begin" | "end" | "region" | "calls" | "busy" | "exact"> {
  depth: Uint32Array;
}

function blocksIn(columns: Columns<"timeline">): Blocks {
  const [begin, end, region] = [columns.get("begin"), columns.get("end"), columns.get("region")];
  return { begin, end, region, calls: columns.get("calls"), busy: columns.get("busy"), depth: columns.get("depth"), exact: columns.meta.exact };
}

/** A tile of the kind "timeline": calls in the order of depth and begin; calls too narrow to draw are combined. */
export class Stack {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly region: Uint32Array;
  readonly calls: Uint32Array;
  readonly busy: Float32Array;
  readonly exact: boolean;
  readonly lanes: number;
  private readonly first: Uint32Array; // first block of each depth, and the number of blocks

  constructor(given: Blocks | Columns<"timeline">) {
    const { begin, end, region, calls, busy, depth, exact } = "meta" in given ? blocksIn(given) : given;
    this.begin = begin;
    this.end = end;
    this.region = region;
    this.calls = calls;
    this.busy = busy;
    this.exact = exact;
    this.lanes = depth.length ? depth[depth.length - 1]! + 1 : 0;
    this.first = new Uint32Array(this.lanes + 1).fill(depth.length);
    for (let i = depth.length - 1; i >= 0; i--) this.first[depth[i]!] = i;
    for (let d = this.lanes - 1; d >= 0; d--) this.first[d] = Math.min(this.first[d]!, this.first[d + 1]!);
  }
  get bytes(): number {
    return this.begin.length * 32;
  }

  /** The blocks of a depth between two times: first and after the last. */
  within(depth: number, begin: number, end: number): [number, number] {
    if (depth >= this.lanes) return [0, 0];
    return [this.search(this.end, depth, begin, true), this.search(this.begin, depth, end, false)];
  }

  private search(column: Float64Array, depth: number, moment: number, beyond: boolean): number {
    let low = this.first[depth]!;
    let high = this.first[depth + 1]!;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (beyond ? column[middle]! > moment : column[middle]! >= moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** The block at a time, or one within `near` seconds; -1: none. */
  at(depth: number, moment: number, near = 0): number {
    const [from, to] = this.within(depth, moment - near, moment + near);
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let i = from; i <= to && i < this.first[depth + 1]!; i++) {
      const away = Math.max(this.begin[i]! - moment, moment - this.end[i]!, 0);
      if (away <= near && away < least) [best, least] = [i, away];
    }
    return best;
  }
}

/** A tile of the kind "steps": the time in which tasks ran, by task and begin; steps too narrow to draw are combined. */
export class Steps {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  readonly steps: Uint32Array;
  readonly busy: Float32Array;
  private readonly task: Uint32Array;

  constructor(columns: Columns<"steps">) {
    this.task = columns.get("task");
    this.begin = columns.get("begin");
    this.end = columns.get("end");
    this.steps = columns.get("steps");
    this.busy = columns.get("busy");
  }
  get bytes(): number {
    return this.task.length * 28 + 100;
  }

  /** The rows of a task: first and after the last. */
  of(task: number): [number, number] {
    return [this.search(task), this.search(task + 1)];
  }

  private search(task: number): number {
    let low = 0;
    let high = this.task.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.task[middle]! < task) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export interface Ran {
  begin: number;
  end: number;
  steps: number;
  busy: number;
}

/** The step of a task at a time, or within `near` seconds; undefined: it waited or is unknown. */
export function stepAt(asked: Asked<Steps> | undefined, task: number, moment: number, near: number): Ran | undefined {
  for (const { value: s } of asked?.pieces ?? []) {
    const [first, last] = s.of(task);
    for (let i = first; i < last && s.begin[i]! <= moment + near; i++)
      if (s.end[i]! >= moment - near) return { begin: s.begin[i]!, end: s.end[i]!, steps: s.steps[i]!, busy: s.busy[i]! };
  }
  return undefined;
}

export interface Marker {
  location: number;
  time: number;
  text: string;
}

/** The parameters for a tile. The whole run has neither begin nor end, as in the queries of the one-file page. */
function tileParams(key: TileKey, span: Span): Partial<Span> {
  return key.level === 0 ? {} : { begin: span.begin, end: span.end };
}

export class TimelineData {
  readonly whole: Span;
  readonly overviews: TimelineCache<Overview>;
  readonly crowds: TimelineCache<CrowdTile>;
  private readonly known = new Map<string, Crowd>(); // crowds by their keys
  readonly stacks: TimelineCache<Stack>;
  readonly messages: TimelineCache<Columns<"messages">>;
  readonly counters: TimelineCache<Columns<"counters">>;
  readonly steps: TimelineCache<Steps>; // by blocks of tasks
  readonly metrics: TimelineCache<Columns<"metrics">>;
  markers: Marker[] = [];
  small: Small | undefined;

  constructor(
    private readonly source: Source,
    private readonly facts: Facts,
    landed: () => void,
  ) {
    this.whole = { begin: 0, end: Math.max(facts.duration, 1e-9) };
    this.overviews = new TimelineCache(this.whole, (key, span, left) => this.overview(key, span, left), {
      landed,
      bytes: (tile) => tile.bytes,
      limit: 96e6,
    });
    this.crowds = new TimelineCache(this.whole, (key, span, left) => crowdTile(this.source, this.known.get(key.group)!, tileParams(key, span), this.blocks(key), left), {
      landed,
      bytes: (tile) => tile.bytes,
      limit: 32e6,
    });
    this.stacks = new TimelineCache(this.whole, (key, span, left) => this.stack(key, span, left), {
      landed,
      bytes: (tile) => tile.bytes,
      enough: (tile) => tile.exact,
    });
    this.messages = new TimelineCache(this.whole, (key, span, left) => this.source.get("messages", { ...tileParams(key, span), limit: MESSAGES }, left), {
      landed,
      enough: (columns) => !columns.meta.hidden,
      bytes: (columns) => columns.get("from").length * 40 + 100,
      limit: 32e6,
    });
    this.counters = new TimelineCache(this.whole, (key, span, left) => this.source.get("counters", { ...tileParams(key, span), pixels: TILE }, left), {
      landed,
      bytes: (columns) => columns.get("counter").length * 44 + 100,
      limit: 16e6,
    });
    this.steps = new TimelineCache(this.whole, (key, span, left) => this.stepsOf(key, span, left), {
      landed,
      bytes: (tile) => tile.bytes,
      limit: 32e6,
    });
    this.metrics = new TimelineCache(this.whole, (key, span, left) => this.source.get("metrics", metricParams(this.facts, tileParams(key, span)), left), {
      landed,
      bytes: (columns) => columns.get("metric").length * 48 + 100,
      limit: 48e6,
    });
    this.readMarkers(landed);
    const n = facts.locations.length;
    this.source.get("overview", n > GROUPS ? { limit: GROUPS, pixels: COARSE } : { pixels: TILE, rows: `0-${n - 1}` }).then(
      (columns) => {
        this.small = smallOf(columns, n);
        landed();
      },
      () => undefined, // the rows send the same queries and report errors
    );
  }

  close(): void {
    for (const cache of [...this.needed, this.messages]) cache.close();
  }
  private get needed() {
    return [this.overviews, this.crowds, this.stacks, this.counters, this.metrics, this.steps];
  }
  get busy(): boolean {
    return this.messages.busy || this.needed.some((cache) => cache.busy);
  }
  get problem(): string {
    return this.needed.find((cache) => cache.problem)?.problem ?? "";
  }
  get withoutMessages(): string {
    return this.messages.problem;
  }

  /** The known tiles of crowds, and queries for missing ones. */
  wantCrowds(crowds: readonly Crowd[], span: Span, width: number): Map<string, Asked<CrowdTile>> {
    for (const crowd of crowds) this.known.set(crowd.key, crowd);
    return this.crowds.want(crowds.map(({ key }) => key), span, width);
  }

  /** The rows of the answers that a page that is a file has; undefined: the page has a server. */
  private blocks({ group }: TileKey): string[] | undefined {
    return this.facts.file ? blocksOf(this.known.get(group)!.locations).map((block) => this.rowsOf(block).join("-")) : undefined;
  }
  private rowsOf(block: number): [first: number, last: number] {
    return [block * BLOCK, Math.min((block + 1) * BLOCK, this.facts.locations.length) - 1];
  }

  private async overview(key: TileKey, span: Span, left: AbortSignal): Promise<Overview> {
    const [first, last] = this.rowsOf(Number(key.group));
    const columns = await this.source.get("overview", { ...tileParams(key, span), pixels: TILE, rows: `${first}-${last}` }, left);
    return new Overview(first, last - first + 1, columns);
  }

  private async stack(key: TileKey, span: Span, left: AbortSignal): Promise<Stack> {
    const location = Number(key.group);
    const columns = await this.source.get("timeline", { ...tileParams(key, span), pixels: TILE, location }, left);
    return new Stack(columns);
  }

  private async stepsOf(key: TileKey, span: Span, left: AbortSignal): Promise<Steps> {
    const first = Number(key.group) * BLOCK;
    return new Steps(await this.source.get("steps", { ...tileParams(key, span), pixels: TILE, rows: `${first}-${first + BLOCK - 1}` }, left));
  }

  private readMarkers(landed: () => void): void {
    if (!this.facts.has.trace) return;
    this.source.get("markers", {}).then(
      (columns) => {
        const texts = columns.meta.texts;
        const location = columns.get("location");
        this.markers = Array.from(columns.get("time"), (time, i) => ({ location: location[i]!, time, text: texts[i] ?? "" }));
        landed();
      },
      () => undefined, // a file without markers shows none
    );
  }
}

export interface Block {
  begin: number;
  end: number;
  region: number;
  calls: number;
  busy: number; // fraction that is covered by calls
}

/** The block at a time and depth, or within `near` seconds. */
export function blockAt(asked: Asked<Stack> | undefined, depth: number, moment: number, near: number): Block | undefined {
  for (const piece of [...(asked?.pieces ?? [])].reverse()) {
    if (moment < piece.begin || moment > piece.end) continue;
    const s = piece.value;
    const i = s.at(depth, moment, near);
    if (i < 0) continue;
    return { begin: s.begin[i]!, end: s.end[i]!, region: s.region[i]!, calls: s.calls[i]!, busy: s.busy[i]! };
  }
  return undefined;
}

/** The depth of the calls in a range of time. */
export function depthIn(asked: Asked<Stack> | undefined, span: Span): number {
  let deepest = 0;
  for (const piece of asked?.pieces ?? []) {
    const begin = Math.max(span.begin, piece.begin);
    const end = Math.min(span.end, piece.end);
    let depth = begin < end ? piece.value.lanes : 0;
    for (; depth > deepest; depth--) {
      const [first, last] = piece.value.within(depth - 1, begin, end);
      if (first < last) break;
    }
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** The regions from the outermost call to a block; undefined if a combined block is on the path. */
export function pathAt(asked: Asked<Stack> | undefined, depth: number, block: Block): number[] | undefined {
  const path: number[] = [];
  if (block.calls !== 1) return undefined;
  const moment = (block.begin + block.end) / 2;
  for (let d = 0; d < depth; d++) {
    const above = blockAt(asked, d, moment, 0);
    if (!above || above.calls !== 1) return undefined;
    path.push(above.region);
  }
  return [...path, block.region];
}

/** A caller of an element, or the element itself. */
export interface Frame {
  region: number;
  calls: number; // 1, or those of a combined block
  path: number[] | undefined; // undefined: a combined block is on the path
}

/** The calls above a depth at a time, outermost first. The path of each is known as far as no combined block is above it. */
export function stackAt(asked: Asked<Stack> | undefined, depth: number, moment: number): Frame[] {
  const found: Frame[] = [];
  let path: number[] | undefined = [];
  for (let d = 0; d < depth; d++) {
    const block = blockAt(asked, d, moment, 0);
    path = path && block?.calls === 1 ? [...path, block.region] : undefined;
    if (block) found.push({ region: block.region, calls: block.calls, path });
  }
  return found;
}

/** The previous (-1) or next (1) block of the same depth; undefined: none is known. */
export function neighbour(asked: Asked<Stack> | undefined, depth: number, block: Block, way: -1 | 1): Block | undefined {
  let best: Block | undefined;
  for (const { value: s } of asked?.pieces ?? []) {
    const middle = (block.begin + block.end) / 2;
    const [from, to] = way > 0 ? s.within(depth, middle, Number.POSITIVE_INFINITY) : s.within(depth, Number.NEGATIVE_INFINITY, middle);
    for (let i = way > 0 ? from : to - 1; i >= from && i < to; i += way) {
      if (way > 0 ? s.begin[i]! < block.end : s.end[i]! > block.begin) continue;
      const found = { begin: s.begin[i]!, end: s.end[i]!, region: s.region[i]!, calls: s.calls[i]!, busy: s.busy[i]! };
      if (!best || (way > 0 ? found.begin < best.begin : found.begin > best.begin)) best = found;
      break;
    }
  }
  return best;
}

export interface Cell {
  region: number;
  share: number;
  events: number;
  waiting: number; // fraction of the cell's time in which the location waited
  begin: number;
  end: number;
}

/** The cell of the overview for a location and a time. */
export function cellAt(asked: Asked<Overview> | undefined, location: number, moment: number, whole: Span): Cell | undefined {
  for (const piece of [...(asked?.pieces ?? [])].reverse()) {
    if (moment < piece.begin || moment > piece.end) continue;
    const part = (whole.end - whole.begin) / 2 ** piece.level;
    const tile = Math.min(Math.floor((moment - whole.begin) / part), 2 ** piece.level - 1);
    const from = whole.begin + tile * part;
    const column = Math.min(Math.max(Math.floor(((moment - from) / part) * TILE), 0), TILE - 1);
    const at = (location - piece.value.first) * TILE + column;
    const region = piece.value.region[at];
    if (region === undefined) continue;
    const begin = from + (column / TILE) * part;
    return { region, share: piece.value.share[at]! / 255, events: piece.value.events[at]!, waiting: piece.value.waiting[at]! / 255, begin, end: begin + part / TILE };
  }
  return undefined;
}

/** The bar around a time: adjacent cells with the same region. */
export function barAt(asked: Asked<Overview> | undefined, location: number, moment: number, whole: Span): Span | undefined {
  const cell = cellAt(asked, location, moment, whole);
  if (!cell || cell.region === NONE) return undefined;
  let [begin, end] = [cell.begin, cell.end];
  const half = (end - begin) / 2;
  for (let next = cellAt(asked, location, end + half, whole); next?.region === cell.region && next.end > end; next = cellAt(asked, location, end + half, whole)) end = next.end;
  for (let next = cellAt(asked, location, begin - half, whole); next?.region === cell.region && next.begin < begin; next = cellAt(asked, location, begin - half, whole)) begin = next.begin;
  return { begin, end };
}

/** Seconds in which a location waited within a span, and the seconds for which that is known. */
export function waitedIn(asked: Asked<Overview> | undefined, location: number, span: Span, whole: Span): { waited: number; known: number } {
  let [waited, known] = [0, 0];
  for (const { value, level, begin, end, exact } of asked?.pieces ?? []) {
    if (!exact && asked!.pieces.some((other) => other.exact && other.begin < end && other.end > begin)) continue;
    const [from, to] = [Math.max(span.begin, begin), Math.min(span.end, end)];
    const part = (whole.end - whole.begin) / 2 ** level;
    const tile = whole.begin + Math.floor(((begin + end) / 2 - whole.begin) / part) * part;
    const wide = part / TILE;
    for (let column = Math.max(Math.floor((from - tile) / wide), 0); column < TILE && tile + column * wide < to; column++) {
      const covered = Math.min(to, tile + (column + 1) * wide) - Math.max(from, tile + column * wide);
      if (covered <= 0) continue;
      known += covered;
      waited += (covered * value.waiting[(location - value.first) * TILE + column]!) / 255;
    }
  }
  return { waited, known };
}
