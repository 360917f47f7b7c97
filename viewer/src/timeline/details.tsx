// SPDX-License-Identifier: BSD-3-Clause
// Below a timeline: details of the element at the pointer or focus, and the functions of the selected range.
import type { Drawn } from "./picture";
import type { ComponentChildren } from "preact";
import { NONE } from "../data/columns";
import { css } from "../draw/colour";
import type { Facts, Regions } from "../data/facts";
import { useQuery, useSelection, useStore } from "../state/hooks";
import { useRegionColours } from "../state/colours";
import { BLOCK, locationLabel } from "../data/rows";
import { range } from "../state/store";
import { type Control, type Focus } from "./control";
import { type Series, valueAt } from "./charts";
import { stepAt } from "./data";
import { length, moment } from "../data/timescale";
import { bytes, count, percent, time } from "../data/units";
import type { Shown } from "./picture";

const COUNTED = 12; // maximum of threads whose counter value is shown
const TOP = 5; // functions of the selected range that are named

function place(control: Control, at: number): string {
  return moment(at, length(control.span) / 1000);
}

function ofTask(control: Control, index: number, at: Focus): Shown {
  const task = control.tasks[index]!;
  const inside = at.time >= task.begin && at.time <= task.end;
  const step = inside ? stepAt(control.answers.steps.get(String(Math.floor(task.id / BLOCK))), task.id, at.time, control.scale.pixel) : undefined;
  const here: [string, string][] = !inside
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

/** The description of a point; undefined: nothing is there. */
export function describe(control: Control, facts: Facts, regions: Regions, at: Focus): Shown | undefined {
  const row = control.layout.rows[at.row];
  if (!row) return undefined;
  if (row.kind === "task") return ofTask(control, row.task, at);
  const where: [string, string] = ["on", locationLabel(facts, row.location)];
  const near = control.scale.pixel * 5;
  const marker = at.lane < 0 && control.data.markers.find((m) => control.rowOf(m.location) === at.row && Math.abs(m.time - at.time) <= near);
  if (marker) return { title: `marker ${marker.text}`, pairs: [["at", place(control, marker.time)], ["on", locationLabel(facts, marker.location)]] };
  const block = control.block(at);
  const cell = control.cell(at);
  const waited: [string, string][] = cell && cell.waiting > 0 ? [["waited", `${percent(cell.waiting)} of the ${time(cell.end - cell.begin)} here`]] : [];
  if (block) {
    const name = regions.names[block.region] ?? "";
    const many = block.calls > 1;
    return {
      title: many ? `${count(block.calls)} calls, most of their time in ${name}` : name,
      pairs: [
        where,
        ["begins", place(control, block.begin)],
        [many ? "they span" : "takes", time(block.end - block.begin)],
        ...(many ? [["covered", percent(block.busy)] as [string, string]] : []),
        ...waited,
        ["depth", String(at.lane + 1)],
        ["source", regions.placeOf(block.region) || "not known"],
      ],
    };
  }
  if (at.lane >= 0) return undefined;
  if (!cell || cell.region === NONE) return { title: "nothing recorded here", pairs: [where, ["at", place(control, at.time)]] };
  return {
    title: regions.names[cell.region] ?? "",
    pairs: [
      where,
      ["at", place(control, cell.begin)],
      ["of", `${time(cell.end - cell.begin)} it was innermost for ${percent(cell.share)}`],
      ...waited,
      ["events", count(cell.events)],
      ["source", regions.placeOf(cell.region) || "not known"],
    ],
  };
}

/** The counter's value in each thread that sets it. */
export function ofCounter(control: Control, facts: Facts, series: Series, at: number): Shown {
  const pairs: [string, string][] = [["at", place(control, at)]];
  for (const [location, points] of series.of) {
    const point = valueAt(points, at);
    if (pairs.length > COUNTED || !point) continue;
    const spread = point.max > point.min ? ` (${series.show(point.min)} to ${series.show(point.max)})` : "";
    pairs.push([location === NONE ? "all threads" : locationLabel(facts, location), `${series.show(point.mean)}${spread}`]);
  }
  return { title: series.title, pairs };
}

export function ofMessage(control: Control, facts: Facts, message: Drawn): Shown {
  return {
    title: `message from ${locationLabel(facts, message.from)} to ${locationLabel(facts, message.to)}`,
    pairs: [
      ["sent", place(control, message.sent)],
      ["received", Number.isNaN(message.received) ? "no receive was found" : place(control, message.received)],
      ["on its way", time(message.received - message.sent)],
      ["size", bytes(message.bytes)],
      ["tag", String(message.tag)],
    ],
  };
}

/** The functions with the most running time in the selected range (exclusive time, if it is not split), which is also that of the other views. */
function InRange({ regions }: { regions: Regions }) {
  const store = useStore();
  const selection = useSelection();
  const colour = useRegionColours(regions);
  const flat = useQuery("flat", range(selection));
  if (selection.begin === undefined || selection.end === undefined) return null;
  const total = flat.data?.meta.total ?? 0;
  const split = flat.data?.has("running");
  const rows = flat.data ? Array.from(flat.data.get("region").subarray(0, TOP), (region, i) => [region, flat.data!.get(split ? "running" : "excl")[i]!] as const) : [];
  return (
    <section class="inrange" aria-label="The selected range">
      <b>
        {time(selection.end - selection.begin)} selected, from {moment(selection.begin, (selection.end - selection.begin) / 100)}
      </b>{" "}
      <span class="fine">{flat.problem ?? (flat.loading ? "reading…" : rows.length ? `${split ? "running" : "self"} time, here and in every other view` : "nothing ran")}</span>
      <ol>
        {rows.map(([region, excl]) => (
          <li key={region}>
            <button title={regions.names[region]} onClick={() => store.select({ region })}>
              <i style={{ background: css(colour(region)) }} />
              <span>{regions.qualnames[region] || regions.names[region]}</span>
              <span class="number">{time(excl)}</span>
              <span class="number">{total ? percent(excl / total) : ""}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Details({ shown, regions, hint }: { shown: Shown | undefined; regions: Regions; hint: ComponentChildren }) {
  return (
    <div class="details">
      <section aria-live="off">
        {shown ? (
          <>
            <b title={shown.title}>{shown.title}</b>
            <dl>
              {shown.pairs.map(([name, text]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd title={text}>{text}</dd>
                </div>
              ))}
            </dl>
          </>
        ) : (
          <p class="fine">{hint}</p>
        )}
      </section>
      <InRange regions={regions} />
    </div>
  );
}
