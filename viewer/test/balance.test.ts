// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { groupsOf, outliers, rolesOf, Spread } from "../src/data/balance";
import { NONE, pack, parse } from "../src/data/columns";
import type { Facts } from "../src/data/facts";

const facts = {
  processes: [0, 1, 2, 3].map((rank) => ({ rank, name: `rank ${rank}`, pid: rank })),
  locations: [0, 1, 2, 3].map((process) => ({ process, name: "MainThread" })),
} as unknown as Facts;

function spread(): Spread {
  // seconds: region 5: 1 1 4 1; region 7: only in unit 1; the rest in unit 0
  return new Spread(
    parse(
      pack(
        { over: "ranks", units: [0, 1, 2, 3], total: 9.5 },
        {
          unit: Uint32Array.of(0, 0, 1, 1, 2, 3),
          region: Uint32Array.of(5, NONE, 5, 7, 5, 5),
          visits: Float64Array.of(1, 9, 2, 3, 4, 5),
          incl: Float64Array.of(2, 0.5, 2, 2, 5, 2),
          excl: Float64Array.of(1, 0.5, 1, 1, 4, 1),
        },
      ),
    ),
  );
}

describe("balance", () => {
  it("has one region's numbers over all units", () => {
    const s = spread().stats(5, "excl");
    expect(s).toMatchObject({ units: 4, sum: 7, mean: 1.75, min: 1, max: 4, minUnit: 0, maxUnit: 2, imbalance: 2.25 });
    expect(s.std).toBeCloseTo(Math.sqrt((3 * 0.75 ** 2 + 2.25 ** 2) / 4));
    expect(s.percent).toBeCloseTo((4 / 1.75 - 1) * 100);
    expect(s.outliers).toEqual([2]);
    expect(spread().stats(5, "incl").sum).toBe(11);
  });
  it("counts units without the region as 0", () => {
    expect(spread().stats(7, "excl")).toMatchObject({ units: 1, mean: 0.25, min: 0, minUnit: 0, max: 1, maxUnit: 1 });
    expect([...spread().visits(7)]).toEqual([0, 3, 0, 0]);
  });
  it("orders regions by time, the sum of the others last", () => {
    expect(spread().regions).toEqual([5, 7, NONE]);
    expect(spread().parts(0)).toEqual([{ region: 5, value: 1 }, { region: NONE, value: 0.5 }]);
    expect(spread().parts(1).map((r) => r.region)).toEqual([5, 7]);
  });
  it("names units and finds the selected one", () => {
    expect(spread().label(facts, 2)).toBe("rank 2");
    expect(spread().unitOf(facts, 3, undefined)).toBe(3);
    expect(spread().unitOf(facts, undefined, 1)).toBe(1);
    expect(spread().unitOf(facts, undefined, undefined)).toBe(-1);
  });
  it("finds outliers among few and many units, and none among equal ones", () => {
    expect(outliers([1, 1, 1, 1])).toEqual([]);
    expect(outliers([1, 1.01, 0.99, 1.02])).toEqual([]);
    expect(outliers([1, 9])).toEqual([]);
    expect(outliers([...new Array<number>(99).fill(1), 30])).toEqual([99]);
    expect(outliers([0, 5, 5, 5, 5.1])).toEqual([0]);
  });
});

describe("units with equal roles", () => {
  const unit = (role: string, helper = false) => ({ role, helper });
  const roles = { processes: [unit("solver.py"), unit("worker"), unit("tracker", true), unit("worker"), unit("-m reader"), unit("tracker", true), unit("-m reader"), unit("worker")], locations: [] } as unknown as Facts;
  const all = roles.processes.map((_, i) => i);

  it("are a group, those with the most units first; others and helpers are not compared", () => {
    const { groups, single, helpers } = groupsOf(roles, "processes", all);
    expect(groups).toEqual([
      { role: "worker", units: [1, 3, 7] },
      { role: "-m reader", units: [4, 6] },
    ]);
    expect([single, helpers]).toEqual([[0], [2, 5]]);
    expect(rolesOf(roles, "processes", [0, ...helpers])).toBe("solver.py, tracker ×2");
    expect(groupsOf(roles, "ranks", all).groups).toEqual([{ role: "rank", units: all }]);
  });

  it("have numbers of their own", () => {
    const whole = spread();
    const some = new Spread(whole.columns, [1, 2]);
    expect(some.units).toEqual([1, 2]);
    expect(some.stats(5, "excl")).toMatchObject({ units: 2, sum: 5, mean: 2.5, min: 1, max: 4, minUnit: 0, maxUnit: 1 });
    expect(some.regions).toEqual([5, 7]);
    expect(some.total).toBe(6);
    expect(some.label(facts, 1)).toBe("rank 2");
    expect(whole.total).toBe(9.5);
  });
});
