// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { chipsOf, crumbs } from "../src/page/chips";
import { INK, contrast, ofChange, ofHeat, ofModule } from "../src/draw/colour";
import { query } from "../src/data/source";
import { type Selection, chosen, range } from "../src/state/store";
import { amount, bytes, inUnit, label, percent, shorten, time, timeUnit } from "../src/data/units";
import { read, readPath, write, writePath } from "../src/data/url";
import { timesUnit } from "../src/parts/Rows";
import { narrowed } from "../src/parts/narrow";
import type { Column } from "../src/parts/VirtualTable";

describe("the URL", () => {
  it("keeps the whole selection", () => {
    const all: Selection = {
      view: "icicle",
      region: 7,
      path: [1, 2, 2, 2, 7],
      module: "json.decoder & more",
      process: 0,
      location: 3,
      begin: 0.25,
      end: 1e-7,
      search: "a=b#c",
      centre: [1],
      metric: "max_rss",
      theme: "dark",
    };
    expect(read(write(all), "summary")).toEqual(all);
    expect(read("", "summary")).toEqual({ view: "summary" });
  });
  it("is short for deep recursion", () => {
    const path = [3, ...Array.from({ length: 5000 }, () => 7), 9];
    expect(writePath(path)).toBe("3.7*5000.9");
    expect(readPath("3.7*5000.9")).toEqual(path);
  });
  it("ignores what it cannot read", () => {
    const odd = "#view=table&region=-1&path=1..2&centre=1*99999999&process=x&begin=NaN&end=1e999&theme=pink&other=1";
    expect(read(odd, "summary")).toEqual({ view: "table" });
    expect(readPath("1*9999999.1")).toBeUndefined();
  });
});

describe("the selection", () => {
  it("takes the function from the path, and drops a path that ends in another function", () => {
    const one = chosen({ view: "table" }, { path: [1, 5] });
    expect(one).toEqual({ view: "table", path: [1, 5], region: 5 });
    expect(chosen(one, { region: 6 })).toEqual({ view: "table", region: 6 });
    expect(chosen(one, { region: 5 })).toEqual(one);
    expect(chosen(one, { view: "icicle" }).path).toEqual([1, 5]);
    expect(chosen(one, { region: undefined, path: undefined })).toEqual({ view: "table" });
  });
  it("becomes the canonical text of a query", () => {
    expect(query("tree", range({ view: "x", process: 0, begin: 0.5 }))).toBe("tree?begin=0.5&process=0");
    expect(query("facts", {})).toBe("facts");
  });
  it("has a chip for each part, which removes it", () => {
    const chips = chipsOf({ view: "x", region: 2, path: [1, 2], begin: 1, end: 1.5 }, undefined, undefined);
    expect(chips.map((chip) => [chip.what, chip.text])).toEqual([
      ["function", "number 2"],
      ["time", "1.00 s to 1.50 s (500 ms)"],
      ["in", "this call path only"],
    ]);
    expect(chipsOf({ view: "x" }, undefined, undefined)).toEqual([]);
  });
  it("has breadcrumbs; of a long path only both ends", () => {
    expect(crumbs([5, 6]).map((crumb) => crumb.at)).toEqual([0, 1]);
    const long = crumbs(Array.from({ length: 100 }, (_, i) => i));
    expect(long.map((crumb) => crumb.at)).toEqual([0, 1, 2, 3, -1, 96, 97, 98, 99]);
    expect(long[4]!.skipped).toBe(92);
  });
});

describe("units", () => {
  it("fit the number", () => {
    expect([time(1.239), time(0.0123), time(4.2e-6), time(7e-9), time(0), time(63)]).toEqual(["1.24 s", "12.3 ms", "4.20 µs", "7 ns", "0 s", "63.0 s"]);
    expect([bytes(10), bytes(1536), bytes(3 * 2 ** 20)]).toEqual(["10 B", "1.50 KiB", "3.00 MiB"]);
    expect([amount(1234, "faults"), amount(2.5e6, "")]).toEqual(["1,234 faults", "2.50 M"]);
  });
  it("are the same in a column, and distinguish 0 from small values", () => {
    const unit = timeUnit(0.5);
    expect(unit.name).toBe("ms");
    expect([inUnit(0.5, unit), inUnit(0, unit), inUnit(1e-9, unit), inUnit(Infinity, unit)]).toEqual(["500.000", "0.000", "<0.001", "–"]);
  });
  it("are shares", () => {
    expect([percent(0.123), percent(0), percent(0.0001), percent(NaN)]).toEqual(["12.3 %", "0.0 %", "<0.1 %", "–"]);
  });
  it("of names keep both ends", () => {
    const measure = (text: string): number => text.length;
    expect(shorten("abcdefghij", 10, measure)).toBe("abcdefghij");
    expect(shorten("abcdefghij", 7, measure)).toBe("abc…hij");
    expect(shorten("abcdefghij", 2, measure)).toBe("…j");
    expect(shorten("abcdefghij", 1, measure)).toBe("");
  });
});

describe("colours", () => {
  const modules = Array.from({ length: 500 }, (_, i) => `package${i}.module${i % 7}`).concat("", "__main__", "builtins");
  const channels = [-1, -0.4, -0.01, 0, 0.2, 1];
  it.each([false, true])("leave labels readable (dark: %s)", (dark) => {
    const ink = INK[dark ? "dark" : "light"];
    for (const module of modules) expect(contrast(ofModule(module, dark), ink)).toBeGreaterThan(4.5);
    for (const change of channels) expect(contrast(ofChange(change, dark), ink)).toBeGreaterThan(4.5);
    for (const share of [0, 0.5, 1]) expect(contrast(ofHeat(share, dark), ink)).toBeGreaterThan(4.5);
  });
  it("differ between modules; the modules of a package have one hue", () => {
    expect(ofModule("json.decoder", false)).toEqual(ofModule("json.decoder", false));
    expect(ofModule("json", true)).not.toEqual(ofModule("numpy", true));
    expect(new Set(modules.map((module) => String(ofModule(module, false)))).size).toBeGreaterThan(20);
  });
});

describe("the label of a box", () => {
  it("loses the module first, then its middle, and is left out if nothing could be read", () => {
    const letters = (text: string): number => text.length;
    expect([30, 14, 11, 8, 4].map((width) => label("some.module:Class.method", width, letters))).toEqual(["some.module:Class.method", "Class.method", "Class…ethod", "Cla…thod", ""]);
    expect(label("f", 1, letters)).toBe("f");
  });
});

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
    // points in time have a unit, which leaves short durations readable
    expect(timesUnit([[5000, 0.000002, 0]], [{ ...columns[0]!, unit: { size: 1, name: "s" } }, columns[1]!]).name).toBe("ns");
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
