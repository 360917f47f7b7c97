// SPDX-License-Identifier: BSD-3-Clause
// The descriptions of the views of more.tsx, which are needed before that script is loaded.
import { hasSource, recordBy } from "../data/facts";
import { later } from "../parts/later";
import { TREE_KEYS } from "../charts/treechart";
import { TIME_KEYS } from "./timeline";
import type { View } from "../parts/view";
import "../charts/balance.css";
import "../charts/pinned.css";

const states: View = {
  id: "states",
  asMeasured: true,
  title: "States",
  available: (facts) => facts.has.states || `The states of threads come from samples: ${recordBy(facts, "--sample")} takes them.`,
  component: later("states"),
  keys: TIME_KEYS,
};

const memory: View = {
  id: "memory",
  title: "Memory",
  available: (facts) => facts.has.memory || `Memory was not recorded: ${recordBy(facts, "--memory-profile")} records it, --memory-sample 512K at a lower cost.`,
  component: later("memory"),
  keys: [["← →  Page Up  Page Down", "along the time"]],
};

const locks: View = {
  id: "locks",
  title: "Locks",
  asMeasured: true,
  available: (facts) => facts.has.locks || `Waits of threads were not recorded: ${recordBy(facts, "--waits")} records it.`,
  component: later("locks"),
};

const matrix: View = {
  id: "matrix",
  asMeasured: true,
  title: "Matrix",
  available: (facts) => facts.has.messages || (facts.has.mpi ? "Messages between ranks are in the trace: record one with --trace." : "No messages between ranks were recorded. They come from programs that use MPI, measured with --trace."),
  component: later("matrix"),
  keys: [
    ["Arrows", "from cell to cell"],
    ["Enter", "selects the sender"],
  ],
};

const waits: View = {
  id: "waits",
  asMeasured: true,
  title: "Waits",
  available: (facts) => facts.has.waits || facts.has.off_cpu || "Times were not split into running and waiting. Waits of MPI are found in a trace: spartito run --trace.",
  component: later("waits"),
};

const critical: View = {
  id: "critical",
  asMeasured: true,
  title: "Critical path",
  available: (facts) => facts.has.waits || "The critical path is found in the trace of a program that uses MPI: spartito run --trace.",
  component: later("critical"),
  keys: [
    ["← →", "along the path, or its functions"],
    ["↑ ↓", "to the functions, to the path"],
    ["Enter", "selects the function or the thread"],
  ],
};

const tasks: View = {
  id: "tasks",
  asMeasured: true,
  title: "Tasks",
  available: (facts) => facts.has.tasks || "No tasks were recorded. Those of asyncio and trio are, unless a filter leaves out their coroutines.",
  component: later("tasks"),
};

const io: View = {
  id: "io",
  asMeasured: true,
  title: "Files",
  available: (facts) => facts.has.io || "File I/O was not recorded: spartito run --io --trace records it.",
  component: later("io"),
};

const imports: View = {
  id: "imports",
  title: "Imports",
  available: () => true,
  component: later("imports"),
  keys: [
    ["→", "opens what a module imports"],
    ["←", "closes it, or goes to the importer"],
  ],
};

const own: View = {
  id: "own",
  title: "Own code",
  available: () => true,
  component: later("own"),
};

const balance: View = {
  id: "balance",
  title: "Balance",
  available: (facts) => facts.locations.length > 1 || "One thread did all the work: there is nothing to compare. Ranks of MPI, processes and threads are compared here.",
  component: later("balance"),
  keys: [
    ["↑ ↓  Page Up  Page Down", "from bar to bar"],
    ["Enter", "selects the rank or thread"],
  ],
};

const NONE_KNOWN =
  "Metrics over time need a trace with metrics or counters: spartito run --trace --metric rusage:ru_utime,rusage:ru_minflt (spartito doctor lists what can be counted), or spartito.counter() in the program.";

const metrics: View = {
  id: "metrics",
  title: "Metrics",
  available: (facts) => facts.has.metrics || facts.has.counters || NONE_KNOWN,
  component: later("metrics"),
  keys: [
    ["← →  Page Up  Page Down  Home  End", "along the time"],
    ["↑ ↓", "from line to line"],
    ["Enter", "selects the thread"],
    ["Escape", "clears thread and range of time"],
  ],
};

const sunburst: View = {
  id: "sunburst",
  title: "Sunburst",
  filtered: "toolbar",
  available: () => true,
  component: later("sunburst"),
  keys: TREE_KEYS,
};

const bottomup: View = {
  id: "bottomup",
  title: "Bottom-up",
  filtered: "toolbar",
  available: () => true,
  component: later("bottomup"),
  keys: [
    ["→", "opens the callers of a row"],
    ["←", "closes them, or goes to the row they belong to"],
    ["*", "opens the path with the most time"],
  ],
};

const source: View = {
  id: "source",
  asMeasured: true,
  title: "Source",
  available: hasSource,
  component: later("source"),
};

const graph: View = {
  id: "graph",
  title: "Call graph",
  filtered: "toolbar",
  available: () => true,
  component: later("graph"),
  keys: [
    ["Arrows", "along the calls with the most time"],
    ["+ −", "zoom"],
    ["0", "the whole graph"],
    ["Enter", "callers and callees of the function"],
    ["Escape", "clears the function"],
  ],
};

export const laterViews = { balance, metrics, states, memory, locks, matrix, waits, critical, tasks, io, imports, own, graph, sunburst, bottomup, source };
