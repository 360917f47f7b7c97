// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it, test } from "vitest";
import { pack, parse } from "../src/data/columns";
import { h } from "preact";
import { csv, plain, textOf } from "../src/data/csv";
import { count, inUnit, percent } from "../src/data/units";

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

const Name = ({ text }: { text: string }) => h("b", {}, text);

test("fields with separators and quotes are quoted, lines end with CRLF", () => {
  expect(csv([["a", "b,c"], ['say "x"', "two\nlines"]])).toBe('a,"b,c"\r\n"say ""x""","two\nlines"\r\n');
});

test("numbers are written for programs, other texts stay", () => {
  expect(["1,234,567.5", "-3.20", "+1,000", "12", "1,2", "module,other", "×12", ""].map(plain)).toEqual(["1234567.5", "-3.20", "+1000", "12", "1,2", "module,other", "×12", ""]);
  expect([percent(0.123), percent(1e-7), percent(1), inUnit(1e-9, { size: 1, name: "s" }), count(1234567)].map(plain).map(Number)).toEqual([12.3, 0, 100, 0, 1234567]);
});

test("a cell's text is that of its components", () => {
  expect(textOf([h("i", { class: "swatch" }), h(Name, { text: "solver:step" })])).toBe("solver:step");
  expect(textOf(h("span", {}, "a ", 3, null, false, [h("b", {}, "c")]))).toBe("a 3c");
  expect([textOf(undefined), textOf(0), textOf("x")]).toEqual(["", "0", "x"]);
});
