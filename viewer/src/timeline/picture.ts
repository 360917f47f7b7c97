// SPDX-License-Identifier: BSD-3-Clause
// What a timeline draws, as types that its painters share.
import type { Columns } from "../data/columns";
import type { Facts, Regions } from "../data/facts";
import type { Layout, Task } from "../data/rows";
import type { Source } from "../data/source";
import type { Ruler, Scale, Span } from "../data/timescale";
import type { Inks } from "../draw/ink";
import type { Palette, Raster } from "../draw/raster";
import type { Asked } from "./cache";
import type { Marker, Overview, Small, Stack, Steps } from "./data";

/** Everything that a picture shows. y counts from the top of the canvas. */
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
  top: number; // where rows begin
  width: number;
  height: number;
  layout: Layout;
  scroll: number;
  tasks: readonly Task[];
  small: Small | undefined; // the whole run
  bands: Bands | undefined; // in the place of the overviews
  overviews: ReadonlyMap<string, Asked<Overview>>;
  stacks: ReadonlyMap<string, Asked<Stack>>;
  steps: ReadonlyMap<string, Asked<Steps>>;
  messages: Asked<Columns<"messages">> | undefined;
  markers: readonly Marker[];
  range: Span | undefined;
  rowOf: (location: number) => number; // -1: none
  dimmed: (region: number) => boolean;
  blockOf: (location: number) => string;
}

/** A message, drawn from (x0, y0) to (x1, y1). */
export interface Drawn {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
  from: number;
  to: number;
  sent: number;
  received: number;
  bytes: number;
  tag: number;
}

/** What the details below a timeline say about a place. */
export interface Shown {
  title: string;
  pairs: [string, string][];
}

/** What rows of a timeline show instead of the functions that ran longest. */
export interface Bands {
  /** Lines of pixels that a row consists of, from its top. */
  readonly lines: number;
  /** Asks for what a picture of these locations needs. */
  want(locations: readonly number[], span: Span, width: number): void;
  /** Fills the raster's lines of a location, of which the first begins at a pixel. */
  fill(p: Picture, location: number, at: number): void;
  /** What is in a location at a moment, in words. */
  describe(location: number, moment: number, pixel: number): Shown | undefined;
  /** The call path there, outermost first; undefined: none is known. */
  path(location: number, moment: number): number[] | undefined;
  readonly busy: boolean;
  /** Everything that the last picture needs is there. */
  readonly complete: boolean;
  /** A sentence; empty: nothing is wrong. */
  readonly problem: string;
  /** For tests. */
  report(): unknown;
  close(): void;
}

/** landed: something came, so that the picture is to be drawn again. */
export type MakeBands = (source: Source, facts: Facts, regions: Regions, whole: Span, landed: () => void) => Bands;
