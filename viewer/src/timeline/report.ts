// SPDX-License-Identifier: BSD-3-Clause
// The contents of a timeline as numbers, for tests.
import { isComplete, type Sight } from "./sight";
import { NONE } from "../data/columns";
import { BLOCK } from "../data/rows";
import type { Selection } from "../state/store";
import { TILE } from "./cache";
import { MINI, RULER } from "./head";
import { textOf } from "./labels";
import { messagesOf } from "./messages";
import type { Shown } from "./picture";
import { criticalLine } from "./critical";
import { pinnedAt, tipAt } from "./under";

const MAX_CALLS = 5000; // maximum of reported calls

function blocks(sight: Sight): unknown[] {
  const { control, regions } = sight;
  const found: unknown[] = [];
  for (const [location, asked] of control.answers.stacks)
    for (const { value: s, begin, end } of asked.pieces)
      for (let depth = 0; depth < s.lanes; depth++) {
        const [first, last] = s.within(depth, begin, end);
        for (let i = first; i < last && found.length < MAX_CALLS; i++)
          found.push({ location: Number(location), begin: s.begin[i], end: s.end[i], depth, region: regions.names[s.region[i]!], calls: s.calls[i] });
      }
  return found;
}

/** Time of the longest running regions by location, as the coloured lines show it. */
function dominance(sight: Sight): Record<string, Record<string, number>> {
  const { control, regions } = sight;
  const found: Record<string, Record<string, number>> = {};
  const column = (control.data.whole.end - control.data.whole.begin) / TILE;
  for (const asked of control.answers.overviews.values())
    for (const piece of asked.pieces) {
      if (!piece.exact) continue;
      for (let row = 0; row < piece.value.rows; row++) {
        const sums = (found[String(piece.value.first + row)] ??= {});
        for (let i = row * TILE; i < (row + 1) * TILE; i++) {
          const region = piece.value.region[i]!;
          if (region === NONE) continue;
          const name = regions.names[region]!;
          sums[name] = (sums[name] ?? 0) + (piece.value.share[i]! / 255) * (column / 2 ** piece.level);
        }
      }
    }
  return found;
}

/** Seconds in which each location waited, from the tiles of the last picture. */
function waitingOf({ control }: Sight): Record<string, number> {
  const found: Record<string, number> = {};
  const column = (control.data.whole.end - control.data.whole.begin) / TILE;
  for (const asked of control.answers.overviews.values())
    for (const { value, level, exact } of asked.pieces)
      for (let i = 0; exact && i < value.waiting.length; i++) {
        const location = String(value.first + Math.floor(i / TILE));
        found[location] = (found[location] ?? 0) + (value.waiting[i]! / 255) * (column / 2 ** level);
      }
  return found;
}

function seriesOf({ control }: Sight, kind: string): unknown {
  const series = control.series.filter((one) => one.kind === kind);
  return Object.fromEntries(series.map((one) => [one.name, Object.fromEntries(one.of)]));
}

/** The steps of the visible tasks by name. */
function stepsOf(sight: Sight): Record<string, number[][]> {
  const { control } = sight;
  const found: Record<string, number[][]> = {};
  for (const row of control.layout.rows.slice(0, 200)) {
    const task = control.tasks[row.task];
    if (!task) continue;
    for (const { value: s } of control.answers.steps.get(String(Math.floor(task.id / BLOCK)))?.pieces ?? [])
      for (let [i, last] = s.of(task.id); i < last; i++) (found[row.label] ??= []).push([s.begin[i]!, s.end[i]!, s.steps[i]!, s.busy[i]!]);
  }
  return found;
}

/** For each row of the overview the fraction of the time with a region. */
function smallest({ control }: Sight): number[] {
  const { small } = control.data;
  return Array.from({ length: small?.rows ?? 0 }, (_, row) => small!.share.subarray(row * TILE, (row + 1) * TILE).reduce((sum, share) => sum + share, 0) / 255 / TILE);
}

function shownNames({ regions }: Sight, shown: Shown | undefined): unknown {
  return shown ? { title: shown.title, pairs: Object.fromEntries(shown.pairs), stack: shown.stack?.map(({ region }) => regions.names[region]) ?? null } : null;
}

function pinnedOf(sight: Sight): unknown {
  const pinned = pinnedAt(sight);
  return pinned ? { ...(shownNames(sight, pinned.shown) as object), leap: pinned.leap ? { title: pinned.leap.title, location: pinned.leap.location, time: pinned.leap.time } : null } : null;
}

export function reportOf(sight: Sight, selection: Selection, waiting: boolean): unknown {
  const { control, last } = sight;
  const { layout } = control;
  return {
    span: control.span,
    whole: control.data.whole,
    range: selection.begin === undefined ? null : [selection.begin, selection.end],
    ready: !waiting && !sight.stale && isComplete(sight),
    problem: control.data.problem || (sight.bands?.problem ?? ""),
    bands: sight.bands?.report(),
    count: layout.rows.length,
    rows: layout.rows.slice(0, 200).map((row, i) => ({
      label: row.label,
      kind: row.kind,
      level: row.level,
      location: row.location,
      open: control.opened.has(row.key) || control.unfolded.has(row.key),
      y: control.top + layout.tops[i]! - control.scroll,
    })),
    crowds: Object.fromEntries([...control.answers.crowds].map(([key, { pieces }]) => [key, pieces.map(({ value, begin, end, level }) => ({ begin, end, level, running: [...value.running], waiting: [...value.waiting] }))])),
    small: smallest(sight),
    left: control.left,
    ruler: MINI + RULER / 2, // y of the overview's middle
    top: control.top,
    high: layout.row, // height of a row's first line
    width: control.width,
    scroll: control.scroll,
    blocks: blocks(sight),
    dominance: dominance(sight),
    waiting: waitingOf(sight),
    messages: last.picture ? messagesOf(last.picture).slice(0, MAX_CALLS) : [],
    hiddenMessages: last.messages.hidden,
    lines: last.messages.lines.map(({ x0, y0, x1, y1, from, to, count, bytes }) => ({ x0, y0, x1, y1, from, to, count, bytes })),
    labels: last.picture ? last.labels.map((label) => ({ x0: label.x0, x1: label.x1, y: label.y, text: textOf(last.picture!, label) })) : [],
    tip: shownNames(sight, tipAt(sight)),
    pinned: pinnedOf(sight),
    critical: last.picture?.critical ? criticalLine(last.picture, last.picture.critical) : null,
    markers: control.data.markers,
    counters: seriesOf(sight, "counter"),
    metrics: seriesOf(sight, "metric"),
    focus: control.focus ?? null,
    tasks: control.tasks.length,
    steps: stepsOf(sight),
  };
}
