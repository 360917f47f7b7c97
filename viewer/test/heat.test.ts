// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { endOfBlock, heatLines, type LineFunction } from "../src/data/heat";

const f = (line: number, lines: LineFunction["lines"]): LineFunction => ({
  name: `m:f${line}`,
  module: "m",
  function: `f${line}`,
  file: "/m.py",
  line,
  excl: lines.reduce((sum, l) => sum + l[2], 0),
  callees: lines.reduce((sum, l) => sum + l[3], 0),
  lines,
});

describe("heat of lines", () => {
  const functions = [f(2, [[3, 5, 1, 3], [4, 1, 0, 0]]), { ...f(1, [[1, 9, 9, 9]]), file: "/other.py" }, f(6, [[6, 2, 4, 0]])];

  it("assigns numbers to the lines of the text", () => {
    const lines = heatLines(functions, "/m.py", "x = 1\ndef f():\n    g()\n    return\n\nlambda: 1\n");
    expect(lines.map((l) => [l.line, l.hits, l.excl, l.callees, l.share, l.of])).toEqual([
      [1, 0, 0, 0, 0, -1],
      [2, 0, 0, 0, 0, -1],
      [3, 5, 1, 3, 1, 0],
      [4, 1, 0, 0, 0, 0],
      [5, 0, 0, 0, 0, -1],
      [6, 2, 4, 0, 1, 2],
    ]);
    expect(lines[2]!.text).toBe("    g()");
  });

  it("shows the lines that ran if there is no text, or the text is shorter", () => {
    expect(heatLines(functions, "/m.py", undefined).map((l) => l.line)).toEqual([3, 4, 6]);
    const cut = heatLines(functions, "/m.py", "x = 1");
    expect([cut.length, cut[5]!.hits, cut[5]!.text]).toEqual([6, 2, undefined]);
    expect(heatLines([], "/m.py", "")).toEqual([]);
  });

  it("assigns a line of several functions to the outer one, or to the selected one", () => {
    const inner = { ...f(2, [[2, 9, 1, 0]]), name: "m:f.<listcomp>" };
    const both = [inner, f(1, [[2, 1, 1, 2], [3, 1, 8, 0]])];
    expect(heatLines(both, "/m.py", undefined).map((l) => [l.hits, l.excl, l.callees])).toEqual([
      [1, 1, 2],
      [1, 8, 0],
    ]);
    expect(heatLines([...both].reverse(), "/m.py", undefined)[0]!.hits).toBe(1);
    expect(heatLines(both, "/m.py", undefined, inner)[0]!.hits).toBe(9);
    expect(heatLines([...both].reverse(), "/m.py", undefined, inner)[0]!.hits).toBe(9);
  });

  it("finds the end of a function", () => {
    const text = "@d\n@e(\n  1)\nasync def f(\n    a,\n):\n    if a:\n\n        b()\n\n# c\ndef g(): pass\n";
    const lines = heatLines([], "", text);
    expect(endOfBlock(lines, 1)).toBe(9);
    expect(endOfBlock(lines, 12)).toBe(12);
    expect(endOfBlock(lines, 99)).toBe(99);
  });
});
