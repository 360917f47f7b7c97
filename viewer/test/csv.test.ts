// SPDX-License-Identifier: BSD-3-Clause
import { h } from "preact";
import { expect, test } from "vitest";
import { csv, plain, textOf } from "../src/data/csv";
import { count, inUnit, percent } from "../src/data/units";

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
