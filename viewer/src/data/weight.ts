// SPDX-License-Identifier: BSD-3-Clause
// What was counted beside the time: its numbers for people, and call trees that are as wide as it.
import type { Facts, Metric } from "./facts";
import type { Selection } from "./url";
import { type Unit, amount, byteUnit, count, countUnit, inUnit, time, timeUnit } from "./units";

const BYTES = new Set(["b", "byte", "bytes"]);

/** What a value as it was counted is in the metric's unit. */
export const scaleOf = (metric: Metric): number => 10 ** metric.exponent;

/** The unit's name beside numbers; the recorder has "#" for what is just counted. */
export function unitOf(metric: Metric): string {
  return metric.unit === "#" ? "" : metric.unit;
}

/** "12.4 MiB", "3,021": of a value in the metric's unit. */
export function amountOf(metric: Metric, value: number): string {
  const unit = unitOf(metric);
  if (BYTES.has(unit.toLowerCase())) return amount(value, "B");
  return amount(unit !== "s" && Math.abs(value) < 1e5 ? Math.round(value * 1000) / 1000 : value, unit);
}

/** "12.4 MiB/s"; of a time per time there is no unit: how many processors were busy. */
export function rateOf(metric: Metric, value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (metric.unit === "s") return inUnit(value, { size: 1, name: "" }, 2);
  const text = amountOf(metric, value);
  return /[a-z]$/i.test(text) ? `${text}/s` : `${text} per second`;
}

/** The unit of a column of values up to the largest. */
export function columnOf(metric: Metric, largest: number): Unit {
  const unit = unitOf(metric);
  if (unit === "s") return timeUnit(largest);
  if (BYTES.has(unit.toLowerCase())) return byteUnit(largest);
  const thousands = largest < 1e7 ? { size: 1, name: "" } : countUnit(largest);
  return { size: thousands.size, name: [thousands.name, unit].filter(Boolean).join(" ") };
}

/** How the widths of a call tree are said: in time, or in what was counted. */
export class Weight {
  constructor(readonly metric?: Metric) {}

  /** Beside a number: "time", "ru_minflt". */
  get name(): string {
    return this.metric?.name ?? "time";
  }
  /** Without and with what callees took or counted. */
  get self(): string {
    return `self ${this.name}`;
  }
  get total(): string {
    return `total ${this.name}`;
  }
  show(value: number): string {
    return this.metric ? amountOf(this.metric, value) : time(value);
  }
  /** The same where nothing beside it says what it is. */
  say(value: number): string {
    return this.metric ? `${this.metric.name} ${this.show(value)}` : time(value);
  }
  unit(largest: number): Unit {
    return this.metric ? columnOf(this.metric, largest) : timeUnit(largest);
  }
  cell(value: number, unit: Unit): string {
    return this.metric && unit.size === 1 && Number.isInteger(value) ? count(value) : inUnit(value, unit);
  }
}

export const TIME = new Weight();
const weights = new WeakMap<Metric, Weight>();

/** One for each metric, so that what was made with it is found again. */
export function weightOf(metric: Metric | undefined): Weight {
  if (!metric) return TIME;
  let known = weights.get(metric);
  if (!known) weights.set(metric, (known = new Weight(metric)));
  return known;
}

/** Why the calls of what is selected cannot be as wide as the metric; undefined: they can. */
export function without(facts: Facts, selection: Selection, metric: Metric): string | undefined {
  const ranged = selection.begin !== undefined || selection.end !== undefined;
  if (facts.has.compare) return "Beside another run widths are times, which both of them have.";
  if (!metric.total) return "Nothing of it was counted.";
  if (ranged && metric.exclusive && !inSamples(metric)) return "It is not known within a range of time: its values are not in the trace.";
  return undefined;
}

/** Each sample has its state and processor time; looks that found nothing new are counted, but are no samples. */
const inSamples = (metric: Metric): boolean => metric.source === "sample" && metric.unit === "s";

/** Whether functions have times: where memory alone was recorded they have none. */
export const timed = (facts: Facts): boolean => !facts.metrics.length || facts.locations.some(({ busy }) => busy > 0);

const FIRST = "peak_bytes";

/** What is shown where nothing is chosen; undefined: the time. */
function first(facts: Facts): Metric | undefined {
  if (timed(facts)) return undefined;
  return facts.metrics.find(({ name, total }) => name === FIRST && total) ?? facts.metrics.find(({ total }) => total);
}

/** The metric that is chosen, if it can be; the first one where there are no times. */
export function chosenMetric(facts: Facts | undefined, selection: Selection): Metric | undefined {
  const metric = facts && (facts.metrics.find((one) => one.name === selection.metric) ?? first(facts));
  return facts && metric && !without(facts, selection, metric) ? metric : undefined;
}
