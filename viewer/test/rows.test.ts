// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { type Columns, NONE } from "../src/data/columns";
import type { Facts } from "../src/data/facts";
import { blocksOf, crowdsOf, LANE, Layout, listRows, locationLabel, memberLabel, type Order, PAD, ROW, type Shown, TALL, type Task } from "../src/data/rows";
import { namesWith, unitOf } from "../src/parts/Pick";
import { TILE } from "../src/timeline/cache";
import { columnAt, crowdAt, CrowdTile, peakOf, rowLists } from "../src/timeline/crowd";

function facts(ranks: (number | null)[], threads: number): Facts {
  const processes = ranks.map((rank, i) => ({ name: `p${i}`, rank, pid: 100 + i, parent: null, host: "h", begin: 0, end: 1, command: "" }));
  const locations = processes.flatMap((_, process) =>
    Array.from({ length: threads }, (_, i) => ({ process, name: i ? `Thread-${i}` : "MainThread", begin: 0, end: 1, busy: 1 })),
  );
  return { processes, locations } as unknown as Facts;
}
const none: Shown = { opened: new Set(), lanes: () => 0, threads: new Set(), tasks: new Set() };
const task = (process: number): Task =>
  ({ id: 7, name: "", process, location: null, region: "m:work", created: 0, begin: 0, end: 1, running: 0, waiting: 1, state: "returned" });

describe("rows", () => {
  it("are sorted by rank, then processes without rank", () => {
    const rows = listRows(facts([2, null, 0, 1], 1), [], none);
    expect(rows.map((r) => r.label)).toEqual(["rank 0", "rank 1", "rank 2", "p1"]);
    expect(rows.map((r) => r.location)).toEqual([2, 3, 0, 1]);
  });
  it("are labelled by thread, or by process if there are several", () => {
    expect(listRows(facts([null], 2), [], none).map((r) => r.label)).toEqual(["MainThread", "Thread-1"]);
    const rows = listRows(facts([0, 1], 2), [], none);
    expect(rows.map((r) => [r.label, r.detail])).toEqual([["rank 0", "MainThread"], ["Thread-1", ""], ["rank 1", "MainThread"], ["Thread-1", ""]]);
    expect(rows[0]!.threads).toBe(1);
    expect(locationLabel(facts([0, 1], 2), 3)).toBe("rank 1, Thread-1");
    expect(locationLabel(facts([0, 1], 1), 1)).toBe("rank 1");
  });
  it("hide and show threads and tasks", () => {
    const two = facts([0, 1], 3);
    expect(listRows(two, [], { ...none, threads: new Set([0]) }).length).toBe(4);
    const many = facts(Array.from({ length: 300 }, (_, i) => i), 2);
    expect(listRows(many, [], none).length).toBe(300);
    expect(listRows(many, [], { ...none, threads: new Set([5]) }).length).toBe(301);
    const rows = listRows(two, [task(1)], { ...none, tasks: new Set([1]) });
    expect(rows[6]).toMatchObject({ kind: "task", label: "task 7", detail: "m:work", location: -1, process: 1 });
    expect(listRows(two, [task(1)], none)[3]!.tasks).toBe(1);
  });
});

describe("the layout", () => {
  const rows = listRows(facts(Array.from({ length: 10000 }, (_, i) => i), 1), [], none);
  const layout = new Layout(rows, { ...none, opened: new Set(["l1"]), lanes: () => 3 });
  it("finds rows by height", () => {
    expect(layout.at(-5)).toBe(0);
    expect(layout.at(ROW - 1)).toBe(0);
    expect(layout.at(ROW)).toBe(1);
    expect(layout.at(2 * ROW + 3 * LANE)).toBe(1);
    expect(layout.at(2 * ROW + 3 * LANE + PAD)).toBe(2);
    expect(layout.at(1e9)).toBe(9999);
    expect(layout.height).toBe(10000 * ROW + 3 * LANE + PAD);
  });
  it("has a range of visible rows", () => {
    expect(layout.visible(0, 100)).toEqual([0, 2]);
    const [first, last] = layout.visible(5000 * ROW, 5000 * ROW + 800);
    expect(last - first).toBeLessThan(40);
    expect(layout.tops[first]).toBeLessThanOrEqual(5000 * ROW);
    expect(layout.tops[last]).toBeGreaterThanOrEqual(5000 * ROW + 800);
    expect(layout.visible(10, 10)).toEqual([0, 0]);
    expect(layout.visible(0, ROW)).toEqual([0, 1]);
  });
  it("finds the levels of an open row", () => {
    expect(layout.lane(1, ROW + 2)).toBe(-1);
    expect(layout.lane(1, 2 * ROW)).toBe(0);
    expect(layout.lane(1, 2 * ROW + 3 * LANE - 1)).toBe(2);
    expect(layout.lane(1, 2 * ROW + 3 * LANE + 1)).toBe(-1);
    expect(layout.lane(0, 5)).toBe(-1);
  });
  it("scrolls as little as possible", () => {
    expect(layout.scrollTo(0, 100, 500)).toBe(0);
    expect(layout.scrollTo(2, 0, 500)).toBe(0);
    expect(layout.scrollTo(9999, 0, 500)).toBe(layout.height - 500);
  });
  it("uses the available height", () => {
    const two = listRows(facts([0, 1], 1), [], none);
    expect(new Layout(two, { ...none, room: 500 }).row).toBe(TALL);
    expect(new Layout(two, { ...none, room: 60 }).row).toBe(30);
    expect(new Layout(rows, { ...none, room: 500 }).row).toBe(ROW);
  });
  it("is empty without rows", () => {
    const empty = new Layout([], none);
    expect(empty.at(3)).toBe(-1);
    expect(empty.visible(0, 100)).toEqual([0, 0]);
    expect(empty.height).toBe(0);
  });
  it("groups locations in blocks for queries", () => {
    expect(blocksOf([0, 63, 64, 700, -1])).toEqual([0, 1, 10]);
  });
});

// Groups of threads and processes with equal roles: which rows a timeline has, and what the row of a group shows.
const POOL = "ThreadPoolExecutor worker";
const thread = (process: number, name: string, i: number, role?: string) => ({ process, name, begin: 100 - i, end: 101, busy: 1, running: i % 10, mpi: 0, ...(role ? { role } : {}) });
/** One process with a main thread, n workers and one other thread. */
const pool = (n: number) =>
  ({
    processes: [{ name: "Process 7", rank: null, pid: 7, host: "h", role: "program", begin: 0 }],
    locations: [thread(0, "MainThread", 0), ...Array.from({ length: n }, (_, i) => thread(0, `${POOL} (Pool_${i})`, i + 1, POOL)), thread(0, "reader", n + 1)],
  }) as unknown as Facts;
/** n processes, the first of which started the others, with two threads each. */
const forked = (n: number, ranks = false) =>
  ({
    processes: Array.from({ length: n }, (_, i) => ({ name: i ? `worker Fork-${i} (${i})` : "Process 1", rank: ranks ? i : null, pid: i, host: "h", role: i ? "worker" : "program", begin: i })),
    locations: Array.from({ length: 2 * n }, (_, i) => thread(i >> 1, i % 2 ? "helper" : "MainThread", i)),
  }) as unknown as Facts;
const shown = (facts: Facts, more: Partial<Shown> = {}): Shown => ({ opened: new Set(), lanes: () => 1, threads: new Set(), tasks: new Set(), crowds: crowdsOf(facts), ...more });
const labels = (facts: Facts, more?: Partial<Shown>): string[] => listRows(facts, [], shown(facts, more)).map(({ label }) => label);

it("few threads have a row each", () => {
  expect(crowdsOf(pool(46))).toBeUndefined();
  expect(labels(pool(46)).length).toBe(48);
});

it("threads with one role share a row among the others", () => {
  expect(labels(pool(9998))).toEqual(["MainThread", `${POOL} × 9,998`, "reader"]);
});

it("an opened group has its members below it, without their role in their names", () => {
  const facts = pool(60);
  const rows = listRows(facts, [], shown(facts, { unfolded: new Set(crowdsOf(facts)!.threads.get(0)!.map(({ key }) => key)) }));
  expect(rows.length).toBe(63);
  expect(rows.slice(1, 4).map(({ kind, label, level }) => [kind, label, level])).toEqual([
    ["crowd", `${POOL} × 60`, 1],
    ["thread", "Pool_0", 2],
    ["thread", "Pool_1", 2],
  ]);
  expect(new Set(rows.map(({ key }) => key)).size).toBe(63);
});

it("processes with one role share a row with all their threads", () => {
  const facts = forked(513);
  const [first, second, group] = listRows(facts, [], shown(facts));
  expect([first!.label, second!.label, group!.label]).toEqual(["Process 1", "helper", "worker × 512"]);
  expect(group!.crowd!.locations.length).toBe(1024);
  const open = listRows(facts, [], shown(facts, { unfolded: new Set([group!.key]) }));
  expect(open.slice(3, 5).map(({ label, threads }) => [label, threads])).toEqual([
    ["Fork-1 (1)", 1],
    ["Fork-2 (2)", 1],
  ]);
  expect(open.length).toBe(3 + 512); // their threads are hidden until they are asked for
  expect(listRows(facts, [], shown(facts, { unfolded: new Set([group!.key]), threads: new Set([5]) })).length).toBe(3 + 513);
});

it("ranks are one group", () => {
  expect(labels(forked(512, true))).toEqual(["rank × 512"]);
  expect(labels(forked(128, true)).slice(0, 3)).toEqual(["rank 0", "helper", "rank 1"]);
});

it("the order is by number, by time or by begin", () => {
  const facts = pool(60);
  const unfolded = new Set(crowdsOf(facts)!.threads.get(0)!.map(({ key }) => key));
  const of = (order: Order): string[] => labels(facts, { order, unfolded });
  expect(of("number").slice(2, 4)).toEqual(["Pool_0", "Pool_1"]);
  expect(of("time").slice(2, 4)).toEqual(["Pool_8", "Pool_18"]); // that ran for 9
  expect(of("begin").slice(0, 4)).toEqual(["MainThread", "reader", `${POOL} × 60`, "Pool_59"]);
});

it("the row of a group is higher, and has no levels", () => {
  const facts = pool(9998);
  const rows = listRows(facts, [], shown(facts));
  for (const room of [0, 600]) {
    const layout = new Layout(rows, shown(facts, { room }));
    const high = (i: number): number => layout.tops[i + 1]! - layout.tops[i]!;
    expect(high(1)).toBeGreaterThan(high(0) + 20);
    expect(layout.lane(1, layout.tops[2]! - 1)).toBe(-1);
  }
});

it("a member's label is without the role and without brackets around the rest", () => {
  expect(memberLabel(`${POOL} (Pool_3)`, POOL)).toBe("Pool_3");
  expect(memberLabel("worker Fork-1 (77)", "worker")).toBe("Fork-1 (77)");
  expect(memberLabel("rank 3", "rank")).toBe("rank 3");
  expect(memberLabel("reader", POOL)).toBe("reader");
});

it("lists of rows are ranges, cut where they become too long", () => {
  expect(rowLists([1, 2, 3, 7, 9, 10])).toEqual([{ rows: "1-3,7-7,9-10", count: 6 }]);
  expect(rowLists([1, 3, 5, 7], 8)).toEqual([
    { rows: "1-1,3-3", count: 2 },
    { rows: "5-5,7-7", count: 2 },
  ]);
  expect(rowLists([])).toEqual([]);
});

const columns = (rows: Record<string, number[]>): Columns<"overview"> => ({ has: (name: string) => name in rows, get: (name: string) => rows[name]! }) as unknown as Columns<"overview">;

it("a tile counts the threads that run and wait", () => {
  const tile = new CrowdTile();
  tile.add(columns({ location: [0, 0], bucket: [3, 4], region: [8, NONE], share: [0.25, 0], waiting: [0.5, 0], open: [0.75, 0] }), 100);
  tile.add(columns({ location: [200], bucket: [3], region: [9], share: [0.9], waiting: [0], open: [1] }), 10);
  expect([tile.running[3], tile.waiting[3], tile.region[3]]).toEqual([35, 50, 8]);
  expect([tile.running[4], tile.waiting[4], tile.region[4]]).toEqual([0, 0, NONE]);
  const whole = { begin: 0, end: 1024 };
  const asked = { complete: true, pieces: [{ value: tile, level: 0, begin: 0, end: 1024, exact: true }] };
  expect(crowdAt(asked, 3.5, whole)).toEqual({ region: 8, running: 35, waiting: 50, begin: 3, end: 4 });
  expect(peakOf(asked, whole, whole)).toBe(85);
  expect(peakOf(asked, { begin: 10, end: 20 }, whole)).toBe(0);
});

it("a tile is also made from answers about single threads, as in a file", () => {
  const tile = new CrowdTile();
  tile.add(columns({ location: [4, 5, 6], bucket: [0, 0, 0], region: [1, 2, 1], share: [0.5, 0.75, 1], waiting: [0.25, 0, 0] }), 1, new Set([4, 5]));
  expect([tile.running[0], tile.waiting[0], tile.region[0]]).toEqual([1, 0.25, 2]);
});

it("finds the column at a time, also in finer tiles", () => {
  const whole = { begin: 0, end: 2048 };
  expect(columnAt({ level: 0, begin: 0, end: 2048 }, 5, whole)).toEqual({ at: 2, begin: 4, wide: 2 });
  expect(columnAt({ level: 1, begin: 1024, end: 2048 }, 1030.5, whole)).toEqual({ at: 6, begin: 1030, wide: 1 });
  expect(columnAt({ level: 1, begin: 1024, end: 2048 }, 9999, whole).at).toBe(TILE - 1);
});

it("one of many names is found by its text or its number", () => {
  const names = Array.from({ length: 1000 }, (_, i) => `Pool_${i}`);
  expect(unitOf(names, "Pool_12")).toBe(12);
  expect(unitOf(names, "12")).toBe(12);
  expect(unitOf(names, "#999")).toBe(999);
  expect(unitOf(names, "1000")).toBeUndefined();
  expect(namesWith(names, "POOL_99")).toEqual(["Pool_99", "Pool_990", "Pool_991", "Pool_992", "Pool_993", "Pool_994", "Pool_995", "Pool_996", "Pool_997", "Pool_998", "Pool_999"]);
  expect(namesWith(names, "").length).toBe(40);
});
