// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { levelFor, TILE, type TileKey, TimelineCache, tileSpan, tilesIn } from "../src/timeline/cache";

const whole = { begin: 0, end: 16 };
const wait = (): Promise<void> => new Promise((done) => setTimeout(done));

/** A source that answers only when the test calls answer(). */
function source() {
  const asked: string[] = [];
  const open = new Map<string, { done: (text: string) => void; fail: (e: Error) => void }>();
  const left: string[] = [];
  const fetch = (key: TileKey, _: unknown, leave: AbortSignal): Promise<string> => {
    const name = `${key.group} ${key.level}/${key.index}`;
    asked.push(name);
    leave.addEventListener("abort", () => left.push(name));
    return new Promise((done, fail) => open.set(name, { done, fail }));
  };
  const answer = async (name?: string): Promise<void> => {
    for (const key of name ? [name] : [...open.keys()]) {
      open.get(key)!.done(key);
      open.delete(key);
    }
    await wait();
  };
  const fail = async (name: string): Promise<void> => {
    open.get(name)!.fail(new Error("no"));
    await wait();
  };
  return { asked, left, fetch, answer, fail };
}
const values = (asked?: { pieces: { value: string }[] }): string[] => asked!.pieces.map((p) => p.value);

describe("tiles", () => {
  it("have columns no wider than a pixel", () => {
    expect(levelFor(whole, whole, TILE)).toBe(0);
    expect(levelFor(whole, whole, TILE + 1)).toBe(1);
    expect(levelFor(whole, { begin: 3, end: 4 }, TILE)).toBe(4);
    expect(levelFor(whole, { begin: 3, end: 3 }, TILE)).toBeLessThanOrEqual(44);
    expect(levelFor({ begin: 0, end: 0 }, { begin: 0, end: 0 }, 100)).toBe(0);
  });
  it("cover the run without a gap", () => {
    for (const level of [0, 1, 5])
      for (let i = 1; i < 2 ** level; i++) expect(tileSpan(whole, level, i).begin).toBe(tileSpan(whole, level, i - 1).end);
    expect(tileSpan(whole, 3, 7).end).toBe(16);
    expect(tilesIn(whole, { begin: 1, end: 3 }, 4)).toEqual([1, 2]);
    expect(tilesIn(whole, { begin: 0, end: 16 }, 2)).toEqual([0, 3]);
    expect(tilesIn(whole, { begin: 16, end: 16 }, 2)).toEqual([3, 3]);
  });
});

describe("the cache", () => {
  it("queries once, then answers from the cache", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch);
    expect(cache.want(["a"], whole, TILE).get("a")).toEqual({ pieces: [], complete: false });
    cache.want(["a"], whole, TILE);
    expect(s.asked).toEqual(["a 0/0"]);
    await s.answer();
    const found = cache.want(["a"], whole, TILE).get("a")!;
    expect(found.complete).toBe(true);
    expect(values(found)).toEqual(["a 0/0"]);
    expect(s.asked.length).toBe(1);
  });
  it("draws known tiles, coarser first and finer above, until the right one arrives", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch);
    cache.want(["a"], whole, TILE);
    await s.answer();
    cache.want(["a"], { begin: 4, end: 6 }, TILE); // level 3, tile 2
    await s.answer();
    const middle = cache.want(["a"], { begin: 4, end: 8 }, TILE).get("a")!; // level 2, tile 1
    expect(values(middle)).toEqual(["a 0/0", "a 3/2"]);
    expect(middle.complete).toBe(false);
    expect(middle.pieces[1]).toMatchObject({ begin: 4, end: 6, exact: false });
    await s.answer("a 2/1");
    expect(values(cache.want(["a"], { begin: 4, end: 8 }, TILE).get("a"))).toEqual(["a 2/1"]);
  });
  it("reuses tiles when panning", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch);
    cache.want(["a"], { begin: 2, end: 4 }, TILE);
    await s.answer();
    cache.want(["a"], { begin: 2.5, end: 4.5 }, TILE);
    expect(s.asked).toEqual(["a 3/1", "a 3/2"]);
  });
  it("cancels queries that are not needed, and limits outstanding ones", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch, { flights: 2 });
    cache.want(["a", "b", "c", "d"], whole, TILE);
    expect(s.asked).toEqual(["a 0/0", "b 0/0"]);
    cache.want(["b", "e"], whole, TILE);
    expect([s.asked, s.left]).toEqual([["a 0/0", "b 0/0", "e 0/0"], ["a 0/0"]]);
    await s.answer(); // the query of "a" was outstanding already
    expect(cache.want(["a"], whole, TILE).get("a")!.complete).toBe(true);
  });
  it("queries cancelled tiles again, without an error", async () => {
    const s = source();
    let landed = 0;
    const cache = new TimelineCache(whole, s.fetch, { landed: () => landed++ });
    cache.want(["a"], whole, TILE);
    cache.want([], whole, TILE);
    expect(cache.busy).toBe(false);
    await s.fail("a 0/0");
    cache.want(["a"], whole, TILE);
    expect([s.asked.length, cache.problem, landed]).toEqual([2, "", 0]);
    await s.answer();
    expect(values(cache.want(["a"], whole, TILE).get("a"))).toEqual(["a 0/0"]);
  });
  it("queries no finer tile if one has all details", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch, { enough: () => true });
    cache.want(["a"], whole, TILE);
    await s.answer();
    const found = cache.want(["a"], { begin: 3, end: 3.001 }, TILE).get("a")!;
    expect(found.complete).toBe(true);
    expect(found.pieces.every((p) => p.exact)).toBe(true);
    expect(s.asked.length).toBe(1);
  });
  it("reports a failed query, and repeats it only on request", async () => {
    const s = source();
    let landed = 0;
    const cache = new TimelineCache(whole, s.fetch, { landed: () => landed++ });
    cache.want(["a"], whole, TILE);
    await s.fail("a 0/0");
    expect(landed).toBe(1);
    cache.want(["a"], whole, TILE);
    expect(cache.problem).toBe("no");
    expect(s.asked.length).toBe(1);
    cache.retry();
    cache.want(["a"], whole, TILE);
    expect(s.asked.length).toBe(2);
    expect(cache.problem).toBe("");
  });
  it("keeps to its limit, except for visible tiles and level 0", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch, { bytes: () => 10, limit: 60, flights: 99 });
    cache.want(["a"], whole, TILE);
    await s.answer();
    for (let i = 0; i < 16; i++) {
      cache.want(["a"], { begin: i, end: i + 1 }, TILE);
      await s.answer();
    }
    expect(cache.size).toBeLessThanOrEqual(60);
    expect(values(cache.want(["a"], { begin: 15, end: 16 }, TILE).get("a"))).toEqual(["a 4/15"]);
    expect(values(cache.want(["a"], { begin: 0, end: 1 }, TILE).get("a"))).toEqual(["a 0/0"]);
  });
  it("sends no queries after close()", async () => {
    const s = source();
    const cache = new TimelineCache(whole, s.fetch, { flights: 1 });
    cache.want(["a", "b"], whole, TILE);
    cache.close();
    await s.answer();
    expect([s.asked, s.left]).toEqual([["a 0/0"], ["a 0/0"]]);
  });
});
