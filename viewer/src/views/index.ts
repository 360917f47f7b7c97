// SPDX-License-Identifier: BSD-3-Clause
// The views in the order of their tabs, in groups by the question that they answer.
import { callers } from "./callers";
import { flame } from "./flame";
import { icicle } from "./icicle";
import { laterViews } from "./later";
import { summary } from "./summary";
import { table } from "./table";
import { timeline } from "./timeline";
import type { Group } from "../page/tabs";
import type { View } from "../parts/view";

const { balance, metrics, states, memory, locks, matrix, waits, critical, tasks, io, imports, own, graph, sunburst, bottomup, source } = laterViews;

export const groups: readonly Group[] = [
  { title: "Summary", views: [summary] },
  { title: "Functions", views: [table, own, icicle, sunburst, bottomup, callers, graph, source, imports] },
  { title: "Time", views: [timeline, flame, states, metrics] },
  { title: "Parallel", views: [balance, tasks, matrix, critical] },
  { title: "Waiting", views: [waits, locks, io] },
  { title: "Memory", views: [memory] },
];

export const views: readonly View[] = groups.flatMap((group) => group.views);
