// SPDX-License-Identifier: BSD-3-Clause
// The script of frames whose cell recorded memory or waits; other frames do not contain these views.
import { show } from "./cellframe";
import { LocksView } from "./views/locks";
import { MemoryView } from "./views/memory";

show([
  ["memory", { id: "memory", title: "Memory", available: () => true, component: MemoryView }],
  ["locks", { id: "locks", title: "Locks", asMeasured: true, available: () => true, component: LocksView }],
]);
