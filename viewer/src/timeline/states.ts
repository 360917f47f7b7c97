// SPDX-License-Identifier: BSD-3-Clause
// The answer of the kind "states": states of threads over time from samples, as bands of a timeline.
import type { Bands, Picture, Shown } from "./picture";
import type { Colour } from "../draw/colour";
import { type Columns, NONE } from "../data/columns";
import type { Facts, Regions } from "../data/facts";
import { pixelOf } from "../draw/raster";
import { BLOCK, blocksOf, type Crowd, locationLabel, type Row } from "../data/rows";
import type { Source } from "../data/source";
import { type Asked, TILE, TimelineCache, type TileKey } from "./cache";
import { LINES, rowLists } from "./crowd";
import { moment as momentText, type Span } from "../data/timescale";
import { count, percent, time } from "../data/units";

/** From the bottom of a row to its top. Colours differ in lightness, for common kinds of colour blindness. */
export const STATES = [
  { id: "running", title: "running", hint: "It ran, or was ready to", light: [24, 104, 72], dark: [80, 190, 138] },
  { id: "gil", title: "waiting for the GIL", hint: "It waited for the interpreter's lock", light: [232, 140, 52], dark: [226, 120, 52] },
  { id: "syscall", title: "in a system call", hint: "In a system call that works: files, disks, sending to the network", light: [112, 106, 196], dark: [122, 112, 220] },
  { id: "idle", title: "idle", hint: "It waited for something else: sleep, locks, input", light: [216, 220, 226], dark: [66, 71, 78] },
  { id: "object_lock", title: "waiting for an object's lock", hint: "Another thread used the same object, in a Python without the GIL", light: [190, 62, 92], dark: [244, 176, 200] },
  { id: "stopped", title: "stopped", hint: "Another thread stopped all threads, to collect garbage for example, in a Python without the GIL", light: [20, 60, 120], dark: [100, 166, 238] },
] as const satisfies readonly { id: string; title: string; hint: string; light: Colour; dark: Colour }[];
const N = STATES.length;

export const colourOfState = (state: number, dark: boolean): Colour => STATES[state]![dark ? "dark" : "light"];

/** A tile of some locations with TILE columns each. */
export class States {
  /** For each column the fractions of all states, 0 to 255. */
  readonly share: Uint8Array;
  readonly path: Uint32Array;
  readonly samples: Uint32Array;
  /** Of a crowd: the number of threads in a column of full height. */
  peak = 0;

  /** sums: of the states of a crowd, a number of threads for each column and state, instead of columns. */
  constructor(
    readonly first: number, // first location
    readonly rows: number,
    columns: Columns<"states"> | undefined,
    sums?: Float64Array,
  ) {
    this.share = new Uint8Array(rows * TILE * N);
    this.path = new Uint32Array(rows * TILE).fill(NONE);
    this.samples = new Uint32Array(rows * TILE);
    if (sums) {
      // the highest column fills the height
      for (let i = 0; i < TILE; i++) this.peak = Math.max(this.peak, sums.subarray(i * N, (i + 1) * N).reduce((sum, one) => sum + one, 0));
      sums.forEach((sum, i) => (this.share[i] = this.peak ? Math.round((sum / this.peak) * 255) : 0));
    }
    if (!columns) return;
    const [location, bucket, path, samples] = [columns.get("location"), columns.get("bucket"), columns.get("path"), columns.get("samples")];
    const shares = STATES.map(({ id }) => columns.get(id));
    for (let i = 0; i < location.length; i++) {
      const row = location[i]! - first;
      if (row < 0 || row >= rows || bucket[i]! >= TILE) continue;
      const at = row * TILE + bucket[i]!;
      this.path[at] = path[i]!;
      this.samples[at] = samples[i]!;
      shares.forEach((share, state) => (this.share[at * N + state] = Math.round(share[i]! * 255)));
    }
  }
  get bytes(): number {
    return this.share.byteLength + this.path.byteLength + this.samples.byteLength;
  }
}

/** The state of a column at a height, from 0 (bottom) to 1 (top); -1: none, as the column is not filled so far. */
export function stateAt(share: Uint8Array, column: number, height: number): number {
  let sum = 0;
  for (let state = 0; state < N; state++) {
    sum += share[column * N + state]!;
    if (height * 255 < sum) return state;
  }
  return -1;
}

/** A function that returns the regions of a call path, from the columns of the kind "tree": outermost first; undefined: unknown path. */
export function pathsOf(columns: Columns<"tree">): (path: number) => number[] | undefined {
  const [path, parent, region] = [columns.get("path"), columns.get("parent"), columns.get("region")];
  const rows = new Map<number, number>();
  path.forEach((of, row) => of !== NONE && rows.set(of, row));
  return (of) => {
    const found: number[] = [];
    for (let row = rows.get(of); row !== undefined && row !== NONE; row = parent[row]!) found.push(region[row]!);
    return found.length ? found.reverse() : undefined;
  };
}

interface Cell {
  peak: number; // of a crowd, see States
  shares: number[];
  path: number;
  samples: number;
  begin: number;
  end: number;
}

export class StateBands implements Bands {
  readonly lines = 16;
  private readonly cache: TimelineCache<States>;
  private asked: ReadonlyMap<string, Asked<States>> = new Map();
  private readonly known = new Map<string, Crowd>(); // crowds by their keys
  private paths: ((path: number) => number[] | undefined) | undefined;

  constructor(
    private readonly source: Source,
    private readonly facts: Facts,
    private readonly regions: Regions,
    private readonly whole: Span,
    landed: () => void,
  ) {
    this.cache = new TimelineCache(whole, (key, span, left) => this.fetch(key, span, left), { landed, bytes: (tile) => tile.bytes, limit: 96e6 });
    source.get("tree", {}).then(
      (columns) => {
        this.paths = pathsOf(columns);
        landed();
      },
      () => undefined, // without the tree, stacks have no names
    );
  }

  private async fetch(key: TileKey, span: Span, left: AbortSignal): Promise<States> {
    const crowd = this.known.get(key.group);
    if (crowd) return this.fetchCrowd(crowd, key, span, left);
    const first = Number(key.group) * BLOCK;
    const last = Math.min(first + BLOCK, this.facts.locations.length) - 1;
    const part = key.level === 0 ? {} : { begin: span.begin, end: span.end }; // as in the queries of the one-file page
    return new States(first, last - first + 1, await this.source.get("states", { ...part, pixels: TILE, rows: `${first}-${last}` }, left));
  }

  /** The shares of all locations of a crowd together. */
  private async fetchCrowd(crowd: Crowd, key: TileKey, span: Span, left: AbortSignal): Promise<States> {
    const part = key.level === 0 ? {} : { begin: span.begin, end: span.end };
    const sums = new Float64Array(TILE * N);
    const add = (columns: Columns<"states">, count: number, wanted?: ReadonlySet<number>): void => {
      const [location, bucket] = [columns.get("location"), columns.get("bucket")];
      STATES.forEach(({ id }, state) =>
        columns.get(id).forEach((share, i) => {
          const to = bucket[i]! * N + state;
          if (!wanted || wanted.has(location[i]!)) sums[to] = sums[to]! + share * count;
        }),
      );
    };
    const get = (rows: string, more: { limit?: number }): Promise<Columns<"states">> => this.source.get("states", { ...part, pixels: TILE, rows, ...more }, left);
    if (this.facts.file) {
      const wanted = new Set(crowd.locations);
      const last = this.facts.locations.length - 1;
      for (const columns of await Promise.all(blocksOf(crowd.locations).map((block) => get(`${block * BLOCK}-${Math.min((block + 1) * BLOCK - 1, last)}`, {})))) add(columns, 1, wanted);
    } else {
      const lists = rowLists(crowd.locations);
      (await Promise.all(lists.map(({ rows }) => get(rows, { limit: 1 })))).forEach((columns, i) => add(columns, lists[i]!.count));
    }
    return new States(crowd.locations[0]!, 1, undefined, sums);
  }

  want(locations: readonly number[], crowds: readonly Crowd[], span: Span, width: number): void {
    for (const crowd of crowds) this.known.set(crowd.key, crowd);
    this.asked = this.cache.want([...blocksOf(locations).map(String), ...crowds.map(({ key }) => key)], span, width);
  }
  get busy(): boolean {
    return this.cache.busy;
  }
  get complete(): boolean {
    return this.paths !== undefined && [...this.asked.values()].every((asked) => asked.complete);
  }
  get problem(): string {
    return this.cache.problem;
  }
  close(): void {
    this.cache.close();
  }

  fill(p: Picture, row: Row, at: number): void {
    const { raster, scale } = p;
    const ratio = raster.width / Math.max(p.width - p.left, 1);
    const lines = row.crowd ? LINES : this.lines;
    const colours = STATES.map((_, state) => pixelOf(colourOfState(state, p.inks.dark)));
    for (const piece of this.asked.get(row.crowd ? row.key : p.blockOf(row.location))?.pieces ?? []) {
      const from = Math.max(Math.floor(scale.x(piece.begin) * ratio), 0);
      const to = Math.min(Math.ceil(scale.x(piece.end) * ratio), raster.width);
      for (let x = from; x < to; x++) {
        const column = this.column(piece.level, scale.time((x + 0.5) / ratio), (piece.begin + piece.end) / 2);
        const from = (row.location - piece.value.first) * TILE + column;
        for (let line = 0; line < lines; line++) {
          const state = stateAt(piece.value.share, from, 1 - (line + 0.5) / lines);
          raster.pixels[at + line * raster.width + x] = state < 0 ? p.inks.paperPixel : colours[state]!;
        }
      }
    }
  }

  /** The column within a known tile for a level and time. */
  private column(level: number, moment: number, within: number): number {
    const part = (this.whole.end - this.whole.begin) / 2 ** level;
    const tile = Math.min(Math.floor((within - this.whole.begin) / part), 2 ** level - 1);
    return Math.min(Math.max(Math.floor(((moment - this.whole.begin) / part - tile) * TILE), 0), TILE - 1);
  }

  private cell(location: number, moment: number, crowd?: Crowd): Cell | undefined {
    for (const piece of [...(this.asked.get(crowd?.key ?? String(Math.floor(location / BLOCK)))?.pieces ?? [])].reverse()) {
      if (moment < piece.begin || moment > piece.end) continue;
      const part = (this.whole.end - this.whole.begin) / 2 ** piece.level;
      const column = this.column(piece.level, moment, (piece.begin + piece.end) / 2);
      const at = (location - piece.value.first) * TILE + column;
      if (at < 0 || at >= piece.value.path.length) continue;
      const tile = Math.floor(((piece.begin + piece.end) / 2 - this.whole.begin) / part);
      const begin = this.whole.begin + tile * part + (column / TILE) * part;
      const shares = STATES.map((_, state) => piece.value.share[at * N + state]! / 255);
      return { peak: piece.value.peak, shares, path: piece.value.path[at]!, samples: piece.value.samples[at]!, begin, end: begin + part / TILE };
    }
    return undefined;
  }

  path(location: number, moment: number): number[] | undefined {
    const cell = this.cell(location, moment);
    return cell && this.paths?.(cell.path);
  }

  describe({ location, crowd, label }: Row, moment: number, pixel: number): Shown | undefined {
    const cell = this.cell(location, moment, crowd);
    const on: [string, string] = ["on", crowd ? label : locationLabel(this.facts, location)];
    const at: [string, string] = ["at", momentText(moment, pixel)];
    if (!cell || cell.shares.every((share) => share === 0)) return { title: "no sample here", pairs: [on, at] };
    const most = cell.shares.indexOf(Math.max(...cell.shares));
    if (crowd) {
      const some = STATES.flatMap(({ title }, state) => (cell.shares[state]! > 0 ? [`${count(Math.round(cell.shares[state]! * cell.peak * 10) / 10)} ${title}`] : []));
      return { title: STATES[most]!.title, pairs: [on, at, [`of ${count(crowd.locations.length)} threads, in the mean`, some.join(", ")]] };
    }
    const path = this.path(location, moment) ?? [];
    const region = path[path.length - 1];
    return {
      title: `${STATES[most]!.title}${region === undefined ? "" : `: ${this.regions.names[region] ?? ""}`}`,
      pairs: [
        on,
        at,
        [`of ${time(cell.end - cell.begin)}`, STATES.flatMap(({ title }, state) => (cell.shares[state]! > 0 ? [`${percent(cell.shares[state]!)} ${title}`] : [])).join(", ")],
        ["samples that began", count(cell.samples)],
      ],
      region,
      stack: path.map((frame, i) => ({ region: frame, calls: 1, path: path.slice(0, i + 1) })),
    };
  }

  /** Seconds of each state in each location, from the tiles of the last picture. */
  report(): unknown {
    const found: Record<string, number[]> = {};
    for (const asked of this.asked.values())
      for (const piece of asked.pieces) {
        const { value: tile, level, exact } = piece;
        if (!exact || tile.peak) continue; // of a crowd
        const column = (this.whole.end - this.whole.begin) / 2 ** level / TILE / 255;
        for (let i = 0; i < tile.rows * TILE; i++) {
          const sums = (found[String(tile.first + Math.floor(i / TILE))] ??= STATES.map(() => 0));
          for (let state = 0; state < N; state++) sums[state]! += tile.share[i * N + state]! * column;
        }
      }
    return found;
  }
}
