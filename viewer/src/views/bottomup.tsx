// SPDX-License-Identifier: BSD-3-Clause
// The bottom-up view: functions by exclusive time, each with its callers below it.
import { useMemo, useReducer, useState } from "preact/hooks";
import { Uncompared } from "../parts/against";
import { BottomUp, type BottomUpKey } from "../calltree/bottomup";
import { type Change, changeOf } from "../data/change";
import type { Regions } from "../data/facts";
import { useTree } from "../state/calls";
import { useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named, nameOf } from "../parts/Named";
import { type Column, VirtualTable } from "../parts/VirtualTable";
import { Shows } from "../parts/shows";
import { useHighlighted } from "../state/highlighted";
import { NONE } from "../calltree/paths";
import type { Tree } from "../calltree/tree";
import { type Unit, count, inUnit, percent, signed } from "../data/units";

const KEYS: Record<string, BottomUpKey> = { name: "name", excl: "excl", share: "excl", incl: "incl", calls: "visits", before: "baseExcl", change: "change" };

/** Columns of the other run's numbers and the change. unit: of exclusive time. */
function beforeColumns(model: BottomUp, unit: Unit): Column[] {
  const of = (text: (change: Change) => string) => (node: number) => {
    const { excl, baseExcl } = model.row(node);
    return text({ now: excl, before: baseExcl ?? 0 });
  };
  return [
    { id: "before", title: "Self before", unit: unit.name, hint: "In the other run or range of time", width: "116px", cell: of(({ before }) => inUnit(before, unit)) },
    { id: "change", title: "Change", unit: unit.name, width: "104px", cell: of(({ now, before }) => signed(inUnit(now - before, unit), now - before)) },
    { id: "ratio", title: "Change", unit: "%", width: "88px", fixed: true, cell: of(changeOf) },
  ];
}

function columnsOf(
  model: BottomUp,
  regions: Regions,
  tree: Tree,
  compared: boolean,
  toggle: (node: number) => void,
): Column[] {
  const { total } = tree;
  const unit = tree.weight.unit(total);
  const { weight } = tree;
  const excl = (node: number): number => model.row(node).excl;
  return [
    {
      id: "name",
      title: "Function, below it its callers",
      width: "minmax(280px, 560px)",
      left: true,
      full: (node) => {
        const { region, hidden } = model.row(node);
        return region === NONE ? nameOf(regions, region, hidden) : `${regions.names[region]}\n${regions.placeOf(region)}`;
      },
      cell: (node) => {
        const row = model.row(node);
        const open = row.open ? true : row.closed ? false : undefined;
        return (
          <Named regions={regions} region={row.region} text={nameOf(regions, row.region, row.hidden)} depth={row.depth} open={open} onToggle={() => toggle(node)} />
        );
      },
    },
    {
      id: "excl",
      title: weight.metric ? weight.self : "Self time",
      unit: unit.name,
      hint: "In the function itself; below it the part that was called by this caller",
      width: "110px",
      cell: (node) => weight.cell(excl(node), unit),
    },
    { id: "share", title: "Self", unit: "%", hint: "Self time, of the self time of all functions", width: "150px", cell: (node) => percent(excl(node) / total), bar: (node) => excl(node) / total },
    {
      id: "incl",
      title: weight.metric ? weight.total : "Total time",
      unit: unit.name,
      hint: "Including callees; recursion counts once",
      width: "110px",
      cell: (node) => weight.cell(model.row(node).incl, unit),
    },
    ...(model.total("visits") > 0 ? [{ id: "calls", title: "Calls", width: "100px", cell: (node: number) => count(model.row(node).visits) }] : []),
    ...(compared ? beforeColumns(model, unit) : []),
  ];
}

/** The bottom-up tree, filtered by the selection. */
function useModel(tree: Tree | undefined, regions: Regions | undefined): BottomUp | undefined {
  const highlighted = useHighlighted();
  const model = useMemo(
    () => tree && regions && new BottomUp(tree, regions.count, (region) => nameOf(regions, region)),
    [tree, regions],
  );
  useMemo(() => {
    model?.only((region) => !highlighted || (region !== NONE && highlighted[region] === 1));
  }, [model, highlighted]);
  return model;
}

export function BottomUpView() {
  const store = useStore();
  const { region } = useSelection();
  const tree = useTree(true);
  const regions = useRegions();
  const model = useModel(tree.data, regions.data);
  const [sorting, sort] = useState("excl");
  const [chosen, choose] = useState(NONE);
  const [, again] = useReducer((n: number) => n + 1, 0);
  useReport(() => model && {
    ready: !tree.loading,
    total: tree.data?.total,
    weight: tree.data?.weight.name,
    functions: model.shown.length,
    rows: Array.from(model.shown.subarray(0, 200), (node) => reported(model, regions.data!, node)),
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
      <Toolbar status={`${count(model.shown.length)} rows, ${tree.data.weight.show(model.total("excl"))} ${tree.data.weight.self}`}>
        <Shows />
        <span class="soft hint">→ opens callers, ← closes, * opens the path with the most time</span>
        <button class="quiet" onClick={() => act(() => model.closeAll())}>
          Close all
        </button>
      </Toolbar>
      <Uncompared problem={tree.data.baseNone} />
      <VirtualTable
        label="Functions by self time, with their callers"
        order={model.shown}
        columns={columnsOf(model, regions.data, tree.data, tree.data.base !== undefined, toggle)}
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

function reported(model: BottomUp, regions: Regions, node: number) {
  const { region, depth, excl, incl, visits, hidden, baseExcl } = model.row(node);
  return { name: nameOf(regions, region, hidden), depth, excl, incl, visits, before: baseExcl };
}
