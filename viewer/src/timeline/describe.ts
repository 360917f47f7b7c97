// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of the elements of a timeline: calls, cells, tasks, markers, counters, messages.
import { NONE } from "../data/columns";
import { type Facts, MPI, type Regions } from "../data/facts";
import { BLOCK, type Crowd, locationLabel } from "../data/rows";
import { length, moment, type Span } from "../data/timescale";
import { bytes, count, percent, time } from "../data/units";
import { type Series, valueAt } from "./charts";
import type { Control, Focus } from "./control";
import { type Block, blockAt, type Frame, stackAt, stepAt, waitedIn } from "./data";
import { bundleTitle, leftOut, onlyOf, probedBy, receivedIn, sentIn } from "./messages";
import type { Bundle, Leap, Message, Picture, Shown } from "./picture";

export const SOURCE = "source"; // the name of the pair with file and line
const COUNTED = 12; // maximum of threads whose counter value is shown
const WHOLE = 0.995; // share of a cell above which a function has it alone
const PROBES = /^MPI_I?M?probe$/i; // calls that end when a message is there, before it is received
const SENDS = /^MPI_[A-Z]?[a-z]?send(_init)?$/; // calls that end without a message from another rank
type Pair = [string, string];

function place(control: Control, at: number): string {
  return moment(at, length(control.span) / 1000);
}

function ofTask(control: Control, index: number, at: Focus): Shown {
  const task = control.tasks[index]!;
  const inside = at.time >= task.begin && at.time <= task.end;
  const step = inside ? stepAt(control.answers.steps.get(String(Math.floor(task.id / BLOCK))), task.id, at.time, control.scale.pixel) : undefined;
  const here: Pair[] = !inside
    ? []
    : step
      ? [[step.steps > 1 ? `here ${count(step.steps)} steps` : "here it runs", `${time((step.end - step.begin) * step.busy)} from ${place(control, step.begin)} on`]]
      : [["here", "it waits"]];
  return {
    title: task.name || `task ${task.id}`,
    pairs: [
      ["coroutine", task.region ?? "not known"],
      ["begins", place(control, task.begin)],
      ["lives", time(task.end - task.begin)],
      ["runs", time(task.running)],
      ["waits", time(task.waiting)],
      ["ended", task.state],
      ...here,
    ],
  };
}

/** How much of a span its location ran and waited. */
function shares(control: Control, facts: Facts, location: number, span: Span): Pair[] {
  const { waited, known } = waitedIn(control.overview(location), location, span, control.data.whole);
  if (!known || !(facts.has.off_cpu || waited)) return [];
  const inside = known > 0.99 * length(span) ? time(length(span)) : `${time(known)} in view`;
  return [
    ["ran", percent(1 - waited / known)],
    ["waited", `${percent(waited / known)} of the ${inside}`],
  ];
}

function source(regions: Regions, region: number): Pair[] {
  const found = regions.placeOf(region);
  return found ? [[SOURCE, found]] : [];
}

function ofBlock(control: Control, facts: Facts, regions: Regions, at: Focus, location: number, block: Block): Shown {
  const name = regions.names[block.region] ?? "";
  const many = block.calls > 1;
  const stack = stackAt(control.stacks(location), at.lane, many ? at.time : (block.begin + block.end) / 2);
  return {
    title: many ? `${count(block.calls)} calls, most of their time in ${name}` : name,
    pairs: [
      ["on", locationLabel(facts, location)],
      ["begins", place(control, block.begin)],
      [many ? "they span" : "takes", time(block.end - block.begin)],
      ...(many ? [["covered", percent(block.busy)] as Pair] : []),
      ...shares(control, facts, location, block),
      ...source(regions, block.region),
    ],
    region: block.region,
    stack: [...stack, { region: block.region, calls: block.calls, path: control.path(at, block) }],
  };
}

/** The calls at a time from the outermost one to the innermost one of a region; undefined: they are not known. */
function stackOf(control: Control, location: number, region: number, time: number): Frame[] | undefined {
  const asked = control.stacks(location);
  for (let depth = control.depth(location) - 1; depth >= 0; depth--) {
    const block = blockAt(asked, depth, time, 0);
    if (block?.region !== region) continue;
    const above = stackAt(asked, depth, time);
    const path = above.length ? above[above.length - 1]!.path : [];
    return [...above, { region, calls: block.calls, path: path && block.calls === 1 ? [...path, region] : undefined }];
  }
  return undefined;
}

const some = (n: number): string => (n < 10 ? String(Math.round(n * 100) / 100) : count(Math.round(n)));

function ofCrowd(control: Control, regions: Regions, at: Focus, label: string, crowd: Crowd): Shown {
  const cell = control.crowd(at);
  const where: Pair[] = [["on", label], ["at", place(control, at.time)]];
  if (!cell || cell.running + cell.waiting === 0) return { title: "nothing recorded here", pairs: where };
  return {
    title: cell.region === NONE ? label : (regions.names[cell.region] ?? ""),
    pairs: [
      ...where,
      [`of ${count(crowd.locations.length)} threads, in the mean of ${time(cell.end - cell.begin)}`, `${some(cell.running)} ran, ${some(cell.waiting)} waited`],
    ],
    ...(cell.region === NONE ? {} : { region: cell.region }),
  };
}

/** The description of a point; undefined: nothing is there. */
export function describe(control: Control, facts: Facts, regions: Regions, at: Focus): Shown | undefined {
  const row = control.layout.rows[at.row];
  if (!row) return undefined;
  if (row.kind === "task") return ofTask(control, row.task, at);
  if (row.crowd) return ofCrowd(control, regions, at, row.label, row.crowd);
  const { location } = row;
  const near = control.scale.pixel * 5;
  const marker = at.lane < 0 && control.data.markers.find((m) => control.rowOf(m.location) === at.row && Math.abs(m.time - at.time) <= near);
  if (marker) return { title: `marker ${marker.text}`, pairs: [["at", place(control, marker.time)], ["on", locationLabel(facts, marker.location)]] };
  const block = control.block(at);
  if (block) return ofBlock(control, facts, regions, at, location, block);
  if (at.lane >= 0) return undefined;
  const cell = control.cell(at);
  const bar = control.bar(at);
  const where: Pair = ["on", locationLabel(facts, location)];
  if (!cell || !bar) return { title: "nothing recorded here", pairs: [where, ["at", place(control, at.time)]] };
  return {
    title: regions.names[cell.region] ?? "",
    pairs: [
      where,
      ["begins", place(control, bar.begin)],
      ["takes", `about ${time(length(bar))}`],
      ...shares(control, facts, location, bar),
      // where several functions share a cell
      ...(cell.share < WHOLE ? [["innermost", `for ${percent(cell.share)} of the ${time(cell.end - cell.begin)} here`] as Pair] : []),
      ...(cell.events > 0 ? [["events", `${count(cell.events)} here`] as Pair] : []),
      ...source(regions, cell.region),
    ],
    region: cell.region,
    stack: stackOf(control, location, cell.region, at.time),
  };
}

/** The counter's value in each thread that sets it. */
export function ofCounter(control: Control, facts: Facts, series: Series, at: number): Shown {
  const pairs: Pair[] = [["at", place(control, at)]];
  for (const [location, points] of series.of) {
    const point = valueAt(points, at);
    if (pairs.length > COUNTED || !point) continue;
    const spread = point.max > point.min ? ` (${series.show(point.min)} to ${series.show(point.max)})` : "";
    pairs.push([location === NONE ? "all threads" : locationLabel(facts, location), `${series.show(point.mean)}${spread}`]);
  }
  return { title: series.title, pairs };
}

/** A message, or several that are drawn as one line. */
export function ofBundle(control: Control, p: Picture, line: Bundle): Shown {
  const only = onlyOf(line);
  const title = bundleTitle(p, line);
  if (!only)
    return {
      title,
      pairs: [
        ["the first sent", place(control, line.sent)],
        ["the last received", Number.isNaN(line.received) ? "no receive was found" : place(control, line.received)],
        ["bytes of all", bytes(line.bytes)],
      ],
    };
  return {
    title,
    pairs: [
      ["sent", place(control, only.sent)],
      ["received", Number.isNaN(only.received) ? "no receive was found" : place(control, only.received)],
      ...(Number.isNaN(only.received) ? [] : [["on its way", time(only.received - only.sent)] as Pair]),
      ["tag", String(only.tag)],
    ],
  };
}

function toSender(control: Control, facts: Facts, message: Message, one: boolean): Leap {
  const who = locationLabel(facts, message.from);
  const text = `${one ? "It" : "The call here"} ended when a message from ${who} arrived: ${bytes(message.bytes)}, sent at ${place(control, message.sent)}, ${time(message.received - message.sent)} before`;
  return { text, title: "Go to the sender", message, location: message.from, time: message.sent };
}

function toReceiver(control: Control, facts: Facts, message: Message, sent: number): Leap | undefined {
  if (Number.isNaN(message.received)) return undefined;
  const text = `It sent ${sent > 1 ? `${count(sent)} messages, the first` : "a message"} to ${locationLabel(facts, message.to)}, which arrived there at ${place(control, message.received)}`;
  return { text, title: "Go to the receiver", message, location: message.to, time: message.received };
}

/** For a call of MPI at a point the message that it waited for, or sent; undefined: none in view, or not all messages are known. */
export function leapOf(control: Control, facts: Facts, regions: Regions, at: Focus): Leap | undefined {
  const row = control.layout.rows[at.row];
  const messages = control.answers.messages;
  if (!messages || leftOut(messages) > 0 || row?.kind !== "thread") return undefined;
  const block = control.block(at);
  const region = block?.region ?? (at.lane < 0 ? control.cell(at)?.region : undefined);
  const call = block ?? (at.lane < 0 ? control.bar(at) : undefined);
  if (!call || region === undefined || regions.groupOf(region) !== MPI) return undefined;
  const one = block?.calls === 1;
  const name = regions.names[region] ?? "";
  const received = SENDS.test(name) ? undefined : PROBES.test(name) ? probedBy(messages, row.location, call) : receivedIn(messages, row.location, call, one ? undefined : at.time);
  if (received) return toSender(control, facts, received, one);
  const sent = sentIn(messages, row.location, call);
  return sent && toReceiver(control, facts, sent.first, sent.count);
}
