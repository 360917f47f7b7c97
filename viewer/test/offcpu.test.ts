// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { OffCpuTimes } from "../src/data/offcpu";

const row = (name: string, kind: string, waiting: number) => ({ name, kind, waiting, file: "", line: 0 });

describe("off-CPU time", () => {
  const times = new OffCpuTimes({ rows: [row("m:f", "queue", 4), row("m:g", "sleep", 3), row("m:h", "queue", 1)], waited: 8, busy: 16, least: 0 });

  it("has sums by kind, the longest first", () => {
    expect(times.kinds).toEqual([
      { kind: "queue", waiting: 5 },
      { kind: "sleep", waiting: 3 },
    ]);
    expect(times.kinds.map((kind) => times.share(kind))).toEqual([5 / 8, 3 / 8]);
    expect(times.ofKind("lock")).toBe(0);
  });

  it("of another run is found by the names here", () => {
    const before = times.byName((name) => (name === "m:f" ? "m:renamed" : name));
    expect([before(row("m:renamed", "queue", 9)), before(row("m:renamed", "sleep", 9)), before(row("m:g", "sleep", 9))]).toEqual([4, 0, 3]);
  });
});
