// SPDX-License-Identifier: BSD-3-Clause
// The messages of MPI in a timeline. Messages with nearly the same ends are drawn as one line, so that drawing stays fast and readable.
import type { Columns } from "../data/columns";
import { locationLabel } from "../data/rows";
import type { Span } from "../data/timescale";
import { bytes, count } from "../data/units";
import type { Asked } from "./cache";
import type { Bundle, Bundles, Message, MessageTable, Picture } from "./picture";

const LINES = 3000; // maximum of lines; more are not readable
const GRID = 4; // px; ends that are nearer belong to one line
const COARSEST = 64; // px; the grid of the last attempt to have at most LINES
const STUB = 6; // px; length of the line of a message without receive
const ARROWS = 120; // lines up to which arrow heads are drawn
const WIDEST = 7; // px
const NEAR = 4; // px; distance of the pointer from the edge of a line

type Tiles = Asked<Columns<"messages">> | undefined;

function tableOf(c: Columns<"messages">): MessageTable {
  return { from: c.get("from"), to: c.get("to"), sent: c.get("sent"), received: c.get("received"), bytes: c.get("bytes"), tag: c.get("tag") };
}

function messageIn(t: MessageTable, i: number): Message {
  return { from: t.from[i]!, to: t.to[i]!, sent: t.sent[i]!, received: t.received[i]!, bytes: t.bytes[i]!, tag: t.tag[i]! };
}

/** Calls see() once for each message that is under way in the span. Tiles overlap: a message belongs to the tile in which it was sent, or, if
 * it was sent before all tiles, to the first one. Of overlapping tiles it belongs to the last one, which is the finest. */
export function eachMessage(asked: Tiles, span: Span, see: (table: MessageTable, i: number) => void): void {
  const pieces = asked?.pieces ?? [];
  const start = Math.min(...pieces.map((piece) => piece.begin));
  const until = Math.max(...pieces.map((piece) => piece.end));
  pieces.forEach(({ value, begin, end }, k) => {
    const later = pieces.slice(k + 1).filter((other) => other.begin < end && other.end > begin);
    const table = tableOf(value);
    const { sent, received } = table;
    for (let i = 0; i < sent.length; i++) {
      const at = Math.max(sent[i]!, start);
      if (at < begin || (at >= end && end < until) || sent[i]! > span.end) continue;
      // a message without receive has NaN, which no comparison excludes
      if (received[i]! < span.begin || later.some((other) => at >= other.begin && at < other.end)) continue;
      see(table, i);
    }
  });
}

/** The messages that the server left out. */
export function leftOut(asked: Tiles): number {
  const tiles = new Set(asked?.pieces.map((piece) => piece.value));
  return [...tiles].reduce((sum, columns) => sum + columns.meta.hidden, 0);
}

/** Lines between the same rows whose ends are in the same cell of a grid become one. Its ends are sums until all are known. */
class Grid {
  private readonly found = new Map<number, Bundle>();
  private readonly cells: number;

  constructor(
    private readonly size: number, // px
    private readonly width: number,
    private readonly rows: number,
  ) {
    this.cells = Math.ceil((3 * width) / size) + 1; // ends outside of the picture are in the first or last cell
  }

  private cell(x: number): number {
    return Math.min(Math.max(Math.round((x + this.width) / this.size), 0), this.cells - 1);
  }
  /** The bundle of a line; undefined: it is the first one. */
  private at(from: number, to: number, x0: number, x1: number): [number, Bundle | undefined] {
    const key = ((from * (this.rows + 1) + to) * this.cells + this.cell(x0)) * this.cells + this.cell(x1);
    return [key, this.found.get(key)];
  }

  /** Adds a message; to: the row, or for a message without receive the number of rows. make: called for the first of a line. */
  message(from: number, to: number, x0: number, x1: number, table: MessageTable, i: number, make: () => Bundle): void {
    const [key, known] = this.at(from, to, x0, x1);
    if (!known) {
      this.found.set(key, make());
      return;
    }
    known.x0 += x0;
    known.x1 += x1;
    known.count++;
    known.bytes += table.bytes[i]!;
    known.sent = Math.min(known.sent, table.sent[i]!);
    known.received = Math.max(known.received, table.received[i]!);
  }

  bundle(line: Bundle): void {
    const [key, known] = this.at(line.from, Number.isNaN(line.received) ? this.rows : line.to, line.x0 / line.count, line.x1 / line.count);
    if (!known) {
      this.found.set(key, line);
      return;
    }
    known.x0 += line.x0;
    known.x1 += line.x1;
    known.count += line.count;
    known.bytes += line.bytes;
    known.sent = Math.min(known.sent, line.sent);
    known.received = Math.max(known.received, line.received);
  }

  get lines(): Bundle[] {
    return [...this.found.values()];
  }
}

/** The visible messages as lines. */
export function bundlesOf(p: Picture): Bundles {
  const rows = Int32Array.from(p.facts.locations, (_, location) => p.rowOf(location));
  const middles = Float64Array.from(p.layout.rows, (_, row) => p.top + p.layout.tops[row]! - p.scroll + p.layout.row / 2);
  const all = p.layout.rows.length;
  let grid = new Grid(GRID, p.width, all);
  eachMessage(p.messages, p.scale.span, (table, i) => {
    const [from, to] = [rows[table.from[i]!] ?? -1, rows[table.to[i]!] ?? -1];
    if (from < 0 || to < 0 || (from === to && table.from[i] !== table.to[i])) return;
    const [sent, received] = [table.sent[i]!, table.received[i]!];
    const lost = Number.isNaN(received);
    const [y0, y1] = [middles[from]!, middles[lost ? from : to]!];
    if (Math.max(y0, y1) < p.top || Math.min(y0, y1) > p.height) return;
    const x0 = p.left + p.scale.x(sent);
    const x1 = lost ? x0 + STUB : p.left + p.scale.x(received);
    grid.message(from, lost ? all : to, x0, x1, table, i, () => ({ x0, y0, x1, y1, from, to, count: 1, bytes: table.bytes[i]!, sent, received, table, index: i }));
  });
  let { lines } = grid;
  for (let size = 2 * GRID; lines.length > LINES && size <= COARSEST; size *= 2) {
    grid = new Grid(size, p.width, all);
    for (const line of lines) grid.bundle(line);
    lines = grid.lines;
  }
  let hidden = leftOut(p.messages);
  if (lines.length > LINES) {
    lines.sort((a, b) => b.count - a.count);
    for (const line of lines.splice(LINES)) hidden += line.count;
  }
  for (const line of lines) {
    line.x0 /= line.count;
    line.x1 /= line.count;
  }
  return { lines, hidden };
}

/** Whether two pictures have the same messages at the same positions. */
export function samePlaces(a: Picture, b: Picture): boolean {
  const [p, q] = [a.messages?.pieces ?? [], b.messages?.pieces ?? []];
  return (
    a.layout === b.layout &&
    a.scroll === b.scroll &&
    a.top === b.top &&
    a.left === b.left &&
    a.width === b.width &&
    a.height === b.height &&
    a.scale.span.begin === b.scale.span.begin &&
    a.scale.span.end === b.scale.span.end &&
    p.length === q.length &&
    p.every((piece, i) => piece.value === q[i]!.value && piece.begin === q[i]!.begin && piece.end === q[i]!.end)
  );
}

/** px; width of a line, by the number of its messages. */
export function widthOf(messages: number): number {
  return Math.min(1 + Math.round(2 * Math.log10(messages) * 2) / 2, WIDEST);
}

function arrow(pen: CanvasRenderingContext2D, { x0, y0, x1, y1, count: n }: Bundle): void {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  const long = 6 + widthOf(n);
  pen.beginPath();
  pen.moveTo(x1, y1);
  for (const side of [-0.35, 0.35]) pen.lineTo(x1 - long * Math.cos(angle + side), y1 - long * Math.sin(angle + side));
  pen.fill();
}

/** Draws all lines, the more transparent the more there are, with one stroke for each width; and those of `strong` in another colour. */
export function paintMessages(p: Picture, lines: readonly Bundle[], strong: readonly Bundle[]): void {
  const { pen, inks } = p;
  const widths = new Map<number, Bundle[]>();
  for (const line of lines) {
    const known = widths.get(widthOf(line.count));
    if (known) known.push(line);
    else widths.set(widthOf(line.count), [line]);
  }
  pen.strokeStyle = inks.ink;
  pen.fillStyle = inks.ink;
  pen.globalAlpha = Math.min(Math.max(60 / Math.max(lines.length, 1), 0.18), 0.6);
  for (const [width, of] of widths) {
    pen.lineWidth = width;
    pen.beginPath();
    for (const { x0, y0, x1, y1 } of of) {
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
    }
    pen.stroke();
  }
  if (lines.length <= ARROWS) for (const line of lines) arrow(pen, line);
  pen.globalAlpha = 1;
  pen.strokeStyle = inks.accent;
  pen.fillStyle = inks.accent;
  for (const line of strong) {
    pen.lineWidth = Math.max(widthOf(line.count), 2);
    pen.beginPath();
    pen.moveTo(line.x0, line.y0);
    pen.lineTo(line.x1, line.y1);
    pen.stroke();
    arrow(pen, line);
  }
}

/** The line of one message, to emphasize it; undefined: an end has no row. */
export function lineOf(p: Picture, message: Message): Bundle | undefined {
  const [a, b] = [p.rowOf(message.from), p.rowOf(message.to)];
  if (a < 0 || b < 0 || Number.isNaN(message.received)) return undefined;
  const y = (row: number): number => p.top + p.layout.tops[row]! - p.scroll + p.layout.row / 2;
  const x = (time: number): number => p.left + p.scale.x(time);
  const { sent, received } = message;
  return { x0: x(sent), y0: y(a), x1: x(received), y1: y(b), from: a, to: b, count: 1, bytes: message.bytes, sent, received, table: undefined, index: 0 };
}

/** The nearest line within a few pixels. */
export function bundleAt(lines: readonly Bundle[], x: number, y: number): Bundle | undefined {
  let best: Bundle | undefined;
  let least = NEAR;
  for (const line of lines) {
    const [dx, dy] = [line.x1 - line.x0, line.y1 - line.y0];
    const along = Math.min(Math.max(((x - line.x0) * dx + (y - line.y0) * dy) / Math.max(dx * dx + dy * dy, 1e-9), 0), 1);
    const away = Math.hypot(x - line.x0 - along * dx, y - line.y0 - along * dy) - widthOf(line.count) / 2;
    if (away < least) [best, least] = [line, away];
  }
  return best;
}

/** The only message of a line; undefined: there are several. */
export function onlyOf({ count: n, table, index }: Bundle): Message | undefined {
  return n === 1 && table ? messageIn(table, index) : undefined;
}

/** "12 messages from rank 0 to rank 1, 96 kB" */
export function bundleTitle(p: Pick<Picture, "facts" | "layout">, line: Bundle): string {
  const only = onlyOf(line);
  const name = (row: number): string => p.layout.rows[row]?.label ?? "";
  const [from, to] = only ? [locationLabel(p.facts, only.from), locationLabel(p.facts, only.to)] : [name(line.from), name(line.to)];
  return `${line.count > 1 ? `${count(line.count)} messages` : "message"} from ${from} to ${to}, ${bytes(line.bytes)}`;
}

const SLACK = 2e-6; // s; a call of MPI ends a little after the message was received

/** Of the messages to a location that are under way in the span, the one that is received first, or last; of several at the same time the
 * one that was sent last. */
function pick(asked: Tiles, location: number, span: Span, which: "first" | "last", wanted: (sent: number, received: number) => boolean): Message | undefined {
  let best: Message | undefined;
  eachMessage(asked, span, (table, i) => {
    const [sent, received] = [table.sent[i]!, table.received[i]!];
    if (table.to[i] !== location || !wanted(sent, received)) return;
    const better = !best || (which === "first" ? received < best.received : received > best.received) || (received === best.received && sent > best.sent);
    if (better) best = messageIn(table, i);
  });
  return best;
}

/** The message whose receive ended a call of a location. since: of several calls in the span, the one that was current at this time. */
export function receivedIn(asked: Tiles, location: number, call: Span, since?: number): Message | undefined {
  const from = Math.max(call.begin, since ?? call.begin);
  return pick(asked, location, call, since === undefined ? "last" : "first", (_, received) => received >= from && received <= call.end + SLACK);
}

/** The message that a call of MPI_Probe found: it was sent before the call ended, and is received next. */
export function probedBy(asked: Tiles, location: number, call: Span): Message | undefined {
  return pick(asked, location, call, "first", (sent, received) => sent <= call.end && received >= call.end - SLACK);
}

/** The first message that a location sent in the span, and how many it sent there. */
export function sentIn(asked: Tiles, location: number, call: Span): { first: Message; count: number } | undefined {
  let found: { first: Message; count: number } | undefined;
  eachMessage(asked, call, (table, i) => {
    if (table.from[i] !== location || table.sent[i]! < call.begin || table.sent[i]! > call.end) return;
    if (found) found.count++;
    else found = { first: messageIn(table, i), count: 1 };
  });
  return found;
}

/** All visible messages, for tests. */
export function messagesOf(p: Picture): Message[] {
  const found: Message[] = [];
  eachMessage(p.messages, p.scale.span, (table, i) => {
    const message = messageIn(table, i);
    const [a, b] = [p.rowOf(message.from), p.rowOf(message.to)];
    if (a >= 0 && b >= 0 && (a !== b || message.from === message.to)) found.push(message);
  });
  return found;
}
