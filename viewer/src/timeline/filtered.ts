// SPDX-License-Identifier: BSD-3-Clause
// The calls of a timeline as the filters of the selection leave them. Hidden calls have no boxes, and the shown ones below them move up. A
// row's first line shows for which function most of the time counts.
import type { Calls, Visible } from "../calltree/visible";
import { NONE } from "../data/columns";
import { BLOCK } from "../data/rows";
import { length, type Span } from "../data/timescale";
import { type Asked, type Piece, TILE, tileSpan } from "./cache";
import { type Overview, Stack } from "./data";

interface Filtered {
  shown: Stack;
  /** For each block of the tile the function that its exclusive time counts for. */
  counts: Uint32Array;
}

const ALL = Number.POSITIVE_INFINITY;

/** The calls of each block. A combined block counts as calls of the function with most of its time. */
function callsOf(stack: Stack, visible: Visible): Calls[] {
  const found: Calls[] = [];
  for (let depth = 0; depth < stack.lanes; depth++) {
    const [from, to] = stack.within(depth, -ALL, ALL);
    let [above, last] = depth ? stack.within(depth - 1, -ALL, ALL) : [0, 0];
    for (let i = from; i < to; i++) {
      const middle = (stack.begin[i]! + stack.end[i]!) / 2;
      while (above + 1 < last && stack.end[above]! < middle) above++;
      found[i] = visible.calls(depth ? found[above] : undefined, stack.region[i]!, stack.calls[i]! > 1);
    }
  }
  return found;
}

/** The blocks that are shown, by depth and begin. Combined blocks may overlap their neighbours' callees: they end where the next begins. */
function shownOf(stack: Stack, calls: readonly Calls[]): Stack {
  const at = calls.flatMap(({ shown }, i) => (shown ? [i] : []));
  at.sort((a, b) => calls[a]!.depth - calls[b]!.depth || stack.begin[a]! - stack.begin[b]!);
  const n = at.length;
  const made = { depth: new Uint32Array(n), begin: new Float64Array(n), end: new Float64Array(n), region: new Uint32Array(n), calls: new Uint32Array(n), busy: new Float32Array(n) };
  at.forEach((from, i) => {
    const next = at[i + 1];
    const limit = next !== undefined && calls[next]!.depth === calls[from]!.depth ? stack.begin[next]! : ALL;
    made.depth[i] = calls[from]!.depth;
    made.begin[i] = stack.begin[from]!;
    made.end[i] = Math.min(stack.end[from]!, limit);
    made.region[i] = stack.region[from]!;
    made.calls[i] = stack.calls[from]!;
    made.busy[i] = stack.busy[from]!;
  });
  return new Stack({ ...made, exact: stack.exact });
}

/** Adds the fraction of each column that the blocks of a depth cover, and notes what the longest of them counts for. */
function cover(stack: Stack, counts: Uint32Array, depth: number, span: Span, covered: Float64Array, longest: Uint32Array): void {
  covered.fill(0);
  longest.fill(NONE);
  const most = new Float64Array(TILE);
  const column = length(span) / TILE;
  const [from, to] = stack.within(depth, span.begin, span.end);
  for (let i = from; i < to; i++) {
    const [begin, end] = [(stack.begin[i]! - span.begin) / column, (stack.end[i]! - span.begin) / column];
    const dense = stack.calls[i]! > 1 ? stack.busy[i]! : 1;
    for (let x = Math.max(Math.floor(begin), 0); x < TILE && x < end; x++) {
      const part = (Math.min(end, x + 1) - Math.max(begin, x)) * dense;
      covered[x]! += part;
      if (part <= most[x]!) continue;
      most[x] = part;
      longest[x] = counts[i]!;
    }
  }
}

/** For each column of a span the function that most of its time counts for, and the fraction of the column that it has. */
export function columnsOf(stack: Stack, counts: Uint32Array, span: Span): { region: Uint32Array; share: Float64Array } {
  const sums = Array.from({ length: TILE }, () => new Map<number, number>());
  let [covered, below, longest] = [new Float64Array(TILE), new Float64Array(TILE), new Uint32Array(TILE)];
  for (let depth = stack.lanes - 1; depth >= 0; depth--) {
    cover(stack, counts, depth, span, covered, longest);
    for (let x = 0; x < TILE; x++) {
      const time = covered[x]! - below[x]!;
      if (time > 1e-6 && longest[x] !== NONE) sums[x]!.set(longest[x]!, (sums[x]!.get(longest[x]!) ?? 0) + time);
    }
    [covered, below] = [below, covered];
  }
  const region = new Uint32Array(TILE).fill(NONE);
  const share = new Float64Array(TILE);
  sums.forEach((sum, x) => {
    for (const [one, time] of sum) if (time > share[x]!) [region[x], share[x]] = [one, Math.min(time, 1)];
  });
  return { region, share };
}

/** The tile's span; a piece may be a part of it. */
function spanOf({ level, begin, end }: Piece<unknown>, whole: Span): Span {
  return tileSpan(whole, level, Math.floor(((begin + end) / 2 - whole.begin) / (length(whole) / 2 ** level)));
}

interface Row {
  pieces: readonly Piece<Stack>[];
  region: Uint32Array;
  share: Uint8Array;
}

const isSame = (a: readonly Piece<Stack>[], b: readonly Piece<Stack>[]): boolean =>
  a.length === b.length && a.every(({ value, begin, end }, i) => value === b[i]!.value && begin === b[i]!.begin && end === b[i]!.end);

/** Caches the filtered tiles. */
export class FilteredCalls {
  private readonly stacks = new WeakMap<Stack, Filtered>();
  private readonly rows = new WeakMap<Overview, Map<number, Row>>();

  constructor(private readonly visible: Visible) {}

  private filtered(stack: Stack): Filtered {
    let found = this.stacks.get(stack);
    if (!found) {
      const calls = callsOf(stack, this.visible);
      found = { shown: shownOf(stack, calls), counts: Uint32Array.from(calls, ({ counts }) => counts) };
      this.stacks.set(stack, found);
    }
    return found;
  }

  /** Only what is shown. */
  stacksOf(asked: ReadonlyMap<string, Asked<Stack>>): Map<string, Asked<Stack>> {
    const shown = (pieces: readonly Piece<Stack>[]) => pieces.map((piece) => ({ ...piece, value: this.filtered(piece.value).shown }));
    return new Map([...asked].map(([location, { pieces, complete }]) => [location, { pieces: shown(pieces), complete }]));
  }

  /** The overviews with what the time counts for, as far as the calls are known. */
  overviewsOf(overviews: ReadonlyMap<string, Asked<Overview>>, stacks: ReadonlyMap<string, Asked<Stack>>, whole: Span): Map<string, Asked<Overview>> {
    const shown = (pieces: readonly Piece<Overview>[]) => pieces.map((piece) => ({ ...piece, value: this.overview(piece, stacks, whole) }));
    return new Map([...overviews].map(([block, { pieces, complete }]) => [block, { pieces: shown(pieces), complete: complete && this.known(block, stacks) }]));
  }

  /** Whether all calls of a block of locations that are needed have arrived. */
  private known(block: string, stacks: ReadonlyMap<string, Asked<Stack>>): boolean {
    return [...stacks].every(([location, { complete }]) => complete || Math.floor(Number(location) / BLOCK) !== Number(block));
  }

  private overview(piece: Piece<Overview>, stacks: ReadonlyMap<string, Asked<Stack>>, whole: Span): Overview {
    const { value } = piece;
    const region = new Uint32Array(value.rows * TILE).fill(NONE);
    const share = new Uint8Array(value.rows * TILE);
    for (let row = 0; row < value.rows; row++) {
      const asked = stacks.get(String(value.first + row));
      if (!asked) continue;
      const line = this.row(value, value.first + row, spanOf(piece, whole), asked.pieces);
      region.set(line.region, row * TILE);
      share.set(line.share, row * TILE);
    }
    return { first: value.first, rows: value.rows, events: value.events, waiting: value.waiting, bytes: value.bytes, region, share };
  }

  /** The columns of a location in a tile. Later pieces cover earlier ones. */
  private row(tile: Overview, location: number, span: Span, all: readonly Piece<Stack>[]): Row {
    let known = this.rows.get(tile);
    if (!known) this.rows.set(tile, (known = new Map()));
    const pieces = all.filter(({ begin, end }) => begin < span.end && end > span.begin);
    const before = known.get(location);
    if (before && isSame(before.pieces, pieces)) return before;
    const row: Row = { pieces, region: new Uint32Array(TILE).fill(NONE), share: new Uint8Array(TILE) };
    const column = length(span) / TILE;
    for (const { value, begin, end } of pieces) {
      const { region, share } = columnsOf(value, this.filtered(value).counts, span);
      for (let x = Math.max(Math.floor((begin - span.begin) / column + 0.5), 0); x < TILE && span.begin + (x + 0.5) * column < end; x++) {
        row.region[x] = region[x]!;
        row.share[x] = Math.round(share[x]! * 255);
      }
    }
    known.set(location, row);
    return row;
  }
}
