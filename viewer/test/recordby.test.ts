// SPDX-License-Identifier: BSD-3-Clause
import { expect, test } from "vitest";
import { recordBy, type Facts } from "../src/data/facts";

test("advice names a command line, or a magic for notebooks", () => {
  expect(recordBy({ title: "weather.py --steps 3" } as Facts, "--lines f")).toBe("spartito run --lines f");
  expect(recordBy({ title: "In[7]" } as Facts, "--lines f")).toBe("%%spartito --lines f");
});
