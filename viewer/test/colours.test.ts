// SPDX-License-Identifier: BSD-3-Clause
// The charts of `spartito plot` have the colours of the viewer: tests/py/cli/test_plot.py compares the same file with
// src/write/picture/picture.c.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ofModule } from "../src/draw/colour";

it("each module has the same colour as in charts", () => {
  const golden: Record<string, Record<string, string>> = JSON.parse(
    readFileSync(new URL("../../tests/golden/module_colours.json", import.meta.url), "utf8"),
  );
  for (const [theme, colours] of Object.entries(golden))
    for (const [module, colour] of Object.entries(colours)) {
      const hex = ofModule(module, theme === "dark").map((part) => part.toString(16).padStart(2, "0"));
      expect(`#${hex.join("")}`, `${module} ${theme}`).toBe(colour);
    }
  expect(Object.keys(golden)).toEqual(["light", "dark"]);
});
