// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import type { Facts } from "../src/data/facts";
import { blocksOf, LANE, Layout, listRows, locationLabel, PAD, ROW, type Shown, TALL, type Task } from "../src/data/rows";

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
