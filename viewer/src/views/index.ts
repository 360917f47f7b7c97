// SPDX-License-Identifier: BSD-3-Clause
// The views in the order of their tabs; one line each.
import { summary } from "./summary";
import { flame } from "./flame";
import { timeline } from "./timeline";
import type { View } from "./view";

export const views: readonly View[] = [
  summary,
  timeline,
  flame,
];
