// SPDX-License-Identifier: BSD-3-Clause
import { expect, test } from "vitest";
import { recordBy, type Facts } from "../src/data/facts";

test("what to type is what was typed: a command, or a magic above a cell", () => {
  expect(recordBy({ title: "weather.py --steps 3" } as Facts, "--lines f")).toBe("spartito run --lines f");
  expect(recordBy({ title: "In[7]" } as Facts, "--lines f")).toBe("%%spartito --lines f");
});
