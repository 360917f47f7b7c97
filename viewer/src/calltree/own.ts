// SPDX-License-Identifier: BSD-3-Clause
// The call tree of own functions alone: the numbers of other code count for the own function that led to it.
import { NONE, PairMap, type Paths, ROOT_REGION, arranged, emptyPaths } from "./paths";

/** own: 1 for each region of own code. What no own function led to is a row of the root's region; sums of small paths stay, below the own
 * function that led to them. Visits are those of own functions. */
export function ownPaths(tree: Paths, own: ArrayLike<number>): Paths {
  const numbers = new PairMap(); // pairs of the caller's number + 1 (0: nobody) and the region
  const of = new Uint32Array(tree.count); // for each row the number of the own function that it counts for
  for (let row = 0; row < tree.count; row++) {
    const region = tree.region[row]!;
    const up = tree.parent[row] === NONE ? NONE : of[tree.parent[row]!]!;
    // the root's row may be the caller of nothing: an own function that other code started is an outermost one
    const caller = up === NONE || numbers.secondOf(up) === ROOT_REGION ? 0 : up + 1;
    if (region === NONE || own[region] === 1) of[row] = numbers.add(caller, region);
    else of[row] = caller ? up : numbers.add(0, ROOT_REGION);
  }
  const out = emptyPaths(numbers.size, tree.base !== undefined);
  for (let at = 0; at < out.count; at++) {
    out.parent[at] = numbers.firstOf(at) ? numbers.firstOf(at) - 1 : NONE;
    out.region[at] = numbers.secondOf(at);
  }
  for (let row = 0; row < tree.count; row++) {
    const at = of[row]!;
    const itself = out.region[at] === tree.region[row];
    out.hidden[at]! += tree.hidden[row]!;
    out.excl[at]! += tree.excl[row]!;
    if (itself) out.visits[at]! += tree.visits[row]!;
    if (!tree.base || !out.base) continue;
    out.base.excl[at]! += tree.base.excl[row]!;
    if (itself) out.base.visits[at]! += tree.base.visits[row]!;
  }
  for (const numbersOf of [out, out.base]) {
    if (!numbersOf) continue;
    numbersOf.incl.set(numbersOf.excl);
    for (let at = out.count - 1; at >= 0; at--) if (out.parent[at] !== NONE) numbersOf.incl[out.parent[at]!]! += numbersOf.incl[at]!;
  }
  return arranged(out);
}
