// SPDX-License-Identifier: BSD-3-Clause
// The charts of `spartito plot` have the colours of the viewer: tests/py/cli/test_plot.py compares the same file with
// src/write/picture/picture.c.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { Spread } from "../src/data/balance";
import type { Columns } from "../src/data/columns";
import type { Facts } from "../src/data/facts";
import { Flat, type FlatParts } from "../src/data/flat";
import { OffCpuTimes } from "../src/data/offcpu";
import { read, write } from "../src/data/url";
import { contrast, INK, muted, ofModule } from "../src/draw/colour";
import { bounds, byNumber, byState, byUnit } from "../src/draw/shades";
import { colouringsOf } from "../src/state/colours";

it("each module has the same colour as in charts", () => {
  const golden: Record<string, Record<string, string>> = JSON.parse(
    readFileSync(new URL("../../tests/golden/module_colours.json", import.meta.url), "utf8"),
  );
  for (const [theme, colours] of Object.entries(golden))
    for (const [module, colour] of Object.entries(colours)) {
      const hex = ofModule(module, theme === "dark").map((part) => part.toString(16).padStart(2, "0"));
      expect(`#${hex.join("")}`, `${module} ${theme}`).toBe(colour);
    }
  expect(Object.keys(golden)).toEqual(["light", "dark"]);
});

// Colours by state, process or thread, and numbers.
const numbers = (...values: number[]): Float64Array => Float64Array.from(values);
const flat = (more: Partial<FlatParts>): Flat => new Flat({ region: Uint32Array.of(5, 6, 7, 8), visits: numbers(1, 20, 300, 4000), excl: numbers(10, 10, 10, 10), metrics: [], ...more } as unknown as FlatParts);
const waits = new OffCpuTimes({
  rows: [
    { name: "get", kind: "queue", waiting: 8, file: "", line: 0 },
    { name: "get", kind: "lock", waiting: 1, file: "", line: 0 },
    { name: "nap", kind: "sleep", waiting: 9, file: "", line: 0 },
  ],
  waited: 18,
  busy: 40,
  least: 0,
});
const names: Record<string, number> = { get: 6, nap: 7 };

it("a function has the colour of what it did longest", () => {
  const shades = byState(flat({ running: numbers(10, 1, 1, 2), waiting: numbers(0, 9, 9, 2) }), waits, (name) => names[name]);
  const at = (region: number): string | undefined => shades.classes[shades.classOf(region)]?.id;
  expect([at(5), at(6), at(7), at(8), at(99)]).toEqual(["runs", "queue", "sleep", "preempted", undefined]);
  expect(shades.classes[shades.waits!(5)]!.id).toBe("other"); // what it waits for, if it does, is not known
  expect(shades.classes[shades.waits!(6)]!.title).toBe("waits: queue");
});

it("a highlighted class leaves the others pale, an unknown one none", () => {
  const shades = byState(flat({ running: numbers(10, 1, 1, 2), waiting: numbers(0, 9, 9, 2) }), waits, (name) => names[name]);
  const [plain, toned, wrong] = [shades.colours(false), shades.colours(false, "sleep"), shades.colours(false, "nothing")];
  expect(toned(7)).toEqual(plain(7));
  expect(toned(5)).toEqual(muted(false));
  expect(wrong(5)).toEqual(plain(5));
  expect(shades.colours(false)).toBe(plain); // views redraw if it changes
});

it("a function belongs to the process or thread with most of its time", () => {
  const meta = { over: "processes", units: [3, 4], regions: 2, total: 10 };
  const rows: Record<string, ArrayLike<number>> = { unit: Uint32Array.of(0, 1, 0, 1), region: Uint32Array.of(5, 5, 6, 6), excl: numbers(3, 1, 2, 2), incl: numbers(3, 1, 2, 2), visits: numbers(1, 1, 1, 1) };
  const spread = new Spread({ meta, has: (name: string) => name in rows, get: (name: string) => rows[name] } as unknown as Columns<"balance">);
  const shades = byUnit(spread, (unit) => `rank ${unit}`);
  expect(shades.over).toBe("process");
  expect([5, 6, 7].map((region) => shades.classes[shades.classOf(region)]!.title)).toEqual(["rank 0", "several", "several"]);
  expect(shades.classes.map(({ unit }) => unit)).toEqual([3, 4, undefined]);
});

it("numbers have classes of about a factor of three", () => {
  expect(bounds(4000)).toEqual([3000, 1000, 300, 100, 30, 0]);
  expect(bounds(1)).toEqual([1, 0.3, 0.1, 0.03, 0.01, 0]);
  expect(bounds(0)).toEqual([0]);
  const shades = byNumber(Uint32Array.of(5, 6, 7, 8), numbers(1, 20, 300, 4000), 4000, String);
  expect(shades.classes.map(({ title }) => title)).toEqual(["≥ 3000", "1000 – 3000", "300 – 1000", "100 – 300", "30 – 100", "< 30"]);
  expect([5, 6, 7, 8].map((region) => shades.classOf(region))).toEqual([5, 5, 2, 0]);
});

it.each([false, true])("labels can be read on all colours of the scale, whose lightness tells the order (dark: %s)", (dark) => {
  const shades = byNumber([], [], 1, String);
  const ink = INK[dark ? "dark" : "light"];
  const contrasts = shades.classes.map((_, at) => contrast(shades.colour(at, dark), ink));
  for (const one of contrasts) expect(one).toBeGreaterThan(4.5);
  expect(contrasts).toEqual([...contrasts].sort((a, b) => a - b));
});

it.each([false, true])("labels can be read on all colours of states and threads (dark: %s)", (dark) => {
  const spread = { units: Array.from({ length: 40 }, (_, i) => i), regions: [], ofThreads: true } as unknown as Spread;
  for (const shades of [byUnit(spread, String), byState(flat({}), waits, (name) => names[name])])
    shades.classes.forEach((_, at) => expect(contrast(shades.colour(at, dark), INK[dark ? "dark" : "light"])).toBeGreaterThan(4.5));
});

it("offers what the run has", () => {
  const facts = (more: object): Facts => ({ has: {}, processes: [{ rank: null }], locations: [{}], metrics: [], ...more }) as unknown as Facts;
  const of = (more: object): string[] => colouringsOf(facts(more)).map(({ value }) => value);
  expect(of({})).toEqual(["share", "visits"]);
  expect(of({ has: { off_cpu: true }, locations: [{}, {}] })).toEqual(["state", "thread", "share", "visits"]);
  expect(of({ metrics: [{ name: "faults", total: 5 }, { name: "none", total: 0 }] })).toEqual(["share", "visits", "m:faults"]);
  expect(colouringsOf(facts({ processes: [{ rank: 0 }, { rank: 1 }], locations: [{}, {}] }))[0]!.title).toBe("Rank");
});

it("the choice is part of the address", () => {
  const hash = write({ view: "icicle", colour: "state", tone: "I/O" });
  expect(read(hash, "summary")).toEqual({ view: "icicle", colour: "state", tone: "I/O" });
});
