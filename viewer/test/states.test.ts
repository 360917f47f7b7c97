// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, pack, parse } from "../src/data/columns";
import { STATES, States, colourOfState, pathsOf, stateAt } from "../src/timeline/states";
import { contrast } from "../src/draw/colour";
import { TILE } from "../src/timeline/cache";

const tile = new States(
  64,
  2,
  parse(
    pack(
      {},
      {
        location: Uint32Array.of(64, 65, 70, 65),
        bucket: Uint32Array.of(3, 0, 0, TILE),
        path: Uint32Array.of(7, NONE, 1, 1),
        samples: Uint32Array.of(2, 1, 1, 1),
        running: Float32Array.of(0.5, 0, 1, 1),
        gil: Float32Array.of(0.25, 0, 0, 0),
        syscall: Float32Array.of(0, 0, 0, 0),
        idle: Float32Array.of(0, 1, 0, 0),
        object_lock: Float32Array.of(0.25, 0, 0, 0),
        stopped: Float32Array.of(0, 0, 0, 0),
      },
    ),
  ),
);

describe("states", () => {
  it("are stored by row and column of the tile", () => {
    expect([tile.path[3], tile.samples[3]]).toEqual([7, 2]);
    expect([...tile.share.subarray(18, 24)]).toEqual([128, 64, 0, 0, 64, 0]);
    expect([...tile.share.subarray(TILE * 6, TILE * 6 + 6)]).toEqual([0, 0, 0, 255, 0, 0]);
    expect(tile.share.reduce((sum, share) => sum + share, 0)).toBe(128 + 64 + 64 + 255);
  });

  it("are stacked, each as high as its share; the rest is empty", () => {
    expect([0, 0.49, 0.51, 0.74, 0.76, 0.99].map((height) => stateAt(tile.share, 3, height))).toEqual([0, 0, 1, 1, 4, 4]);
    expect([0.01, 0.99].map((height) => stateAt(tile.share, TILE, height))).toEqual([3, 3]);
    expect(stateAt(tile.share, 5, 0.5)).toBe(-1);
  });

  it("differ from each other in lightness too", () => {
    for (const dark of [false, true])
      for (let one = 0; one < STATES.length; one++)
        for (let other = 0; other < one; other++) {
          const apart = contrast(colourOfState(one, dark), colourOfState(other, dark));
          expect(apart, `${STATES[one]!.id} ${STATES[other]!.id} ${dark}`).toBeGreaterThan(1.1);
        }
  });
});

describe("call paths of a tree", () => {
  const paths = pathsOf(parse(pack({}, { path: Uint32Array.of(4, 9, NONE, 2), parent: Uint32Array.of(NONE, 0, 1, NONE), region: Uint32Array.of(11, 12, NONE, 13) })));
  it("are their functions, outermost first", () => expect([paths(9), paths(4), paths(2)]).toEqual([[11, 12], [11], [13]]));
  it("are unknown if the tree has only their sum", () => expect([paths(5), paths(NONE)]).toEqual([undefined, undefined]));
});
