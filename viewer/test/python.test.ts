// SPDX-License-Identifier: BSD-3-Clause
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pythonTokens } from "../src/draw/python";
import { type Colour, contrast } from "../src/draw/colour";

const of = (...lines: (string | undefined)[]): string[][] => pythonTokens(lines).map((tokens) => tokens.filter(({ kind }) => kind !== "plain").map(({ kind, text }) => `${kind} ${text}`));

describe("Python's tokens", () => {
  it("are keywords, strings, comments and numbers", () => {
    expect(of(`    for i in range(0x1f, 1_000.5e-3): yield f"a{i}" + 'it\\'s'  # "none"`)[0]).toEqual([
      "keyword for", "keyword in", "number 0x1f", "number 1_000.5e-3", "keyword yield", 'string f"a{i}"', "string 'it\\'s'", 'comment # "none"',
    ]);
    expect(of("format = x1 + is_in.for_ + 3j")[0]).toEqual(["number 3j"]);
    expect(of("größe = None if ñ else Rb'\\''")[0]).toEqual(["keyword None", "keyword if", "keyword else", "string Rb'\\''"]);
  });
  it("are strings over several lines", () => {
    expect(of('x = """a # b', 'return \\""" c', "'d' \"\"\" + 1", "pass")).toEqual([
      ['string """a # b'], ['string return \\""" c'], ["string 'd' \"\"\"", "number 1"], ["keyword pass"],
    ]);
    expect(of("'a\\", "b' or 1", "'open", "or")).toEqual([["string 'a\\"], ["string b'", "keyword or", "number 1"], ["string 'open"], ["keyword or"]]);
    expect(of('""""""', undefined, "''''a'''", "or")).toEqual([['string """"""'], [], ["string ''''a'''"], ["keyword or"]]);
  });
  it("are all of the text", () => {
    const text = readFileSync(new URL("../contract.mjs", import.meta.url), "utf8").split("\n"); // any text
    expect(pythonTokens(text).map((tokens) => tokens.map((token) => token.text).join(""))).toEqual(text);
  });
});

describe("the colours of source", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const css = read("../src/style.css") + read("../src/parts/views.css");
  it.each(["light", "dark"])("have enough contrast on the page, on the selected line and under the pointer (%s)", (theme) => {
    const blocks = [...css.matchAll(/:root(\[data-theme="dark"\])? \{([^}]*)\}/g)].filter(([, dark]) => Boolean(dark) === (theme === "dark"));
    const colour = (name: string): Colour => {
      const hex = new RegExp(`--${name}: #(..)(..)(..)`).exec(blocks.map(([, , body]) => body).join(""))!;
      return hex.slice(1, 4).map((part) => Number.parseInt(part, 16)) as unknown as Colour;
    };
    for (const ink of ["keyword", "string", "comment", "number"])
      for (const paper of ["paper", "raised", "selected"]) expect(contrast(colour(ink), colour(paper)), `${ink} on ${paper}`).toBeGreaterThan(4.5);
  });
});
