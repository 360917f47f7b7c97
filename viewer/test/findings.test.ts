// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import type { Facts, Regions } from "../src/data/facts";
import { shownBy } from "../src/data/findings";

const names = ["root", "m:main", "m:inner", "m:leaf"];
const regions = { names, count: names.length, kindOf: (region: number) => (region ? "python" : "root") } as unknown as Regions;
const facts = (...has: string[]): Facts => ({ has: Object.fromEntries(has.map((what) => [what, true])) }) as unknown as Facts;

describe("the view of a finding", () => {
  it("has its call path selected", () => {
    expect(shownBy({ topic: "serialization", path: ["m:main", "m:inner"], function: "m:inner" }, facts(), regions)).toEqual({ view: "icicle", path: [1, 2] });
  });

  it("has its function selected if the call path is not known here", () => {
    const finding = { topic: "memory-growth", path: ["m:main", "m:gone"], function: "m:leaf" };
    expect(shownBy(finding, facts("memory"), regions)).toEqual({ view: "memory", path: undefined, region: 3 });
    expect(shownBy({ ...finding, function: "m:gone" }, facts("memory"), regions)).toEqual({ view: "memory", path: undefined, region: undefined });
  });

  it("is that of the callers if the run has no other", () => {
    const finding = { topic: "child-process", path: [], function: "m:leaf" };
    expect(shownBy(finding, facts(), regions).view).toBe("callers");
    expect(shownBy(finding, facts("time"), regions).view).toBe("timeline");
    expect(shownBy({ ...finding, topic: "small-function" }, facts("time"), regions).view).toBe("callers");
    // a frame in a notebook has few views
    expect(shownBy({ ...finding, topic: "imports" }, facts(), regions, ["icicle", "callers"]).view).toBe("callers");
    expect(shownBy({ ...finding, topic: "imports" }, facts(), regions).view).toBe("imports");
  });
});
