// SPDX-License-Identifier: BSD-3-Clause
// The second script of the page: views that not every user needs (views/later.ts describes them). Modules shared with the first script are
// in that one (build.mjs).
import type { ComponentType } from "preact";
import { svgOf } from "./draw/svg";
import { ShadesMaker } from "./state/shades";
import { BalanceView } from "./views/balance";
import { BottomUpView } from "./views/bottomup";
import { CriticalView } from "./views/critical";
import { GraphView } from "./views/graph";
import { ImportsView } from "./views/imports";
import { Io } from "./views/io";
import type { laterViews } from "./views/later";
import { LocksView } from "./views/locks";
import { Communication } from "./views/matrix";
import { MemoryView } from "./views/memory";
import { MetricsView } from "./views/metrics";
import { OwnView } from "./views/own";
import { SourceView } from "./views/source";
import { StatesView } from "./views/states";
import { SunburstView } from "./views/sunburst";
import { TasksView } from "./views/tasks";
import { WaitsView } from "./views/waits";

window.spartitoSvg = svgOf;
window.spartitoMore = {
  balance: BalanceView,
  metrics: MetricsView,
  states: StatesView,
  memory: MemoryView,
  locks: LocksView,
  matrix: Communication,
  waits: WaitsView,
  critical: CriticalView,
  tasks: TasksView,
  io: Io,
  imports: ImportsView,
  own: OwnView,
  graph: GraphView,
  sunburst: SunburstView,
  bottomup: BottomUpView,
  source: SourceView,
  shades: ShadesMaker,
} satisfies Record<keyof typeof laterViews | "shades", ComponentType>;
