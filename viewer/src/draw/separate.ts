// SPDX-License-Identifier: BSD-3-Clause
// Moves points on a line as little as it takes to keep distances (Dwyer, Marriott and Stuckey, "Fast Node Overlap Removal",
// 2005, there "satisfy_VPSC"): what is pushed together moves on as one block, to the mean of where its points want to be.

/** `right` stays at least `gap` right of `left`. */
export interface Gap {
  readonly left: number;
  readonly right: number;
  readonly gap: number;
}

/** Points so that each comes after all that must be left of it. The gaps make no circle. */
function ordered(n: number, gaps: readonly Gap[], from: readonly number[][]): number[] {
  const open = new Uint32Array(n);
  const out: number[][] = Array.from({ length: n }, () => []);
  for (const { left, right } of gaps) {
    open[right]!++;
    out[left]!.push(right);
  }
  const order = Array.from(open.keys()).filter((v) => !from[v]!.length);
  for (let i = 0; i < order.length; i++) for (const to of out[order[i]!]!) if (--open[to]! === 0) order.push(to);
  return order;
}

export function separate(want: Float64Array, weight: Float64Array, gaps: readonly Gap[]): Float64Array {
  const n = want.length;
  const into: number[][] = Array.from({ length: n }, () => []); // gaps by their right end
  gaps.forEach(({ right }, k) => into[right]!.push(k));
  const block = Int32Array.from(want.keys());
  const members: number[][] = Array.from(want, (_, v) => [v]);
  const offset = new Float64Array(n); // within the block
  const place = Float64Array.from(want); // of blocks
  const mass = Float64Array.from(weight);
  const at = (v: number): number => place[block[v]!]! + offset[v]!;

  const open = into.map((gapsHere) => [...gapsHere]); // of blocks: gaps that may have their left end in another one
  const worst = (b: number): number => {
    let found = -1;
    let most = 1e-6;
    let kept = 0;
    const here = place[b]!;
    const list = open[b]!;
    for (const k of list) {
      const { left, right, gap } = gaps[k]!;
      if (block[left] === b) continue; // for good: blocks only grow
      list[kept++] = k;
      const short = at(left) + gap - here - offset[right]!;
      if (short > most) {
        most = short;
        found = k;
      }
    }
    list.length = kept;
    return found;
  };
  const join = (k: number): number => {
    const { left, right, gap } = gaps[k]!;
    const [a, b] = [block[left]!, block[right]!];
    const shift = offset[left]! + gap - offset[right]!; // of b's members in a
    const [to, from, by] = members[a]!.length >= members[b]!.length ? [a, b, shift] : [b, a, -shift];
    place[to] = (place[to]! * mass[to]! + (place[from]! - by) * mass[from]!) / (mass[to]! + mass[from]!);
    mass[to]! += mass[from]!;
    for (const v of members[from]!) {
      block[v] = to;
      offset[v]! += by;
      members[to]!.push(v);
    }
    for (const k of open[from]!) open[to]!.push(k);
    members[from] = open[from] = [];
    return to;
  };

  for (const v of ordered(n, gaps, into)) {
    let b = block[v]!;
    for (let k = worst(b); k >= 0; k = worst(b)) b = join(k);
  }
  return Float64Array.from(want, (_, v) => at(v));
}
