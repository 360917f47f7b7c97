// SPDX-License-Identifier: BSD-3-Clause
// The views in the order of their tabs.
import { balance } from "./balance";
import { bottomup } from "./bottomup";
import { callers } from "./callers";
import { flame } from "./flame";
import { graph } from "./graph";
import { icicle } from "./icicle";
import { laterViews } from "./later";
import { metrics } from "./metrics";
import { source } from "./source";
import { summary } from "./summary";
import { sunburst } from "./sunburst";
import { table } from "./table";
import { timeline } from "./timeline";
import type { View } from "../parts/view";

const { states, memory, locks, matrix, waits, critical, tasks, io, imports, own } = laterViews;

export const views: readonly View[] = [
  summary,
  table,
  own,
  icicle,
  sunburst,
  bottomup,
  callers,
  graph,
  timeline,
  flame,
  states,
  metrics,
  memory,
  locks,
  balance,
  matrix,
  source,
  waits,
  critical,
  tasks,
  io,
  imports,
];
