// SPDX-License-Identifier: BSD-3-Clause
// The description of the element at the pointer or the focus of a timeline.
import type { Drawn, Shown } from "./picture";
import type { Sight } from "./sight";
import { CHART } from "./charts";
import type { Control, Focus } from "./control";
import { describe, ofCounter, ofMessage } from "./details";
import { MINI, RULER } from "./head";
import { length } from "../data/timescale";

/** The nearest message line within a few pixels. */
function messageAt(lines: readonly Drawn[], x: number, y: number): Drawn | undefined {
  let best: Drawn | undefined;
  let least = 4;
  for (const line of lines) {
    const [dx, dy] = [line.x1 - line.x0, line.y1 - line.y0];
    const along = Math.min(Math.max(((x - line.x0) * dx + (y - line.y0) * dy) / Math.max(dx * dx + dy * dy, 1e-9), 0), 1);
    const away = Math.hypot(x - line.x0 - along * dx, y - line.y0 - along * dy);
    if (away < least) [best, least] = [line, away];
  }
  return best;
}

/** The description; for the first line of a row the contents of its band, if there is one. */
function wordsAt({ control, facts, regions, bands }: Sight, at: Focus): Shown | undefined {
  const row = control.layout.rows[at.row];
  if (bands && at.lane < 0 && row?.kind === "thread") return bands.describe(row.location, at.time, length(control.span) / 1000);
  return describe(control, facts, regions, at);
}

export function shownAt(sight: Sight): { shown: Shown | undefined; spoken: string } {
  const { control, facts } = sight;
  const { focus, hover } = control;
  const words = focus && wordsAt(sight, focus);
  const row = focus && control.layout.rows[focus.row];
  const spoken = row ? `${row.label}: ${words ? `${words.title}, ${words.pairs.map((pair) => pair.join(" ")).join(", ")}` : "nothing"}` : "";
  if (hover?.zone === "rows") {
    const block = control.block(hover);
    const message = block ? undefined : messageAt(sight.last.lines, hover.x, hover.y);
    const found = message ? ofMessage(control, facts, message) : wordsAt(sight, hover);
    if (found) return { shown: found, spoken };
  }
  if (hover?.zone === "charts") {
    const series = control.series[Math.floor((hover.y - MINI - RULER) / CHART)];
    if (series) return { shown: ofCounter(control, facts, series, hover.time), spoken };
  }
  return { shown: words, spoken };
}

/** The whole name of the row at the pointer, as the column of names is narrow. */
export function gutterTitle({ hover, layout }: Control): string | undefined {
  const row = hover?.zone === "gutter" ? layout.rows[hover.row] : undefined;
  return row && [row.label, row.detail].filter(Boolean).join(", ");
}
