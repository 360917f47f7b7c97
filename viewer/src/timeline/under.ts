// SPDX-License-Identifier: BSD-3-Clause
// The descriptions of the element at the pointer, and of the pinned one.
import type { Bundle, Leap, Shown } from "./picture";
import type { Sight } from "./sight";
import { CHART } from "./charts";
import type { Control, Focus } from "./control";
import { describe, leapOf, ofBundle, ofCounter } from "./describe";
import { MINI, RULER } from "./head";
import { bundleAt, bundleTitle } from "./messages";
import { length } from "../data/timescale";

export const CALLERS = 8; // maximum of callers that are named

export interface Pinned {
  shown: Shown;
  leap: Leap | undefined;
}

/** The description; for the first line of a row the contents of its band, if there is one. */
function wordsAt({ control, facts, regions, bands }: Sight, at: Focus): Shown | undefined {
  const row = control.layout.rows[at.row];
  if (bands && at.lane < 0 && row && row.kind !== "task") return bands.describe(row, at.time, length(control.span) / 1000);
  return describe(control, facts, regions, at);
}

/** The element with the focus of the keyboard, or that was clicked. */
export function pinnedAt(sight: Sight): Pinned | undefined {
  const { control, facts, regions } = sight;
  const shown = control.focus && wordsAt(sight, control.focus);
  return shown && { shown, leap: leapOf(control, facts, regions, control.focus!) };
}

/** The line of messages at the pointer. */
export function lineAt({ control: { hover, drag }, last }: Sight): Bundle | undefined {
  return hover?.zone === "rows" && !drag ? bundleAt(last.messages.lines, hover.x, hover.y) : undefined;
}

/** The tooltip: of the bar at the pointer, to which a line of messages adds its title, or else of the line. */
export function tipAt(sight: Sight): Shown | undefined {
  const { control, facts, last } = sight;
  const { hover, drag } = control;
  if (!hover || drag) return undefined;
  if (hover.zone === "charts") {
    const series = control.series[Math.floor((hover.y - MINI - RULER) / CHART)];
    return series && ofCounter(control, facts, series, hover.time);
  }
  if (hover.zone !== "rows") return undefined;
  const line = last.picture && lineAt(sight);
  const bar = wordsAt(sight, hover);
  const nothing = !bar || (bar.region === undefined && control.layout.rows[hover.row]?.kind === "thread" && !sight.bands && !bar.title.startsWith("marker"));
  if (!line) return nothing ? undefined : bar;
  if (nothing) return ofBundle(control, last.picture!, line);
  return { ...bar, pairs: [...bar.pairs, ["messages", bundleTitle(last.picture!, line)]] };
}

/** The names of the callers, innermost first. */
export function callersOf({ regions }: Pick<Sight, "regions">, shown: Shown): string[] {
  const all = (shown.stack ?? []).slice(0, -1).reverse();
  const names = all.slice(0, CALLERS).map(({ region, calls }) => (calls > 1 ? `${calls} × ` : "") + (regions.names[region] ?? ""));
  return all.length > CALLERS ? [...names, `${all.length - CALLERS} more`] : names;
}

/** What a screen reader says of the pinned element. */
export function spokenOf(sight: Sight, pinned: Pinned | undefined): string {
  const { focus, layout } = sight.control;
  const row = focus && layout.rows[focus.row];
  if (!row) return "";
  if (!pinned) return `${row.label}: nothing`;
  const { shown, leap } = pinned;
  const callers = callersOf(sight, shown);
  return `${row.label}: ${[shown.title, ...shown.pairs.map((pair) => pair.join(" ")), ...(callers.length ? [`called by ${callers.join(", ")}`] : []), ...(leap ? [leap.text] : [])].join(", ")}`;
}

/** The whole name of the row at the pointer, as the column of names is narrow. */
export function gutterTitle({ hover, layout }: Control): string | undefined {
  const row = hover?.zone === "gutter" ? layout.rows[hover.row] : undefined;
  return row && [row.label, row.detail].filter(Boolean).join(", ");
}
