// SPDX-License-Identifier: BSD-3-Clause
// The answer of the kind "memory": heap size of each process over time, and allocation sites.
import type { Columns } from "./columns";
import type { Heap, LineSite, Memory, PathSite, ThreadSite } from "./contract";
import type { Curve } from "./curves";
import { type Span, length } from "./timescale";
import { bytes, count, percent, time } from "./units";

/** The allocations of a line, a call path or a thread. */
export type Site = Pick<LineSite, keyof LineSite & keyof PathSite> & Partial<LineSite & PathSite & ThreadSite>;
export type { Heap, Memory };

export const asMemory = (columns: Columns<"memory">): Memory & { columns: Columns<"memory"> } => ({ ...columns.meta, columns });

export const WHATS = {
  peak: { title: "At the peak", hint: "Allocations that were live at the peak of the process's heap", bytes: "peak_bytes", blocks: "peak", metric: "peak_bytes" },
  left: { title: "Left at the end", hint: "Allocations that the program did not release before its end", bytes: "left_bytes", blocks: "left", metric: "left_bytes" },
  all: { title: "Allocated", hint: "All that was allocated, released or not", bytes: "bytes", blocks: "count", metric: "allocated" },
  temporary: { title: "Temporary", hint: "Released before the thread allocated more than one other of about that size", bytes: "temporary_bytes", blocks: "temporary", metric: "temporary" },
} as const;
export type What = keyof typeof WHATS;

/** The groupings of allocation sites; the flame graph has all call paths. */
export const BYS = {
  lines: { title: "Lines", one: "line" },
  paths: { title: "Call paths", one: "call path" },
  threads: { title: "Threads", one: "thread" },
  flame: { title: "Flame graph", one: "call path" },
} as const;
export type By = keyof typeof BYS;

/** The process to draw: the selected one, or the one with the highest peak. */
export function heapOf(memory: Memory, process: number | undefined): Heap | undefined {
  if (process !== undefined) return memory.processes.find((p) => p.process === process);
  return memory.processes.reduce<Heap | undefined>((most, p) => (most && most.peak_bytes >= p.peak_bytes ? most : p), undefined);
}

function curveOf(columns: Columns<"memory">, heap: Heap, name: "heap" | "resident"): Curve {
  const [first, end] = heap.rows;
  const at = columns.get("at").subarray(first, end);
  const value = columns.get(name).subarray(first, end);
  return { location: heap.process, shape: "steps", at, value, low: value, high: value };
}

/** The curves of the heap and of the resident size of a process. */
export function curvesOf(columns: Columns<"memory">, heap: Heap): Curve[] {
  return [curveOf(columns, heap, "heap"), curveOf(columns, heap, "resident")];
}

const CURVES = 8; // maximum of processes with a curve

/** The processes with the highest heap peaks, in the order of processes. */
export function heapsOf(memory: Memory): Heap[] {
  const most = [...memory.processes].sort((a, b) => b.peak_bytes - a.peak_bytes).slice(0, CURVES);
  return most.sort((a, b) => a.process - b.process);
}
export const heapCurves = (columns: Columns<"memory">, heaps: readonly Heap[]): Curve[] => heaps.map((heap) => curveOf(columns, heap, "heap"));

/** The marked times and heights in the picture. */
export function marksOf(heap: Heap, span: Span): { at: { time: number; label: string }[]; level: { value: number; label: string }[] } {
  const at = heap.peak_time === null ? [] : [{ time: heap.peak_time, label: `peak ${bytes(heap.peak_bytes)}` }];
  if (heap.limit && heap.limit.passed !== null) at.push({ time: heap.limit.passed, label: "limit passed" });
  return {
    at: at.filter((mark) => mark.time >= span.begin && mark.time <= span.end && length(span) > 0),
    level: heap.limit ? [{ value: heap.limit.bytes, label: `limit ${bytes(heap.limit.bytes)}` }] : [],
  };
}

/** The sites with a value above 0, in descending order. */
export function sitesOf(memory: Memory, what: What, by: By): Site[] {
  const key = WHATS[what].bytes;
  return memory[by === "flame" ? "paths" : by].filter((site) => site[key] > 0).sort((a, b) => b[key] - a[key]);
}

export function words(memory: Memory, heap: Heap): string {
  const { totals } = memory;
  const parts = [`peak ${bytes(heap.peak_bytes)} in ${count(heap.peak_blocks)} blocks${heap.peak_time === null ? "" : ` after ${time(heap.peak_time)}`}`];
  parts.push(`${bytes(heap.resident_peak)} resident at most`, `${bytes(totals.left_bytes)} left`);
  if (totals.left_bytes > 0) parts.push(`of which ${percent(totals.growing_bytes / totals.left_bytes)} kept growing`);
  return parts.join(", ");
}
