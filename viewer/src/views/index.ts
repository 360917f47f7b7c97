// SPDX-License-Identifier: BSD-3-Clause
// The views in the order of their tabs; one line each.
import { balance } from "./balance";
import { bottomup } from "./bottomup";
import { callers } from "./callers";
import { critical } from "./critical";
import { flame } from "./flame";
import { graph } from "./graph";
import { icicle } from "./icicle";
import { io } from "./io";
import { locks } from "./locks";
import { matrix } from "./matrix";
import { memory } from "./memory";
import { metrics } from "./metrics";
import { source } from "./source";
import { summary } from "./summary";
import { sunburst } from "./sunburst";
import { table } from "./table";
import { tasks } from "./tasks";
import { timeline } from "./timeline";
import { waits } from "./waits";
import type { View } from "./view";

export const views: readonly View[] = [
  summary,
  table,
  icicle,
  sunburst,
  bottomup,
  callers,
  graph,
  timeline,
  flame,
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
];
