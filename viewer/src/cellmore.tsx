// SPDX-License-Identifier: BSD-3-Clause
// The frame of a cell that recorded memory or waits as well: other frames do not carry these views.
import { show } from "./cellframe";
import { LocksView } from "./views/locks";
import { MemoryView } from "./views/memory";

show([
  ["memory", { id: "memory", title: "Memory", available: () => true, component: MemoryView }],
  ["locks", { id: "locks", title: "Locks", asMeasured: true, available: () => true, component: LocksView }],
]);
