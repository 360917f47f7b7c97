// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";

describe("columns", () => {
  const buffer = pack({ title: "é" }, { incl: Float64Array.of(1.5, 2.5), region: Uint32Array.of(7, 8, 9), none: new Uint8Array(0) });

  it("come back as they were packed", () => {
    const columns = parse(buffer);
    expect(columns.meta).toEqual({ title: "é" });
    expect([...columns.f64("incl")]).toEqual([1.5, 2.5]);
    expect([...columns.u32("region")]).toEqual([7, 8, 9]);
    expect(columns.u8("none").length).toBe(0);
    expect([columns.has("region"), columns.has("excl")]).toEqual([true, false]);
    expect(() => columns.get("excl")).toThrow("no column excl");
  });

  it("are refused when cut short, or something else", () => {
    expect(() => parse(buffer.slice(0, buffer.byteLength - 16))).toThrow("cut off");
    expect(() => parse(buffer.slice(0, 16))).toThrow("cut off");
    expect(() => parse(new ArrayBuffer(16))).toThrow("not Spartito's");
  });
});
