// SPDX-License-Identifier: BSD-3-Clause
// The types that the drawing functions of a timeline share.
import type { Columns } from "../data/columns";
import type { Facts, Regions } from "../data/facts";
import type { Crowd, Layout, Row, Task } from "../data/rows";
import type { Source } from "../data/source";
import type { Ruler, Scale, Span } from "../data/timescale";
import type { Inks } from "../draw/ink";
import type { Palette, Raster } from "../draw/raster";
import type { Asked } from "./cache";
import type { CrowdTile } from "./crowd";
import type { Frame, Marker, Overview, Small, Stack, Steps } from "./data";

/** A part of the critical path: location, begin, end. */
export type Part = readonly [number, number, number];

/** All data of a picture. y is relative to the top of the canvas. */
export interface Picture {
  pen: CanvasRenderingContext2D;
  inks: Inks;
  facts: Facts;
  regions: Regions;
  palette: Palette;
  raster: Raster;
  scale: Scale; // of the chart, which begins at x = left
  marks: Ruler; // of the scale
  whole: Span;
  left: number;
  top: number; // y of the first row
  width: number;
  height: number;
  layout: Layout;
  scroll: number;
  tasks: readonly Task[];
  small: Small | undefined; // overview of the whole run
  bands: Bands | undefined; // replaces the overviews of rows
  overviews: ReadonlyMap<string, Asked<Overview>>;
  crowds: ReadonlyMap<string, Asked<CrowdTile>>;
  stacks: ReadonlyMap<string, Asked<Stack>>;
  steps: ReadonlyMap<string, Asked<Steps>>;
  messages?: Asked<Columns<"messages">> | undefined;
  markers: readonly Marker[];
  critical: readonly Part[] | undefined; // the critical path, if it is shown
  range: Span | undefined;
  rowOf: (location: number) => number; // -1: none
  dimmed: (region: number) => boolean;
  base: (region: number, location: number) => number; // the pixel of a function in a location (-1: in several)
  waits: ((region: number) => number) | undefined; // the pixel of a function that waits; undefined: its colour, paler
  blockOf: (location: number) => string;
}

/** The messages of a tile, by the time of sending. */
export interface MessageTable {
  from: Uint32Array;
  to: Uint32Array;
  sent: Float64Array;
  received: Float64Array;
  bytes: Float64Array;
  tag: Int32Array;
}

export interface Message {
  from: number; // location
  to: number;
  sent: number;
  received: number; // NaN: no receive was found
  bytes: number;
  tag: number;
}

/** Messages with nearly the same ends, drawn as one line from (x0, y0) to (x1, y1). */
export interface Bundle {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  from: number; // row
  to: number;
  count: number; // messages
  bytes: number; // of all
  sent: number; // the first one
  received: number; // the last one; NaN: no receive was found
  table: MessageTable | undefined; // where one of them is
  index: number;
}

export interface Bundles {
  lines: Bundle[];
  hidden: number; // messages without line
}

/** The other end of a message, to go there. */
export interface Leap {
  text: string;
  title: string; // of its button
  message: Message;
  location: number;
  time: number;
}

/** The details of an element: in a tooltip at the pointer, and below the timeline of the pinned element. */
export interface Shown {
  title: string;
  pairs: [string, string][];
  region?: number | undefined;
  stack?: Frame[] | undefined; // outermost first, the element last
}

/** Bands that replace the overviews of functions in the rows of a timeline. */
export interface Bands {
  /** Number of pixel lines in a row of one thread; those of a crowd have as many as in other timelines. */
  readonly lines: number;
  /** Queries the data for a picture of these locations. */
  want(locations: readonly number[], crowds: readonly Crowd[], span: Span, width: number): void;
  /** Fills the raster's lines of a row; `at` is the first line. */
  fill(p: Picture, row: Row, at: number): void;
  /** The description of a row at a time. */
  describe(row: Row, moment: number, pixel: number): Shown | undefined;
  /** The call path at a point, outermost function first; undefined: unknown. */
  path(location: number, moment: number): number[] | undefined;
  readonly busy: boolean;
  /** Whether all data for the last picture have arrived. */
  readonly complete: boolean;
  /** An error message; "": none. */
  readonly problem: string;
  /** Data for tests. */
  report(): unknown;
  close(): void;
}

/** landed: called when data have arrived, so that the picture must be drawn again. */
export type MakeBands = (source: Source, facts: Facts, regions: Regions, whole: Span, landed: () => void) => Bands;
