// SPDX-License-Identifier: BSD-3-Clause
// Functions by their own time, opened to those that called them.
import { useMemo, useReducer, useState } from "preact/hooks";
import { BottomUp, type BottomUpKey } from "../bottomup";
import type { Regions } from "../facts";
import { useRegions, useReport, useSelection, useStore, useTree } from "../hooks";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named, nameOf } from "../parts/Named";
import { type Column, VirtualTable } from "../parts/VirtualTable";
import { NONE } from "../paths";
import { search, type Tree } from "../tree";
import { count, inUnit, percent, signed, time, timeUnit } from "../units";
import type { View } from "./view";

const KEYS: Record<string, BottomUpKey> = { name: "name", own: "excl", share: "excl", total: "incl", calls: "visits" };

/** Own times of the other run, by region; undefined: there is none. */
function ownBefore({ base, region, count: rows }: Tree, regions: number): Float64Array | undefined {
  if (!base) return undefined;
  const own = new Float64Array(regions);
  for (let row = 0; row < rows; row++) if (region[row] !== NONE) own[region[row]!]! += base.excl[row]!;
  return own;
}

/** Of functions alone: what came by which caller is told of this run only. */
function beforeColumns(model: BottomUp, before: Float64Array): Column[] {
  const unit = timeUnit(before.reduce((most, own) => Math.max(most, own), 0));
  const of = (text: (own: number, now: number) => string) => (node: number) => {
    const { region, depth, excl } = model.row(node);
    return region === NONE || depth > 0 ? "" : text(before[region]!, excl);
  };
  return [
    { id: "before", title: "Own before", unit: unit.name, hint: "In the other run", width: "116px", fixed: true, cell: of((own) => inUnit(own, unit)) },
    { id: "change", title: "Change", unit: unit.name, width: "104px", fixed: true, cell: of((own, now) => signed(inUnit(now - own, unit), now - own)) },
  ];
}

function columnsOf(
  model: BottomUp,
  regions: Regions,
  total: number,
  before: Float64Array | undefined,
  toggle: (node: number) => void,
): Column[] {
  const unit = timeUnit(total);
  const own = (node: number): number => model.row(node).excl;
  return [
    {
      id: "name",
      title: "Function, below it its callers",
      width: "minmax(280px, 1fr)",
      left: true,
      full: (node) => {
        const { region, hidden } = model.row(node);
        return region === NONE ? nameOf(regions, region, hidden) : `${regions.names[region]}\n${regions.placeOf(region)}`;
      },
      cell: (node) => {
        const row = model.row(node);
        const open = row.open ? true : row.closed ? false : undefined;
        return (
          <Named regions={regions} region={row.region} hidden={row.hidden} depth={row.depth} open={open} onToggle={() => toggle(node)} />
        );
      },
    },
    {
      id: "own",
      title: "Own time",
      unit: unit.name,
      hint: "In the function itself; below it the part that came by this caller",
      width: "110px",
      cell: (node) => inUnit(own(node), unit),
    },
    { id: "share", title: "Own", unit: "%", width: "150px", cell: (node) => percent(own(node) / total), bar: (node) => own(node) / total },
    {
      id: "total",
      title: "Total time",
      unit: unit.name,
      hint: "With what it calls; recursion counts once",
      width: "110px",
      cell: (node) => inUnit(model.row(node).incl, unit),
    },
    { id: "calls", title: "Calls", width: "100px", cell: (node) => count(model.row(node).visits) },
    ...(before ? beforeColumns(model, before) : []),
  ];
}

/** The tree, as the selection filters it. */
function useModel(tree: Tree | undefined, regions: Regions | undefined): BottomUp | undefined {
  const { search: text, module } = useSelection();
  const model = useMemo(
    () => tree && regions && new BottomUp(tree, regions.count, (region) => nameOf(regions, region)),
    [tree, regions],
  );
  useMemo(() => {
    if (!model || !regions) return;
    const found = search(regions.lowered(), text);
    const inModule = (region: number): boolean => {
      const name = regions.moduleOf(region);
      return module === undefined || name === module || name.startsWith(`${module}.`);
    };
    model.only((region) => (region === NONE ? !found && module === undefined : (!found || found[region] === 1) && inModule(region)));
  }, [model, text, module]);
  return model;
}

function BottomUpView() {
  const store = useStore();
  const { region } = useSelection();
  const tree = useTree();
  const regions = useRegions();
  const model = useModel(tree.data, regions.data);
  const before = useMemo(() => (tree.data && regions.data ? ownBefore(tree.data, regions.data.count) : undefined), [tree.data, regions.data]);
  const [sorting, sort] = useState("own");
  const [chosen, choose] = useState(NONE);
  const [, again] = useReducer((n: number) => n + 1, 0);
  useReport(() => model && {
    ready: !tree.loading,
    total: tree.data?.total,
    functions: model.shown.length,
    rows: Array.from(model.shown.subarray(0, 200), (node) => reported(model, regions.data!, node, before)),
  });
  if (!model || !regions.data || !tree.data) return <Waiting problem={tree.problem ?? regions.problem} what="the call tree" />;
  if (!model.shown.length)
    return <Empty title="No function is left">Take back the search or the module above, or select a longer range of time.</Empty>;
  const act = (what: () => void): void => {
    what();
    again(undefined);
  };
  const toggle = (node: number): void => act(() => (model.row(node).open ? model.close(node) : model.open(node)));
  const key = (event: KeyboardEvent, node: number): boolean => {
    const { open, closed } = model.row(node);
    if (event.key === "ArrowRight" && closed) toggle(node);
    else if (event.key === "ArrowLeft" && open) toggle(node);
    else if (event.key === "ArrowLeft" && model.parent(node) !== NONE) choose(model.parent(node));
    else if (event.key === "*") act(() => model.openHottest(node));
    else return event.key === "ArrowRight" || event.key === "ArrowLeft";
    return true;
  };
  const selected = chosen !== NONE && model.row(chosen).region === region ? chosen : region === undefined ? undefined : model.find(region);
  return (
    <>
      <Toolbar says={`${count(model.shown.length)} rows, ${time(model.total("excl"))} own time`}>
        <span class="soft">→ opens callers, ← closes, * opens the way of most time</span>
        <button class="quiet" onClick={() => act(() => model.closeAll())}>
          Close all
        </button>
      </Toolbar>
      <VirtualTable
        label="Functions by own time, with their callers"
        order={model.shown}
        columns={columnsOf(model, regions.data, tree.data.total, before, toggle)}
        sorting={{ id: sorting, down: sorting !== "name" }}
        onSort={(id) => act(() => (sort(id), model.sort(KEYS[id] ?? "excl")))}
        selected={selected}
        onSelect={(node) => {
          const row = model.row(node).region;
          choose(node);
          if (row !== NONE) store.select({ region: row }, "replace");
        }}
        onOpen={toggle}
        onKey={key}
        level={(node) => model.row(node).depth + 1}
        expanded={(node) => (model.row(node).open ? true : model.row(node).closed ? false : undefined)}
      />
    </>
  );
}

function reported(model: BottomUp, regions: Regions, node: number, before: Float64Array | undefined) {
  const { region, depth, excl, incl, visits, hidden } = model.row(node);
  return { name: nameOf(regions, region, hidden), depth, excl, incl, visits, before: before?.[region] };
}

export const bottomup: View = { id: "bottomup", title: "Bottom-up", available: () => true, component: BottomUpView };
