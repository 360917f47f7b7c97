// SPDX-License-Identifier: BSD-3-Clause
// The views in the order of their tabs; one line each.
import { flame } from "./flame";
import { icicle } from "./icicle";
import { summary } from "./summary";
import { sunburst } from "./sunburst";
import { table } from "./table";
import { timeline } from "./timeline";
import type { View } from "./view";

export const views: readonly View[] = [
  summary,
  table,
  icicle,
  sunburst,
  timeline,
  flame,
];
