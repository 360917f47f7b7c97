// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { recordBy, type Facts } from "../src/data/facts";
import { NOWHERE, Store } from "../src/state/store";

it("a frame keeps its selection without a URL", () => {
  const source = { get: () => Promise.reject(new Error("nothing is asked for")) };
  const [one, other] = [new Store(source, NOWHERE), new Store(source, NOWHERE)];
  let notified = 0;
  one.subscribe(() => notified++);
  one.select({ view: "table", region: 3 });
  one.select({ path: [1, 2] });
  one.select({ path: [1, 2] });
  expect(notified).toBe(2); // selecting the current value is no change
  expect(one.selection).toEqual({ view: "table", region: 2, path: [1, 2] });
  expect(one.embedded).toBe(true);
  // frames have separate selections
  expect(other.selection.view).not.toBe("table");
  expect(NOWHERE.location.hash).toBe("");
});

it("advice names a command line, or a magic for notebooks", () => {
  expect(recordBy({ title: "weather.py --steps 3" } as Facts, "--lines f")).toBe("spartito run --lines f");
  expect(recordBy({ title: "In[7]" } as Facts, "--lines f")).toBe("%%spartito --lines f");
});
