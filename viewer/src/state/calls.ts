// SPDX-License-Identifier: BSD-3-Clause
// Hooks for call trees and tables of functions, as the filters of the selection leave them.
import type { Filters } from "../calltree/filters";
import { flatOfTree } from "../calltree/flat";
import { type Tree, filteredTree, treeBeside, treeIn } from "../calltree/tree";
import type { Columns } from "../data/columns";
import type { Metric, Regions } from "../data/facts";
import { type Flat, asFlat } from "../data/flat";
import { ENTRIES, FILTERS, FOUND, IMPORTS, OWN, RECURSION, type Selection, readRange } from "../data/url";
import { type Weight, chosenMetric, timed, weightOf } from "../data/weight";
import { useContext, useMemo } from "preact/hooks";
import { highlightedIn } from "./highlighted";
import { type Answer, KnownFacts, useAnswer, useRegions, useSelection } from "./hooks";
import { useRoleTree } from "./roles";
import { range } from "./store";

/** The frame of a notebook shows no roles. */
const useTreeAnswer = PAGE ? useRoleTree : useAnswer<"tree", Tree>;

const asTree = (columns: Columns<"tree">): Tree => treeIn(columns);

const makers = new WeakMap<Weight, (columns: Columns<"tree">) => Tree>();

function treeOf(weight: Weight): (columns: Columns<"tree">) => Tree {
  let maker = makers.get(weight);
  if (!maker) makers.set(weight, (maker = (columns) => treeIn(columns, weight)));
  return maker;
}

/** Whether the selection has a filter. That for found functions needs a search or a module. */
export const isFiltered = (selection: Selection): boolean =>
  !PAGE ? selection.code === OWN : FILTERS.some((name) => selection[name] !== undefined && (name !== "only" || selection.search !== undefined || selection.module !== undefined));

function filtersIn(selection: Selection, regions: Regions): Filters {
  if (!PAGE) return { code: OWN };
  const { code, hide, fold, only, least, search, module } = selection;
  return {
    code: code === OWN || code === ENTRIES ? code : undefined,
    noImports: hide === IMPORTS,
    foldRecursion: fold === RECURSION,
    only: only === FOUND ? highlightedIn(regions, search, module) : undefined,
    least: Number(least) || undefined,
  };
}

let last: { regions: Regions; key: string; filters: Filters } | undefined;

/** The filters of the selection; undefined: none. All parts of a view get the same object. */
export function useFilters(): Filters | undefined {
  const selection = useSelection();
  const regions = useRegions().data;
  if (!regions || !isFiltered(selection)) return undefined;
  const key = JSON.stringify([...FILTERS.map((name) => selection[name]), selection.only && [selection.search, selection.module]]);
  if (last?.regions !== regions || last.key !== key) last = { regions, key, filters: filtersIn(selection, regions) };
  return last.filters;
}

/** The call tree of the selection: process, location, range of time, filters. weighed: true: by the selected metric; a metric: by this one,
 * without filters; false: by time. */
export function useTree(weighed: boolean | Metric = false): Answer<Tree> {
  const selection = useSelection();
  const facts = useContext(KnownFacts);
  const metric = typeof weighed === "object" ? weighed : weighed ? chosenMetric(facts, selection) : undefined;
  const answer = useTreeAnswer("tree", { ...range(selection), metric: metric?.name }, metric ? treeOf(weightOf(metric)) : asTree);
  return useShown(answer, typeof weighed !== "object", metric !== undefined);
}

/** The tree of an answer beside that of the other range of time, and without what filters leave out. */
function useShown(answer: Answer<Tree>, filtered: boolean, byMetric: boolean): Answer<Tree> {
  const selection = useSelection();
  const against = useAgainstRange();
  const compared = PAGE && against !== undefined && !byMetric;
  const other = useTreeAnswer(compared ? "tree" : undefined, { ...range(selection), ...against }, asTree);
  const own = useRegions().data?.own;
  const filters = useFilters();
  let { data } = answer;
  if (PAGE && compared) data = data && other.data && treeBeside(data, other.data);
  if (filtered && isFiltered(selection)) data = data && own && filters && filteredTree(data, own, filters);
  return { data, loading: answer.loading || (compared && other.loading), problem: answer.problem ?? (compared ? other.problem : undefined) };
}

/** The range of time with which the selected one is compared; undefined: none. Two runs are compared as wholes only. */
export function useAgainstRange(): { begin: number; end: number } | undefined {
  if (!PAGE) return undefined;
  const { against, begin, end } = useSelection();
  const facts = useContext(KnownFacts);
  return facts?.has.compare || (begin === undefined && end === undefined) ? undefined : readRange(against);
}

/** The call tree of the whole run, if it is wanted. */
export function useWholeTree(wanted: boolean): Answer<Tree> {
  return useAnswer(wanted ? "tree" : undefined, {}, asTree);
}

/** All functions of the selection. With filters, and beside another range of time, they are summed up from the call tree; without times
 * there is neither. */
export const useFlat = (): Answer<Flat> => (PAGE ? useSummed() : useAnswer("flat", range(useSelection()), asFlat));

function useSummed(): Answer<Flat> {
  const selection = useSelection();
  const facts = useContext(KnownFacts);
  const against = useAgainstRange();
  const summed = (isFiltered(selection) || selection.role !== undefined || against !== undefined) && facts !== undefined && timed(facts);
  const flat = useAnswer(summed ? undefined : "flat", range(selection), asFlat);
  const tree = useShown(useTreeAnswer(summed ? "tree" : undefined, range(selection), asTree), true, !summed);
  const made = useMemo(() => (summed ? tree.data && flatOfTree(tree.data) : undefined), [summed, tree.data]);
  return summed ? { ...tree, data: made } : flat;
}
