// SPDX-License-Identifier: BSD-3-Clause
// Metrics as the weight of call trees, and the formatting of their values.
import type { Facts, Metric } from "./facts";
import type { Selection } from "./url";
import { type Unit, amount, byteUnit, count, countUnit, inUnit, time, timeUnit } from "./units";

const BYTES = new Set(["b", "byte", "bytes"]);

/** The factor from recorded values to the metric's unit. */
export const scaleOf = (metric: Metric): number => 10 ** metric.exponent;

/** The unit's name after numbers; "#" in the recorder's data means a count. */
export function unitOf(metric: Metric): string {
  return metric.unit === "#" ? "" : metric.unit;
}

/** "12.4 MiB", "3,021": a value in the metric's unit. */
export function amountOf(metric: Metric, value: number): string {
  const unit = unitOf(metric);
  if (BYTES.has(unit.toLowerCase())) return amount(value, "B");
  return amount(unit !== "s" && Math.abs(value) < 1e5 ? Math.round(value * 1000) / 1000 : value, unit);
}

/** "12.4 MiB/s". A rate of a time has no unit: it is the number of busy processors. */
export function rateOf(metric: Metric, value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (metric.unit === "s") return inUnit(value, { size: 1, name: "" }, 2);
  const text = amountOf(metric, value);
  return /[a-z]$/i.test(text) ? `${text}/s` : `${text} per second`;
}

/** The unit of a column of values up to `largest`. */
export function columnOf(metric: Metric, largest: number): Unit {
  const unit = unitOf(metric);
  if (unit === "s") return timeUnit(largest);
  if (BYTES.has(unit.toLowerCase())) return byteUnit(largest);
  const thousands = largest < 1e7 ? { size: 1, name: "" } : countUnit(largest);
  return { size: thousands.size, name: [thousands.name, unit].filter(Boolean).join(" ") };
}

/** The weight of a call tree: time or a metric. */
export class Weight {
  constructor(readonly metric?: Metric) {}

  /** The name before a number: "time", "ru_minflt". */
  get name(): string {
    return this.metric?.name ?? "time";
  }
  /** The words for values without and with those of callees. */
  get self(): string {
    return this.metric?.source === "off_cpu" ? `${this.name} time` : `self ${this.name}`;
  }
  get total(): string {
    return `total ${this.name}`;
  }
  show(value: number): string {
    return this.metric ? amountOf(this.metric, value) : time(value);
  }
  /** A value with its name if the unit does not identify it. */
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

/** One object for each metric, so that data cached by it are found again. */
export function weightOf(metric: Metric | undefined): Weight {
  if (!metric) return TIME;
  let known = weights.get(metric);
  if (!known) weights.set(metric, (known = new Weight(metric)));
  return known;
}

/** Why the selected calls cannot be weighted by the metric; undefined: they can. */
export function without(facts: Facts, selection: Selection, metric: Metric): string | undefined {
  const ranged = selection.begin !== undefined || selection.end !== undefined;
  if (facts.has.compare) return "The comparison of two runs is weighted by time.";
  if (!metric.total) return "It has no values.";
  if (ranged && metric.exclusive && !inSamples(metric)) return "It is not known within a range of time: its values are not in the trace.";
  return undefined;
}

/** Metrics of each sample's state and CPU time. Samples without news are only counted and have no such value. */
const inSamples = (metric: Metric): boolean => metric.source === "sample" && metric.unit === "s";

/** Whether functions have times; without, only memory was recorded. */
export const timed = (facts: Facts): boolean => !facts.metrics.length || facts.locations.some(({ busy }) => busy > 0);

const FIRST = "peak_bytes";

/** The default metric; undefined: time. */
function first(facts: Facts): Metric | undefined {
  if (timed(facts)) return undefined;
  return facts.metrics.find(({ name, total }) => name === FIRST && total) ?? facts.metrics.find(({ total }) => total);
}

/** The selected metric if it is available; the default one if there are no times. */
export function chosenMetric(facts: Facts | undefined, selection: Selection): Metric | undefined {
  const metric = facts && (facts.metrics.find((one) => one.name === selection.metric) ?? first(facts));
  return facts && metric && !without(facts, selection, metric) ? metric : undefined;
}
