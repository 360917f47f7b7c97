// SPDX-License-Identifier: BSD-3-Clause
// What the rows of a time line show instead of the functions that ran longest.
import type { Facts, Regions } from "./facts";
import type { Source } from "./source";
import type { Shown } from "./timelinedetails";
import type { Picture } from "./timelinedraw";
import type { Span } from "./timescale";

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
