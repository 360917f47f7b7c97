// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { type Columns, pack, parse } from "../src/data/columns";
import { Scale } from "../src/data/timescale";
import type { Asked, Piece } from "../src/timeline/cache";
import { bundleAt, bundlesOf, bundleTitle, eachMessage, leftOut, messagesOf, onlyOf, probedBy, receivedIn, sentIn, widthOf } from "../src/timeline/messages";
import type { Picture } from "../src/timeline/picture";

type Row = [from: number, to: number, sent: number, received: number, bytes?: number];

function tile(rows: readonly Row[], hidden = 0): Columns<"messages"> {
  const column = (i: number) => rows.map((row) => row[i] ?? 8);
  return parse<"messages">(
    pack(
      { hidden, comms: [] },
      {
        from: Uint32Array.from(column(0)),
        to: Uint32Array.from(column(1)),
        sent: Float64Array.from(column(2)),
        received: Float64Array.from(column(3)),
        bytes: Float64Array.from(column(4)),
        tag: Int32Array.from(rows.map((_, i) => i)),
        comm: new Uint32Array(rows.length),
      },
    ),
  );
}

const piece = (value: Columns<"messages">, begin: number, end: number): Piece<Columns<"messages">> => ({ value, level: 0, begin, end, exact: true });
const asked = (...pieces: Piece<Columns<"messages">>[]): Asked<Columns<"messages">> => ({ pieces, complete: true });

/** A picture of 1000 pixels for 10 seconds, with rows of 40 pixels for the given number of ranks. */
function picture(messages: Asked<Columns<"messages">>, ranks = 3): Picture {
  return {
    messages,
    scale: new Scale({ begin: 0, end: 10 }, 1000),
    left: 0,
    top: 0,
    width: 1000,
    height: 40 * ranks,
    scroll: 0,
    facts: { locations: Array.from({ length: ranks }, (_, process) => ({ process, name: "MainThread" })), processes: Array.from({ length: ranks }, (_, rank) => ({ rank })) },
    layout: { row: 40, rows: Array.from({ length: ranks }, (_, rank) => ({ label: `rank ${rank}` })), tops: Float64Array.from({ length: ranks + 1 }, (_, i) => 40 * i) },
    rowOf: (location: number) => location,
  } as unknown as Picture;
}

describe("messages of several tiles", () => {
  // the first message is under way in both tiles; both tiles have it
  const whole: Row[] = [[0, 1, 4, 6], [0, 1, 4.5, 4.6], [1, 0, 7, 8]];
  const seen = (messages: Asked<Columns<"messages">>, span = { begin: 0, end: 10 }): number[] => {
    const found: number[] = [];
    eachMessage(messages, span, (table, i) => found.push(table.sent[i]!));
    return found;
  };
  it("are each seen once", () => {
    expect(seen(asked(piece(tile(whole.slice(0, 2)), 0, 5), piece(tile([whole[0]!, whole[2]!]), 5, 10)))).toEqual([4, 4.5, 7]);
  });
  it("are seen once if one tile stands for several", () => {
    const all = tile(whole, 3);
    const twice = asked(piece(all, 0, 5), piece(all, 5, 10));
    expect(seen(twice)).toEqual([4, 4.5, 7]);
    expect(leftOut(twice)).toBe(3);
  });
  it("are those of the finest tile where tiles overlap", () => {
    expect(seen(asked(piece(tile(whole), 0, 10), piece(tile([whole[0]!, whole[2]!]), 5, 10)))).toEqual([4, 4.5, 7]);
  });
  it("are under way in the span, also if they were sent before all tiles", () => {
    expect(seen(asked(piece(tile([whole[0]!, whole[2]!]), 5, 10)), { begin: 5, end: 6.5 })).toEqual([4]);
    expect(seen(asked(piece(tile(whole), 0, 10)), { begin: 6.5, end: 7.5 })).toEqual([7]);
  });
});

describe("lines of messages", () => {
  it("bundle messages between the same rows with nearly the same ends", () => {
    const p = picture(asked(piece(tile([[0, 1, 1, 2, 10], [0, 1, 1.001, 2.001, 20], [0, 1, 5, 6], [1, 0, 1, 2], [0, 2, 1, 2]]), 0, 10)));
    const { lines, hidden } = bundlesOf(p);
    expect(lines.map((line) => [line.from, line.to, line.count, line.bytes])).toEqual([[0, 1, 2, 30], [0, 1, 1, 8], [1, 0, 1, 8], [0, 2, 1, 8]]);
    expect(lines[0]).toMatchObject({ y0: 20, y1: 60, sent: 1, received: 2.001 });
    expect(lines[0]!.x0).toBeCloseTo(100.05);
    expect(hidden).toBe(0);
    expect(onlyOf(lines[0]!)).toBeUndefined();
    expect(onlyOf(lines[1]!)).toMatchObject({ from: 0, to: 1, sent: 5, received: 6, tag: 2 });
    expect(bundleTitle(p, lines[0]!)).toBe("2 messages from rank 0 to rank 1, 30 B");
    expect(messagesOf(p)).toHaveLength(5);
  });
  it("have a message without receive as a short line at its sender", () => {
    const { lines } = bundlesOf(picture(asked(piece(tile([[0, 1, 1, Number.NaN], [0, 1, 1, Number.NaN]]), 0, 10))));
    expect(lines).toMatchObject([{ x0: 100, x1: 106, y0: 20, y1: 20, count: 2 }]);
  });
  it("are few, and have all of many messages", () => {
    const ranks = 16;
    const rows: Row[] = Array.from({ length: 100_000 }, (_, i) => [i % ranks, (i * 7 + 1) % ranks, (i / 100_000) * 9.5, (i / 100_000) * 9.5 + (i % 97) / 200, 2]);
    const { lines, hidden } = bundlesOf(picture(asked(piece(tile(rows.filter(([from, to]) => from !== to)), 0, 10)), ranks));
    const drawn = lines.reduce((sum, line) => sum + line.count, 0);
    expect(lines.length).toBeLessThanOrEqual(3000);
    expect(drawn + hidden).toBe(rows.filter(([from, to]) => from !== to).length);
    expect(lines.reduce((sum, line) => sum + line.bytes, 0)).toBe(2 * drawn);
  });
  it("are wider with more messages, up to a limit", () => {
    expect([1, 10, 100, 1e9].map(widthOf)).toEqual([1, 3, 5, 7]);
  });
  it("are found near the pointer", () => {
    const { lines } = bundlesOf(picture(asked(piece(tile([[0, 1, 1, 2], [0, 1, 5, 6]]), 0, 10))));
    expect(bundleAt(lines, 151, 40)).toBe(lines[0]);
    expect(bundleAt(lines, 550, 40)).toBe(lines[1]);
    expect(bundleAt(lines, 300, 40)).toBeUndefined();
  });
});

describe("the message that ended a call", () => {
  const messages = asked(piece(tile([[0, 1, 1, 3], [2, 1, 2, 3], [0, 2, 2, 4], [0, 1, 2.5, 5], [1, 0, 3.5, 4.5]]), 0, 10));
  it("is the last one that was received in it, of several the one sent last", () => {
    expect(receivedIn(messages, 1, { begin: 0.5, end: 3 })).toMatchObject({ from: 2, sent: 2 });
    expect(receivedIn(messages, 1, { begin: 0.5, end: 5 })).toMatchObject({ from: 0, sent: 2.5 });
    expect(receivedIn(messages, 1, { begin: 3.1, end: 4.9 })).toBeUndefined();
  });
  it("is the first one from a time on, if there are several calls", () => {
    expect(receivedIn(messages, 1, { begin: 0.5, end: 5 }, 2)).toMatchObject({ from: 2, received: 3 });
    expect(receivedIn(messages, 1, { begin: 0.5, end: 5 }, 4)).toMatchObject({ from: 0, received: 5 });
  });
  it("was sent before the end of a probe, and is received after it", () => {
    expect(probedBy(messages, 1, { begin: 3.5, end: 4 })).toMatchObject({ sent: 2.5, received: 5 });
    expect(probedBy(messages, 2, { begin: 0.5, end: 1.5 })).toBeUndefined();
  });
  it("leads from the sender to the first receiver", () => {
    expect(sentIn(messages, 0, { begin: 2, end: 3 })).toMatchObject({ count: 2, first: { to: 2, received: 4 } });
    expect(sentIn(messages, 0, { begin: 6, end: 7 })).toBeUndefined();
  });
});
