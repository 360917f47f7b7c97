// SPDX-License-Identifier: BSD-3-Clause
// The rows of crowds: how many of many threads ran and waited in each column of time.
import { type Columns, NONE } from "../data/columns";
import type { Params, Source } from "../data/source";
import type { Crowd } from "../data/rows";
import type { Span } from "../data/timescale";
import { type Asked, type Piece, TILE } from "./cache";

export const LINES = 64; // pixel lines of a crowd's row
const LONGEST = 3000; // characters of the list of rows in a query, as a URL has a limit

/** Lists of ranges such as "0-99,200-299", each of at most LONGEST characters, and the number of locations in each. */
export function rowLists(locations: readonly number[], longest = LONGEST): { rows: string; count: number }[] {
  const found: { rows: string; count: number }[] = [];
  for (let i = 0; i < locations.length; ) {
    let last = i;
    while (locations[last + 1] === locations[last]! + 1) last++;
    const range = `${locations[i]}-${locations[last]}`;
    const to = found[found.length - 1];
    if (to && to.rows.length + range.length < longest) [to.rows, to.count] = [`${to.rows},${range}`, to.count + last + 1 - i];
    else found.push({ rows: range, count: last + 1 - i });
    i = last + 1;
  }
  return found;
}

/** A tile of a crowd. Numbers of threads are means over a column. */
export class CrowdTile {
  readonly region = new Uint32Array(TILE).fill(NONE); // the one with the most time of all
  readonly running = new Float32Array(TILE);
  readonly waiting = new Float32Array(TILE);
  private readonly most = new Float32Array(TILE); // time of that region

  get bytes(): number {
    return TILE * 16;
  }

  /** Adds an answer about `count` locations: one row of all, or in a page that is a file, where columns are not joined, one of each. */
  add(columns: Columns<"overview">, count: number, wanted?: ReadonlySet<number>): void {
    const joined = columns.has("open");
    const [location, bucket, region, share, waiting] = [columns.get("location"), columns.get("bucket"), columns.get("region"), columns.get("share"), columns.get("waiting")];
    const open = joined ? columns.get("open") : share; // of a single location at least that
    const n = joined ? count : 1;
    for (let i = 0; i < bucket.length; i++) {
      const at = bucket[i]!;
      if (at >= TILE || (wanted && !wanted.has(location[i]!))) continue;
      const [all, waited] = [Math.max(open[i]!, waiting[i]!) * n, waiting[i]! * n];
      this.waiting[at] = this.waiting[at]! + waited;
      this.running[at] = this.running[at]! + all - waited;
      if (region[i] === NONE || share[i]! * n <= this.most[at]!) continue;
      this.region[at] = region[i]!;
      this.most[at] = share[i]! * n;
    }
  }
}

/** Queries the tile of a crowd. In a page that is a file, there are only answers about blocks of locations. */
export async function crowdTile(source: Source, crowd: Crowd, span: Partial<Span>, blocks: readonly string[] | undefined, left: AbortSignal): Promise<CrowdTile> {
  const tile = new CrowdTile();
  const get = (rows: string, more: Params<"overview">) => source.get("overview", { ...span, pixels: TILE, rows, ...more }, left);
  if (blocks) {
    const wanted = new Set(crowd.locations);
    for (const columns of await Promise.all(blocks.map((rows) => get(rows, {})))) tile.add(columns, 1, wanted);
  } else {
    const lists = rowLists(crowd.locations);
    (await Promise.all(lists.map(({ rows }) => get(rows, { limit: 1 })))).forEach((columns, i) => tile.add(columns, lists[i]!.count));
  }
  return tile;
}

/** The column of a tile at a time, and the begin and the length of the column. */
export function columnAt(piece: Pick<Piece<unknown>, "level" | "begin" | "end">, moment: number, whole: Span): { at: number; begin: number; wide: number } {
  const part = (whole.end - whole.begin) / 2 ** piece.level;
  const tile = whole.begin + Math.floor(((piece.begin + piece.end) / 2 - whole.begin) / part) * part;
  const at = Math.min(Math.max(Math.floor(((moment - tile) / part) * TILE), 0), TILE - 1);
  return { at, begin: tile + (at / TILE) * part, wide: part / TILE };
}

/** The largest number of threads in a visible column. */
export function peakOf(asked: Asked<CrowdTile> | undefined, span: Span, whole: Span): number {
  let most = 0;
  for (const piece of asked?.pieces ?? []) {
    const [from, to] = [Math.max(piece.begin, span.begin), Math.min(piece.end, span.end)];
    if (from >= to) continue;
    const { running, waiting } = piece.value;
    for (let i = columnAt(piece, from, whole).at, last = columnAt(piece, to, whole).at; i <= last; i++) most = Math.max(most, running[i]! + waiting[i]!);
  }
  return most;
}

export interface CrowdCell {
  region: number;
  running: number;
  waiting: number;
  begin: number;
  end: number;
}

export function crowdAt(asked: Asked<CrowdTile> | undefined, moment: number, whole: Span): CrowdCell | undefined {
  for (const piece of [...(asked?.pieces ?? [])].reverse()) {
    if (moment < piece.begin || moment > piece.end) continue;
    const { at, begin, wide } = columnAt(piece, moment, whole);
    const { region, running, waiting } = piece.value;
    return { region: region[at]!, running: running[at]!, waiting: waiting[at]!, begin, end: begin + wide };
  }
  return undefined;
}
