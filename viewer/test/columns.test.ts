// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";

describe("columns", () => {
  const buffer = pack({ modules: ["é"] }, { line: Uint32Array.of(7, 8, 9), kind: new Uint8Array(0), "metric:a:b:incl": Float64Array.of(1.5, 2.5) });

  it("are the same after pack() and parse()", () => {
    const columns = parse<"regions">(buffer);
    expect(columns.meta).toEqual({ modules: ["é"] });
    expect(columns.metrics()).toEqual(["a:b"]);
    expect([...columns.metric("a:b", "incl")]).toEqual([1.5, 2.5]);
    expect([...columns.get("line")]).toEqual([7, 8, 9]);
    expect(columns.get("kind").length).toBe(0);
    expect([columns.has("line"), columns.has("of_base")]).toEqual([true, false]);
    expect(() => columns.get("of_base")).toThrow("no column of_base");
  });

  it("are refused if truncated or of another format", () => {
    expect(() => parse(buffer.slice(0, buffer.byteLength - 16))).toThrow("cut off");
    expect(() => parse(buffer.slice(0, 16))).toThrow("cut off");
    expect(() => parse(new ArrayBuffer(16))).toThrow("not Spartito's");
  });
});
