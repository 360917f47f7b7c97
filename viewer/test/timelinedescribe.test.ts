// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";
import type { Facts, Regions } from "../src/data/facts";
import { TILE } from "../src/timeline/cache";
import { Control } from "../src/timeline/control";
import { Overview, Stack, type TimelineData } from "../src/timeline/data";
import { describe as describeAt, leapOf } from "../src/timeline/describe";
import type { Sight } from "../src/timeline/sight";
import { callersOf, spokenOf } from "../src/timeline/under";

const whole = { begin: 0, end: 8 };
const NAMES = ["main", "MPI_Recv", "MPI_Send", "MPI_Mprobe", "MPI_Mrecv"];
const regions = { names: NAMES, qualnames: NAMES, groupOf: (region: number) => (region ? "MPI" : "__main__"), placeOf: (region: number) => (region ? "" : "a.py:3") } as unknown as Regions;
const facts = {
  duration: 8,
  processes: [{ rank: 0 }, { rank: 1 }],
  locations: [0, 1].map((process) => ({ process, name: "MainThread" })),
  has: { off_cpu: true },
} as unknown as Facts;

// main 0-8 calls MPI_Recv 1-3, MPI_Send 4-5, MPI_Mprobe 5-6 and MPI_Mrecv 6-6.5; it waits in 1-3
const stack = new Stack(
  parse(
    pack(
      { depth: 2, exact: true },
      {
        begin: Float64Array.of(0, 1, 4, 5, 6),
        end: Float64Array.of(8, 3, 5, 6, 6.5),
        depth: Uint32Array.of(0, 1, 1, 1, 1),
        region: Uint32Array.of(0, 1, 2, 3, 4),
        calls: Uint32Array.of(1, 1, 1, 1, 1),
        busy: Float32Array.of(1, 1, 1, 1, 1),
      },
    ),
  ),
);

function control(hidden = 0): Control {
  const overview = new Overview(0, 2, parse(pack({}, { location: new Uint32Array(0), bucket: new Uint32Array(0), region: new Uint32Array(0), share: new Float32Array(0), events: new Uint32Array(0), waiting: new Float32Array(0) })));
  overview.region.fill(0, 0, TILE).fill(1, TILE / 8, (TILE * 3) / 8);
  overview.share.fill(255);
  overview.waiting.fill(255, TILE / 8, (TILE * 3) / 8);
  const messages = parse<"messages">(
    pack(
      { hidden, comms: [] },
      {
        from: Uint32Array.of(1, 0, 1),
        to: Uint32Array.of(0, 1, 0),
        sent: Float64Array.of(2.5, 4.5, 5.5),
        received: Float64Array.of(3, 4.75, 6.5),
        bytes: Float64Array.of(100, 8, 8),
        tag: new Int32Array(3),
        comm: new Uint32Array(3),
      },
    ),
  );
  const made = new Control(facts, { whole, markers: [] } as unknown as TimelineData, [], undefined, undefined);
  made.width = 800 + made.left;
  made.toggle(0);
  const one = <T>(value: T) => ({ complete: true, pieces: [{ value, level: 0, ...whole, exact: true }] });
  made.answered({ overviews: new Map([["0", one(overview)]]), stacks: new Map([["0", one(stack)]]), crowds: new Map(), steps: new Map(), messages: one(messages) });
  return made;
}

const at = (lane: number, time: number) => ({ row: 0, lane, time });

describe("the details of a call", () => {
  it("have its time, how much of it the thread waited, and its callers", () => {
    const shown = describeAt(control(), facts, regions, at(1, 2))!;
    expect(shown).toMatchObject({ title: "MPI_Recv", region: 1 });
    expect(Object.fromEntries(shown.pairs)).toEqual({ on: "rank 0", begins: "1.000 s", takes: "2.00 s", ran: "0.0 %", waited: "100.0 % of the 2.00 s" });
    expect(shown.stack).toEqual([{ region: 0, calls: 1, path: [0] }, { region: 1, calls: 1, path: [0, 1] }]);
    expect(callersOf({ regions }, shown)).toEqual(["main"]);
    const caller = Object.fromEntries(describeAt(control(), facts, regions, at(0, 2))!.pairs);
    expect(caller).toMatchObject({ ran: "75.0 %", waited: "25.0 % of the 8.00 s", source: "a.py:3" });
  });
  it("have the bar and the stack of a closed row, and are spoken", () => {
    const made = control();
    const shown = describeAt(made, facts, regions, at(-1, 2))!;
    expect(Object.fromEntries(shown.pairs)).toMatchObject({ begins: "1.000 s", takes: "about 2.00 s", waited: "100.0 % of the 2.00 s" });
    expect(shown.stack?.map(({ region }) => region)).toEqual([0, 1]);
    made.focus = at(-1, 2);
    const leap = leapOf(made, facts, regions, made.focus);
    expect(spokenOf({ control: made, regions } as Sight, { shown, leap })).toMatch(/^rank 0: MPI_Recv, .*called by main, The call here ended when a message from rank 1 arrived: 100 B/);
  });
});

describe("a call of MPI", () => {
  it("leads to the sender of the message that ended it", () => {
    expect(leapOf(control(), facts, regions, at(1, 2))).toMatchObject({ title: "Go to the sender", location: 1, time: 2.5 });
    expect(leapOf(control(), facts, regions, at(-1, 2))).toMatchObject({ title: "Go to the sender", location: 1, time: 2.5 });
  });
  it("leads from a send to the receiver, and from a probe to the sender", () => {
    expect(leapOf(control(), facts, regions, at(1, 4.5))).toMatchObject({ title: "Go to the receiver", location: 1, time: 4.75 });
    expect(leapOf(control(), facts, regions, at(1, 5.5))).toMatchObject({ title: "Go to the sender", location: 1, time: 5.5 });
  });
  it("leads nowhere if messages are left out, and neither does another function", () => {
    expect(leapOf(control(1), facts, regions, at(1, 2))).toBeUndefined();
    expect(leapOf(control(), facts, regions, at(0, 2))).toBeUndefined();
  });
});
