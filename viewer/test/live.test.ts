// SPDX-License-Identifier: BSD-3-Clause
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pack } from "../src/data/columns";
import type { Facts, Regions } from "../src/data/facts";
import { movedLocations, movedSelection } from "../src/data/moves";
import { Live, sourceOf } from "../src/state/live";
import { NOWHERE, Store } from "../src/state/store";

const facts = (pids: number[], threads: number[]): Facts =>
  ({ processes: pids.map((pid) => ({ host: "here", pid })), locations: threads.map((process) => ({ process, name: "" })) }) as unknown as Facts;
const regions = (...names: string[]): Regions => ({ names, kindOf: () => "python", placeOf: () => "" }) as unknown as Regions;

describe("a selection in a later version", () => {
  const before = { facts: facts([7, 8], [0, 0, 1]), regions: regions("root", "f", "g", "g") };
  const after = { facts: facts([7, 9, 8], [0, 0, 1, 0, 2]), regions: regions("root", "new", "g", "f", "g") };

  it("has the same functions, processes and threads at their new indices", () => {
    const move = movedSelection(before, after);
    const { region, path, centre, process, location, begin } = move({ view: "table", region: 1, path: [1, 3], centre: [2], process: 1, location: 2, begin: 0.5 });
    expect([region, path, centre, process, location, begin]).toEqual([3, [3, 4], [2], 2, 4, 0.5]);
    expect(movedLocations(before.facts, after.facts)(1)).toBe(1);
  });

  it("lacks what is not there", () => {
    expect(movedSelection(after, before)({ view: "table", region: 1, path: [3, 1], process: 1 })).toEqual({ view: "table" });
  });
});

describe("the state of a run that has not ended", () => {
  let state = { version: 1, running: true, age: 0 };
  let asked: string[] = [];
  beforeEach(() => {
    vi.useFakeTimers();
    asked = [];
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      if (url.startsWith("live?")) return new Response(JSON.stringify(state));
      const meta = url.endsWith("facts") ? facts([7], [0]) : { names: ["root"], qualnames: [""], modules: [""], files: [""], kinds: ["root"] };
      const columns: Record<string, Uint32Array | Uint8Array> = url.endsWith("regions") ? { module: new Uint32Array(1), file: new Uint32Array(1), line: new Uint32Array(1), kind: new Uint8Array(1), own: new Uint8Array(1) } : {};
      return new Response(pack(meta, columns));
    });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("leads to the newest version, after its answers have come, and to no more questions at the end", async () => {
    const store = new Store(sourceOf(1), NOWHERE);
    const needless = store.need("flat", { process: 0 });
    const live = new Live(store, 1);
    live.start();
    await vi.advanceTimersByTimeAsync(2500);
    expect([live.version, asked.every((url) => url === "live?version=1&paused=0")]).toEqual([1, true]);
    const first = store.source;
    live.pause(true);
    state = { version: 2, running: true, age: 0 };
    await vi.advanceTimersByTimeAsync(2000);
    expect([store.source === first, asked.at(-1)]).toEqual([true, "live?version=1&paused=1"]);
    live.pause(false);
    let atSwap: string[] = [];
    store.subscribe(() => (atSwap = [...asked]));
    await vi.advanceTimersByTimeAsync(1500);
    expect([live.version, store.source === first]).toEqual([2, false]);
    expect(atSwap).toContain("data/2/flat?process=0");
    needless();
    expect(store.asked.size).toBe(0);
    state = { version: 2, running: false, age: 0 };
    await vi.advanceTimersByTimeAsync(1000);
    const n = asked.length;
    await vi.advanceTimersByTimeAsync(5000);
    expect([live.ended, asked.length]).toEqual([true, n]);
  });
});
