// SPDX-License-Identifier: BSD-3-Clause
// Call trees for tests: explicit and random ones.
import { NONE, emptyPaths, type Paths } from "../src/calltree/paths";

/** Region, inclusive time, visits, callees. Region NONE: sum of hidden paths; their number is given as visits. */
export type Call = [region: number, incl: number, visits: number, ...callees: Call[]];

export function tree(...calls: Call[]): Paths {
  const rows: { parent: number; call: Call }[] = [];
  const put = (parent: number, call: Call): void => {
    const at = rows.push({ parent, call }) - 1;
    for (const callee of call.slice(3) as Call[]) put(at, callee);
  };
  for (const call of calls) put(NONE, call);
  const paths = emptyPaths(rows.length);
  rows.forEach(({ parent, call }, i) => {
    const [region, incl, visits] = call;
    paths.parent[i] = parent;
    paths.region[i] = region;
    paths.incl[i] = incl;
    paths.visits[i] = visits;
    paths.hidden[i] = region === NONE ? visits : 0;
    paths.excl[i] = (call.slice(3) as Call[]).reduce((left, [, time]) => left - time, incl);
  });
  return paths;
}

/** A random tree; the same for the same seed. Few regions, so there is recursion; times are integers, so sums are exact. */
export function randomTree(n: number, regions: number, seed = 1): Paths {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const paths = emptyPaths(n);
  const stack = [0];
  for (let i = 0; i < n; i++) {
    while (stack.length > 1 && (below(100) < 45 || stack.length > 60)) stack.pop();
    paths.parent[i] = i ? (stack[stack.length - 1] ?? 0) : NONE;
    paths.region[i] = i ? 1 + below(regions - 1) : 0;
    paths.visits[i] = 1 + below(9);
    paths.excl[i] = below(1000);
    if (i) stack.push(i);
  }
  paths.incl.set(paths.excl);
  for (let i = n - 1; i > 0; i--) paths.incl[paths.parent[i]!]! += paths.incl[i]!;
  return paths;
}
