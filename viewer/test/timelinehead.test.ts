// SPDX-License-Identifier: BSD-3-Clause
import type { Picture } from "../src/timeline/picture";
import { describe, expect, it } from "vitest";
import { moreOf } from "../src/timeline/head";

/** The row of a rank's first thread, in a font with letters of 7 pixels. */
function picture(label: string, threads: number, tasks: number, left = 196): Picture {
  const pen = { measureText: (text: string) => ({ width: 7 * text.length }) };
  const facts = { processes: [{}, {}] };
  return { pen, facts, left, layout: { rows: [{ main: true, threads, tasks, process: 0, level: 0, label }] } } as unknown as Picture;
}

const closed = { threads: () => false, tasks: () => false };

describe("the number of further threads and tasks of a row", () => {
  it("is written out if it fits beside the name", () => {
    expect(moreOf(picture("rank 0", 3, 0), 0, closed).map((one) => one.text)).toEqual(["+3 threads"]);
    expect(moreOf(picture("rank 0", 1, 0), 0, { ...closed, threads: () => true }).map((one) => one.text)).toEqual(["−1 thread"]);
    expect(moreOf(picture("rank 0", 0, 0), 0, closed)).toEqual([]);
  });
  it("never overlaps the name", () => {
    const more = moreOf(picture("rank 0", 2, 6), 0, closed);
    expect(more.map((one) => one.text)).toEqual(["+6 tsk", "+2 thr"]);
    expect(Math.min(...more.map((one) => one.x)) - 8 - 20).toBeGreaterThanOrEqual(7 * "rank 0".length);
    expect(more[0]!.x + more[0]!.width).toBeLessThanOrEqual(196 - 8);
  });
});
