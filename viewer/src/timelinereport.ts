// SPDX-License-Identifier: BSD-3-Clause
// What a time line shows, in numbers, for tests.
import { NONE } from "./columns";
import type { Selection } from "./store";
import type { Sight } from "./timelineview";
import { TILE } from "./timelinecache";
import { MINI, RULER } from "./timelinehead";

const MOST = 5000; // calls that are told

function blocks(sight: Sight): unknown[] {
  const { control, regions } = sight;
  const found: unknown[] = [];
  for (const [location, asked] of control.answers.stacks)
    for (const { value: s, begin, end } of asked.pieces)
      for (let depth = 0; depth < s.lanes; depth++) {
        const [first, last] = s.within(depth, begin, end);
        for (let i = first; i < last && found.length < MOST; i++)
          found.push({ location: Number(location), begin: s.begin[i], end: s.end[i], depth, region: regions.names[s.region[i]!], calls: s.calls[i] });
      }
  return found;
}

/** Time in which each region ran longest, by location: what the coloured lines show. */
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

export function reportOf(sight: Sight, selection: Selection): unknown {
  const { control, last } = sight;
  const { layout } = control;
  return {
    span: control.span,
    whole: control.data.whole,
    range: selection.begin === undefined ? null : [selection.begin, selection.end],
    ready: !control.data.busy && [...control.answers.overviews.values(), ...control.answers.stacks.values()].every((asked) => asked.complete),
    problem: control.data.problem,
    count: layout.rows.length,
    rows: layout.rows.slice(0, 200).map((row, i) => ({
      label: row.label,
      kind: row.kind,
      location: row.location,
      open: control.opened.has(row.key),
      y: control.top + layout.tops[i]! - control.scroll,
    })),
    left: control.left,
    ruler: MINI + RULER / 2, // y of its middle
    top: control.top,
    width: control.width,
    scroll: control.scroll,
    blocks: blocks(sight),
    dominance: dominance(sight),
    messages: last.lines.map(({ from, to, sent, received, bytes, tag }) => ({ from, to, sent, received, bytes, tag })),
    hiddenMessages: last.hidden,
    markers: control.data.markers,
    counters: Object.fromEntries(control.series.map((series) => [series.name, Object.fromEntries([...series.of].map(([location, points]) => [location, points]))])),
    focus: control.focus ?? null,
    tasks: control.tasks.length,
  };
}
