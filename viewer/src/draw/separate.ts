// SPDX-License-Identifier: BSD-3-Clause
// Moves points on a line as little as possible to satisfy minimum distances (Dwyer, Marriott and Stuckey, "Fast Node Overlap Removal",
// 2005, "satisfy_VPSC"). Points in contact form a block, which moves to the mean of their desired positions.

/** `right` stays at least `gap` right of `left`. */
export interface Gap {
  readonly left: number;
  readonly right: number;
  readonly gap: number;
}

/** Topological order: each point after all points that must be left of it. The gaps have no cycle. */
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
  const into: number[][] = Array.from({ length: n }, () => []); // gaps by their right point
  gaps.forEach(({ right }, k) => into[right]!.push(k));
  const block = Int32Array.from(want.keys());
  const members: number[][] = Array.from(want, (_, v) => [v]);
  const offset = new Float64Array(n); // position within the block
  const place = Float64Array.from(want); // position of each block
  const mass = Float64Array.from(weight);
  const at = (v: number): number => place[block[v]!]! + offset[v]!;

  const open = into.map((gapsHere) => [...gapsHere]); // for each block: gaps whose left point may be in another block
  const worst = (b: number): number => {
    let found = -1;
    let most = 1e-6;
    let kept = 0;
    const here = place[b]!;
    const list = open[b]!;
    for (const k of list) {
      const { left, right, gap } = gaps[k]!;
      if (block[left] === b) continue; // never again relevant, as blocks only grow
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
    const shift = offset[left]! + gap - offset[right]!; // for the members of block b
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
