// SPDX-License-Identifier: BSD-3-Clause
// What the kind "memory" says: the heap of each process over time, and what was allocated where.
import type { Columns } from "./columns";
import type { Curve } from "./curves";
import type { Stacks } from "./stacks";
import { type Span, length } from "./timescale";
import { bytes, count, percent, time } from "./units";

/** Bytes are those that were asked for, moments seconds since the experiment's begin. */
export interface Heap {
  process: number;
  count: number;
  allocated: number;
  peak_bytes: number;
  peak_blocks: number;
  peak_time: number | null;
  resident_peak: number;
  resident_peak_time: number | null;
  bytes: number;
  blocks: number;
  /** Of resident bytes; passed: when first, null: never; over: seconds above it. */
  limit: { bytes: number; passed: number | null; passes: number; over: number; function: string | null; line: number } | null;
  /** Its rows of the columns at, heap and resident: first, and behind the last. */
  rows: [number, number];
}

/** What one line, or one call path, allocated. */
export interface Site {
  /** Of a line: a name like "module:function", null where it is not known. */
  function?: string | null;
  file?: string | null;
  line?: number;
  path?: number;
  count: number;
  bytes: number;
  peak: number;
  peak_bytes: number;
  left: number;
  left_bytes: number;
  temporary: number;
  temporary_bytes: number;
  /** Of left_bytes: became ever more until the end; came in a short time. */
  growing_bytes: number;
  cache_bytes: number;
}

export interface Memory {
  processes: Heap[];
  lines: Site[];
  paths: Site[];
  /** Sites of lines, and of call paths, that are not among these, as they are too many. */
  hidden: [number, number];
  stacks: Stacks;
  /** Sums of all sites. */
  totals: Record<"bytes" | "count" | "peak_bytes" | "left_bytes" | "temporary_bytes" | "growing_bytes" | "cache_bytes", number>;
  /** What is not in the numbers. */
  notes: string[];
}

export const asMemory = (columns: Columns): Memory & { columns: Columns } => ({ ...(columns.meta as unknown as Memory), columns });

export const WHATS = {
  peak: { title: "At the peak", hint: "What was live when the process had most", bytes: "peak_bytes", blocks: "peak" },
  left: { title: "Left at the end", hint: "What was never released before the program ended", bytes: "left_bytes", blocks: "left" },
  all: { title: "Allocated", hint: "All that was allocated, released or not", bytes: "bytes", blocks: "count" },
  temporary: { title: "Temporary", hint: "Released before the thread allocated again", bytes: "temporary_bytes", blocks: "temporary" },
} as const;
export type What = keyof typeof WHATS;

/** The process that is drawn: the selected one, or the one with the highest peak. */
export function heapOf(memory: Memory, process: number | undefined): Heap | undefined {
  if (process !== undefined) return memory.processes.find((p) => p.process === process);
  return memory.processes.reduce<Heap | undefined>((most, p) => (most && most.peak_bytes >= p.peak_bytes ? most : p), undefined);
}

/** The heap, and the resident size of the process. */
export function curvesOf(columns: Columns, heap: Heap): Curve[] {
  const [first, end] = heap.rows;
  const at = columns.f64("at").subarray(first, end);
  return ["heap", "resident"].map((name) => {
    const value = columns.f64(name).subarray(first, end);
    return { location: heap.process, shape: "steps", at, value, low: value, high: value };
  });
}

/** What is marked in the picture: moments, and heights. */
export function marksOf(heap: Heap, span: Span): { at: { time: number; label: string }[]; level: { value: number; label: string }[] } {
  const at = heap.peak_time === null ? [] : [{ time: heap.peak_time, label: `peak ${bytes(heap.peak_bytes)}` }];
  if (heap.limit && heap.limit.passed !== null) at.push({ time: heap.limit.passed, label: "limit passed" });
  return {
    at: at.filter((mark) => mark.time >= span.begin && mark.time <= span.end && length(span) > 0),
    level: heap.limit ? [{ value: heap.limit.bytes, label: `limit ${bytes(heap.limit.bytes)}` }] : [],
  };
}

/** The rows that have any of it, most first. */
export function sitesOf(memory: Memory, what: What, by: "lines" | "paths"): Site[] {
  const key = WHATS[what].bytes;
  return memory[by].filter((site) => site[key] > 0).sort((a, b) => b[key] - a[key]);
}

export function words(memory: Memory, heap: Heap): string {
  const { totals } = memory;
  const parts = [`peak ${bytes(heap.peak_bytes)} in ${count(heap.peak_blocks)} blocks${heap.peak_time === null ? "" : ` after ${time(heap.peak_time)}`}`];
  parts.push(`${bytes(heap.resident_peak)} resident at most`, `${bytes(totals.left_bytes)} left`);
  if (totals.left_bytes > 0) parts.push(`of which ${percent(totals.growing_bytes / totals.left_bytes)} kept growing`);
  return parts.join(", ");
}
