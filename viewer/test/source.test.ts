// SPDX-License-Identifier: BSD-3-Clause
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pack } from "../src/data/columns";
import type { Facts, Regions } from "../src/data/facts";
import { ServerSource } from "../src/data/source";
import { searchProblem } from "../src/calltree/tree";
import { unknownIn } from "../src/page/unknown";

describe("queries to the server", () => {
  const asked: { url: string; signal: AbortSignal; answer: () => void }[] = [];
  beforeEach(() => {
    vi.useFakeTimers();
    asked.length = 0;
    vi.stubGlobal("fetch", (url: string, { signal }: { signal: AbortSignal }) =>
      new Promise<Response>((resolve, reject) => {
        asked.push({ url, signal, answer: () => resolve(new Response(pack({}, {}))) });
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      }),
    );
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("are cancelled when no caller waits any more", async () => {
    const source = new ServerSource("data/");
    const [one, other] = [new AbortController(), new AbortController()];
    const left = source.get("tree", { process: 1 }, one.signal);
    left.catch(() => undefined);
    void source.get("tree", { process: 1 }, other.signal).catch(() => undefined);
    one.abort();
    vi.runAllTimers();
    expect(asked.map((q) => q.signal.aborted)).toEqual([false]);
    other.abort();
    expect(asked[0]!.signal.aborted).toBe(false); // the query is kept for the next view
    vi.runAllTimers();
    expect(asked[0]!.signal.aborted).toBe(true);
    await expect(left).rejects.toThrow();
    void source.get("tree", { process: 1 });
    expect(asked[1]!.url).toBe("data/tree?process=1");
  });

  it("continue for a caller without signal, and for one that comes in time", async () => {
    const source = new ServerSource("data/");
    const leaving = new AbortController();
    const first = source.get("facts", {}, leaving.signal);
    leaving.abort();
    const second = source.get("facts", {});
    vi.runAllTimers();
    asked[0]!.answer();
    expect(await first).toBe(await second);
    expect(asked.length).toBe(1);
  });
});

describe("a URL", () => {
  const facts = { processes: [{}, {}], locations: [{}, {}, {}], metrics: [{ name: "misses" }] } as unknown as Facts;
  const regions = { count: 3, names: ["", "a", "b"], groupOf: (i: number) => ["", "pkg.mod", "MPI"][i] } as unknown as Regions;

  it("with a known selection is not changed", () => {
    const selection = { view: "table", region: 2, path: [1, 2], module: "pkg", process: 1, location: 2, metric: "misses" };
    expect(unknownIn(selection, facts, regions, undefined)).toEqual({ messages: [], patch: {} });
    expect(unknownIn({ view: "table", module: "MPI" }, facts, regions, undefined).messages).toEqual([]);
  });

  it("with unknown parts is reported, and these are removed", () => {
    const selection = { view: "table", region: 3, module: "pk", process: 2, location: 3, metric: "x" };
    const { messages, patch } = unknownIn(selection, facts, regions, undefined);
    expect(messages.map((text) => text.split(" is not")[0])).toEqual(["Function 3", "Module pk", "Process 2", "Thread 3", "Metric x"]);
    expect(Object.keys(patch).sort()).toEqual(["location", "metric", "module", "process", "region"]);
    expect(unknownIn({ view: "table", region: 9, path: [1, 9] }, facts, regions, undefined)).toEqual({
      messages: ["The call path is not in this experiment."],
      patch: { path: undefined, centre: undefined, region: undefined },
    });
  });
});

it("an invalid regular expression is reported", () => {
  expect(["/a(b/", "/a/", "a(b", "//", undefined].map((text) => searchProblem(text) !== undefined)).toEqual([true, false, false, false, false]);
  expect(searchProblem("/a(b/")).toMatch(/group/i);
});
