// SPDX-License-Identifier: BSD-3-Clause
// What importing modules cost: each module below the one that imports it.
import { useMemo, useState } from "preact/hooks";
import { type Columns, NONE } from "../data/columns";
import type { Regions } from "../data/facts";
import { ImportTree } from "../data/imports";
import { regionNamed } from "../data/stacks";
import { count, inUnit, percent, time, timeUnit } from "../data/units";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named } from "../parts/Named";
import { type Column, VirtualTable } from "../parts/VirtualTable";
import { WholeRun } from "../parts/WholeRun";
import { useAnswer, useRegions, useReport, useSelection, useStore } from "../state/hooks";

const asTree = (columns: Columns<"imports">): ImportTree => new ImportTree(columns);
const SHOWN = 200; // rows in the state for tests

/** The region of a module's own statements. */
const bodyOf = (regions: Regions, tree: ImportTree, module: number): number | undefined => regionNamed(regions, `${tree.modules[module]!.module}:<module>`);

function columnsOf(tree: ImportTree, regions: Regions, open: ReadonlySet<number>, toggle: (module: number) => void): Column[] {
  const unit = timeUnit(tree.total);
  const split = tree.modules.some((module) => module.waiting_incl > 0);
  const of = (module: number) => tree.modules[module]!;
  const number = (id: string, title: string, hint: string, value: (module: number) => number): Column => ({
    id,
    title,
    hint,
    unit: unit.name,
    width: "110px",
    fixed: true,
    cell: (module) => inUnit(value(module), unit),
  });
  return [
    {
      id: "module",
      title: "Module, below it what it imports",
      width: "minmax(280px, 1fr)",
      left: true,
      fixed: true,
      full: (module) => [of(module).module, of(module).file].filter(Boolean).join("\n"),
      cell: (module) => (
        <Named
          regions={regions}
          region={bodyOf(regions, tree, module) ?? NONE}
          text={of(module).module}
          depth={tree.depth(module)}
          open={tree.imports(module) ? open.has(module) : undefined}
          onToggle={() => toggle(module)}
        />
      ),
    },
    number("total", "Total", "With the modules that it imports", (module) => of(module).incl),
    {
      id: "share",
      title: "Of all",
      unit: "%",
      hint: "Of the time in all functions",
      width: "110px",
      fixed: true,
      cell: (module) => percent(tree.busy ? of(module).incl / tree.busy : 0),
      bar: (module) => (tree.total ? of(module).incl / tree.total : 0),
    },
    ...(split
      ? [
          number("running", "Running", "Of the total, the time in which the threads ran", (module) => of(module).running_incl),
          number("waiting", "Waiting", "Of the total, the time in which the threads waited", (module) => of(module).waiting_incl),
        ]
      : []),
    number("self", "Self", "Its own statements", (module) => of(module).excl),
    number("loading", "Loading", "To find and load the modules that it imports, and compiled modules", (module) => of(module).loading),
  ];
}

export function ImportsView() {
  const store = useStore();
  const selection = useSelection();
  const answer = useAnswer("imports", {}, asTree);
  const known = useRegions();
  const [opened, setOpen] = useState<ReadonlySet<number> | undefined>(undefined);
  const [chosen, choose] = useState<number | undefined>(undefined);
  const tree = answer.data;
  const regions = known.data;
  const open = useMemo(() => opened ?? tree?.openAtFirst() ?? new Set<number>(), [opened, tree]);
  const order = useMemo(() => tree?.shown(open) ?? [], [tree, open]);
  const toggle = (module: number): void => {
    const after = new Set(open);
    if (!after.delete(module) && tree?.imports(module)) after.add(module);
    setOpen(after);
  };
  const columns = useMemo(() => (tree && regions ? columnsOf(tree, regions, open, toggle) : []), [tree, regions, open]);
  useReport(() => ({
    ready: Boolean(tree && regions),
    total: tree?.total,
    modules: tree?.count,
    rows: tree && order.slice(0, SHOWN).map((i) => ({ depth: tree.depth(i), open: open.has(i), ...tree.modules[i] })),
  }));
  if (!tree || !regions) return <Waiting problem={answer.problem ?? known.problem} what="the imports" />;
  if (!tree.count) return <Empty title="No imports were recorded">A filter such as --only-mine leaves out the functions that import.</Empty>;
  const key = (event: KeyboardEvent, module: number): boolean => {
    const opens = event.key === "ArrowRight";
    if (!opens && event.key !== "ArrowLeft") return false;
    const parent = tree.modules[module]!.importer;
    if (opens !== open.has(module)) toggle(module);
    else if (!opens && parent) choose(parent);
    return true;
  };
  const selected = chosen ?? order.find((module) => bodyOf(regions, tree, module) === selection.region);
  return (
    <>
      <Toolbar status={`${count(tree.count)} modules`}>
        <b>{`Imports took ${time(tree.total)}${tree.busy ? `, ${percent(tree.total / tree.busy)} of the time in all functions` : ""}`}</b>
        <span class="soft">→ opens what a module imports, ← closes it</span>
        <button class="quiet" onClick={() => setOpen(new Set())}>
          Close all
        </button>
      </Toolbar>
      <WholeRun what="Imports" ranks />
      <VirtualTable
        label="Imported modules, each below its importer"
        order={order}
        columns={columns}
        selected={selected}
        onSelect={(module) => {
          choose(module);
          store.select({ region: bodyOf(regions, tree, module), path: undefined }, "replace");
        }}
        onOpen={toggle}
        onKey={key}
        level={(module) => tree.depth(module) + 1}
        expanded={(module) => (tree.imports(module) ? open.has(module) : undefined)}
      />
    </>
  );
}
