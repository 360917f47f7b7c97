// SPDX-License-Identifier: BSD-3-Clause
// Shared by icicle and sunburst: the tree, its centre, colours, labels, descriptions of boxes.
import { useMemo, useRef, useState } from "preact/hooks";
import { inverted } from "../calltree/inverted";
import { heldIn, step } from "../calltree/boxes";
import { type Measure, change, largestChange } from "../data/change";
import { type Colour, INK, css, muted, ofChange } from "../draw/colour";
import { NONE } from "../data/columns";
import type { Metric, Regions } from "../data/facts";
import { useTree } from "../state/calls";
import { useDark, useRegions, useSelection, useStore } from "../state/hooks";
import { Pairs } from "../parts/Tooltip";
import { useRegionColours } from "../state/colours";
import { useHighlighted } from "../state/highlighted";
import { type Hits, ROOT, type Tree, hitsIn } from "../calltree/tree";
import { count, percent, shorten, signed, smaller, time } from "../data/units";
import type { Key } from "../parts/view";

/** The keys of both pictures. */
export const TREE_KEYS: readonly Key[] = [
  ["↑ ↓", "caller, callee with the most time"],
  ["← →", "siblings"],
  ["Enter", "into the middle, and selected"],
  ["Space", "selected"],
  ["Escape", "out to the caller"],
  ["Home", "the whole run"],
];

export type Paint = "module" | Measure;

export interface Chart {
  tree: Tree;
  regions: Regions;
  dark: boolean;
  /** Callers are below: rows are functions, then their callers, with the functions' exclusive time. */
  inverted: boolean;
  /** The row that fills the picture. */
  centre: number;
  /** The row of the selected path; ROOT: none. */
  selected: number;
  region: number | undefined;
  /** The selected module, whose functions are highlighted without a search. */
  module: string | undefined;
  /** The rows of highlighted functions. */
  hits: Hits | undefined;
  colour: (row: number) => Colour;
  /** The row with the keyboard focus. */
  focus: number;
  setFocus: (row: number) => void;
  /** Selects the row and makes it the centre. */
  go: (row: number) => void;
  select: (row: number) => void;
  key: (event: KeyboardEvent) => boolean;
}

function colouring(tree: Tree, own: (region: number) => Colour, dark: boolean, paint: Paint): (row: number) => Colour {
  const base = tree.base;
  if (paint === "module" || !base) return (row) => own(tree.region[row]!);
  const most = largestChange(tree.excl, base.excl);
  // a caller contains the change of its callees, so only inclusive time also colours the path to a change
  const largest = Math.max(most, largestChange(tree.incl, base.incl));
  return (row) => ofChange(change(tree.incl[row]!, base.incl[row]!, paint, largest), dark);
}

/** undefined with a message until the tree is loaded. metric: weight of the tree, instead of the selected metric. isInverted: callers are
 * below; never in a notebook's frame. */
export function useChart(paint: Paint, metric?: Metric, isInverted = false): { chart: Chart | undefined; problem: string | undefined } {
  const store = useStore();
  const selection = useSelection();
  const dark = useDark();
  const answer = useTree(metric ?? true);
  const regionsAnswer = useRegions();
  const tree = PAGE && isInverted ? answer.data && inverted(answer.data) : answer.data;
  const regions = regionsAnswer.data;
  const highlighted = useHighlighted();
  const hits = useMemo(() => tree && highlighted && hitsIn(tree, highlighted), [tree, highlighted]);
  const [focus, showFocus] = useState<number | undefined>(undefined);
  const latest = useRef<number | undefined>(undefined); // the latest focus, as keys may come faster than renderings
  const setFocus = (row: number): void => {
    latest.current = row;
    showFocus(row);
  };
  const own = useRegionColours(regions);
  const colour = useMemo(() => (tree && regions ? colouring(tree, own, dark, paint) : undefined), [tree, regions, own, dark, paint]);
  const centre = useMemo(() => tree?.find(PAGE && isInverted ? selection.inverse : selection.centre) ?? ROOT, [tree, isInverted, selection.inverse, selection.centre]);
  const selected = useMemo(() => (PAGE && isInverted ? tree?.find(selection.inverse, true) : tree?.find(selection.path, true)) ?? ROOT, [tree, isInverted, selection.inverse, selection.path]);
  if (!tree || !regions || !colour) return { chart: undefined, problem: answer.problem ?? regionsAnswer.problem };
  const at = focus !== undefined && focus < tree.count ? focus : selected !== ROOT ? selected : centre;
  const select = (row: number): void => {
    const path = tree.pathOf(row);
    setFocus(row);
    if (PAGE && isInverted) store.select({ region: path[path.length - 1], path: undefined });
    else if (path.length) store.select({ path });
    else store.select({ path: undefined, region: undefined });
  };
  const go = (row: number): void => {
    const path = tree.pathOf(row);
    setFocus(row);
    if (PAGE && isInverted) store.select({ region: path[path.length - 1], path: undefined, inverse: path.length ? path : undefined });
    else if (path.length) store.select({ path, centre: path });
    else store.select({ path: undefined, region: undefined, centre: undefined });
  };
  const key = (event: KeyboardEvent): boolean => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const now = latest.current !== undefined && latest.current < tree.count ? latest.current : at;
    const to = step(tree, now, event.key);
    if (to !== undefined) setFocus(to);
    else if (event.key === "Enter") go(now);
    else if (event.key === " ") select(now);
    else if (event.key === "Escape") go(tree.parentOf(centre));
    else if (event.key === "Home") go(ROOT);
    else return false;
    return true;
  };
  return { chart: { tree, regions, dark, inverted: isInverted, centre, selected, region: selection.region, module: selection.search ? undefined : selection.module, hits, colour, focus: at, setFocus, go, select, key }, problem: undefined };
}

export function nameOf(chart: Chart, row: number): string {
  if (row === ROOT) return chart.tree.children(ROOT).length > 1 ? "whole run, all threads" : "whole run";
  const region = chart.tree.region[row]!;
  return region === NONE ? smaller(chart.tree.hidden[row]!) : chart.regions.names[region]!;
}

const calls = (visits: number): string => (visits === 1 ? "1 call" : `${count(visits)} calls`);

/** What the time of a row of an inverted tree is. */
function ofFunction({ tree, regions }: Chart, row: number): string {
  const [outer] = tree.ancestors(row);
  return outer === row ? tree.weight.self : `${tree.weight.self} of ${regions.names[tree.region[outer!]!] ?? "small paths"} through this caller`;
}

/** The description of a row, for screen readers and above the picture. */
export function spoken(chart: Chart, row: number): string {
  const { tree } = chart;
  const incl = tree.inclOf(row);
  const more = row === ROOT ? "" : PAGE && chart.inverted ? `, ${ofFunction(chart, row)}, level ${tree.depth[row]! + 1}` : `, ${tree.weight.self} ${tree.weight.show(tree.excl[row]!)}, ${tree.visits[row] ? `${calls(tree.visits[row]!)}, ` : ""}level ${tree.depth[row]! + 1}`;
  return `${nameOf(chart, row)}: ${tree.weight.say(incl)}, ${percent(tree.total ? incl / tree.total : 0)} of all${more}`;
}

/** The tooltip of a box. until: of a combined box, see Boxes. */
export function About({ chart, row, until }: { chart: Chart; row: number; until: number }) {
  const { tree, regions } = chart;
  if (until) {
    const held = heldIn(tree, row, until);
    return (
      <>
        <b>{count(held.paths)} paths too narrow to draw</b>
        <Pairs
          of={[
            ["together", `${tree.weight.show(held.time)}, ${percent(held.time / tree.total)} of all`],
            ...held.top.map(({ region, time: sum }) => [regions.names[region]!, tree.weight.show(sum)] as const),
          ]}
        />
        <small>Zoom in, or click their caller, to see them.</small>
      </>
    );
  }
  const region = tree.region[row]!;
  const above = tree.parentOf(row);
  const isInverted = PAGE && chart.inverted;
  const incl = tree.incl[row]!;
  const before = tree.base?.incl[row];
  return (
    <>
      <b>{nameOf(chart, row)}</b>
      <div>
        <small>{regions.placeOf(region)}</small>
      </div>
      <Pairs
        of={[
          [PAGE && isInverted ? ofFunction(chart, row) : tree.weight.total, `${tree.weight.show(incl)}, ${percent(incl / tree.total)} of all`],
          tree.running !== undefined && incl > 0 && ["the threads ran", `${time(tree.running[row]!)}, ${percent(tree.running[row]! / incl)} of it`],
          above !== ROOT && [isInverted ? "of the one above" : "of its caller", percent(incl / tree.incl[above]!)],
          !isInverted && [tree.weight.self, `${tree.weight.show(tree.excl[row]!)}, ${percent(tree.excl[row]! / tree.total)} of all`],
          tree.visits[row]! > 0 && ["calls", `${count(tree.visits[row]!)}, ${tree.weight.show(incl / Math.max(1, tree.visits[row]!))} each`],
          before !== undefined && ["before", `${time(before)} (${signed(time(incl - before), incl - before)})`],
        ]}
      />
    </>
  );
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const widths = new Map<string, number>();

/** Caches the widths of letters: to measure a label takes longer than to draw its box. */
export function measurer(pen: CanvasRenderingContext2D): (text: string) => number {
  return (text) => {
    let sum = 0;
    for (const letter of text) {
      let width = widths.get(letter);
      if (width === undefined) widths.set(letter, (width = pen.measureText(letter).width));
      sum += width;
    }
    return sum;
  };
}

const SHORT = 26; // px; labels in narrower boxes are not readable

/** The function's name, shortened to fit: first without its module, then without its middle, as the end has more information. */
export function label(chart: Chart, row: number, until: number, width: number, measure: (text: string) => number): string {
  if (width < SHORT) return "";
  if (until) {
    const paths = chart.tree.pathsIn(row, until);
    const text = smaller(paths);
    return measure(text) <= width ? text : shorten(`${count(paths)}…`, width, measure);
  }
  const region = chart.tree.region[row]!;
  const whole = chart.regions.names[region]!;
  if (measure(whole) <= width) return whole;
  const text = shorten(chart.regions.qualnames[region] || whole, width, measure);
  return text.includes("…") && text.length < 7 ? "" : text; // a few letters such as "_f…d" have no information
}


export function themeColours(chart: Chart): { paper: string; ink: string; faint: string; muted: string; accent: string } {
  return {
    paper: chart.dark ? "#17191c" : "#ffffff",
    ink: css(INK[chart.dark ? "dark" : "light"]),
    faint: chart.dark ? "#a3aab5" : "#565c66",
    muted: css(muted(chart.dark)),
    accent: chart.dark ? "#a8d4ff" : "#003f80",
  };
}

/** The colour of a box, which depends on whether it is combined, and whether it was found by the search. */
export function fillOf(chart: Chart, row: number, until: number): string {
  if (until) return themeColours(chart).muted;
  if (chart.hits && !chart.hits.rows[row]) return themeColours(chart).muted;
  return css(chart.colour(row));
}
