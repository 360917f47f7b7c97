// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { timesUnit } from "../src/parts/Rows";
import { narrowed } from "../src/parts/narrow";
import type { Column } from "../src/parts/VirtualTable";

describe("a table of times", () => {
  it("has one unit for all its columns, whatever their sizes and signs", () => {
    const columns = [
      { time: true, value: (row: number[]) => row[0]! },
      { time: true, value: (row: number[]) => row[1]! },
      { value: (row: number[]) => row[2]! },
    ];
    expect(timesUnit([[0.375, 0.000002, 9e9]], columns).name).toBe("ms");
    expect(timesUnit([[0.000003, 0.000002, 9e9]], columns).name).toBe("ns");
    expect(timesUnit([[0.1, -250, 0]], columns).name).toBe("s");
    expect(timesUnit([], columns).name).toBe("s");
  });
});

describe("a narrow table", () => {
  const column = (id: string, width: string, left = false): Column => ({ id, title: id, width, left, cell: () => id });
  const columns = [column("where", "minmax(220px, 1fr)", true), column("kind", "110px", true), column("calls", "84px"), column("time", "110px")];
  it("has the number that it is sorted by beside the name, and texts last", () => {
    const found = narrowed(columns, "time", 390);
    expect(found.map(({ id }) => id)).toEqual(["where", "time", "calls", "kind"]);
    expect(found.map(({ width }) => width)).toEqual(["280px", "110px", "84px", "110px"]);
    expect(narrowed(columns, undefined, 390).map(({ id }) => id)).toEqual(["where", "calls", "time", "kind"]);
  });
  it("has the text of a line between its number and its share", () => {
    const lines = [column("line", "64px"), column("hits", "84px"), column("share", "124px"), column("text", "minmax(320px, 1fr)", true)];
    expect(narrowed(lines, undefined, 390).map(({ id, width }) => [id, width])).toEqual([["line", "48px"], ["text", "218px"], ["share", "124px"], ["hits", "84px"]]);
  });
  it("is not one that is wide, or that has no names", () => {
    expect(narrowed(columns, "time", 900)).toBe(columns);
    expect(narrowed(columns.slice(2), "time", 390).map(({ id }) => id)).toEqual(["calls", "time"]);
  });
});
