// SPDX-License-Identifier: BSD-3-Clause
// A function between its callers, above, and its callees, below.
import { useCallback, useMemo, useState } from "preact/hooks";
import { PaintChoice, Uncompared, usePaint } from "../parts/against";
import { type Measure, both, change, changeOf, largestChange } from "../data/change";
import { type Colour, css, INK, ofChange } from "../draw/colour";
import { NONE } from "../data/columns";
import type { Regions } from "../data/facts";
import { useTree } from "../state/calls";
import { useDark, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { useRegionColours } from "../state/colours";
import { useHighlighted } from "../state/highlighted";
import { Canvas, type Point } from "../parts/Canvas";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named, nameOf } from "../parts/Named";
import { Pairs, Tooltip } from "../parts/Tooltip";
import { Shows } from "../parts/shows";
import { type Column, VirtualTable } from "../parts/VirtualTable";
import type { Paths } from "../calltree/paths";
import { type Edge, type Sandwich, sandwich } from "../calltree/sandwich";
import { BAND, Sides, type Spot, drawSides } from "../draw/sides";
import { type Unit, count, percent } from "../data/units";
import type { Weight } from "../data/weight";
import type { View } from "../parts/view";

/** The description of the box with the focus. */
function spoken(sides: Sides, regions: Regions, weight: Weight, spot: Spot): string {
  const tree = sides.tree(spot.half);
  const name = nameOf(regions, tree.region[spot.row]!, tree.hidden[spot.row]!);
  const share = percent(tree.incl[spot.row]! / sides.total);
  if (spot.row === 0) return `${name}, ${weight.say(sides.total)}; arrow up for its callers, down for its callees`;
  return `${name}, ${weight.say(tree.incl[spot.row]!)}, ${share}, ${spot.half === "up" ? "caller" : "callee"}`;
}

function Hint({ sides, regions, weight, spot, at }: { sides: Sides; regions: Regions; weight: Weight; spot: Spot; at: Point }) {
  const tree = sides.tree(spot.half);
  const region = tree.region[spot.row]!;
  return (
    <Tooltip x={at.clientX} y={at.clientY}>
      <b>{nameOf(regions, region, tree.hidden[spot.row]!)}</b>
      <Pairs
        of={[
          [spot.half === "up" ? `${weight.name} by these callers` : weight.total, `${weight.show(tree.incl[spot.row]!)}, ${percent(tree.incl[spot.row]! / sides.total)}`],
          spot.half === "down" && region !== NONE && [weight.self, weight.show(tree.excl[spot.row]!)],
          tree.visits[spot.row]! > 0 && ["calls", count(tree.visits[spot.row]!)],
          tree.base !== undefined && ["before, and the change", both(weight.show.bind(weight), { now: tree.incl[spot.row]!, before: tree.base.incl[spot.row]! })],
          region !== NONE && regions.placeOf(region) !== "" && ["defined at", regions.placeOf(region)],
        ]}
      />
    </Tooltip>
  );
}

/** The colour of a row in one of the trees. */
function colouring(of: Sandwich, own: (region: number) => Colour, paint: "module" | Measure, dark: boolean, highlighted: Uint8Array | undefined): (tree: Paths, row: number) => string {
  const small = css(dark ? [60, 63, 68] : [226, 228, 231]);
  const most = Math.max(...[of.up, of.down].map(({ incl, base }) => (base ? largestChange(incl, base.incl) : 0)));
  return ({ region, incl, base }, row) => {
    if (highlighted && !highlighted[region[row]!]) return small;
    if (paint !== "module" && base) return css(ofChange(change(incl[row]!, base.incl[row]!, paint, most), dark));
    return region[row] === NONE ? small : css(own(region[row]!));
  };
}

function Picture({ of, regions, weight, paint, go }: { of: Sandwich; regions: Regions; weight: Weight; paint: "module" | Measure; go: (region: number) => void }) {
  const dark = useDark();
  const highlighted = useHighlighted();
  const own = useRegionColours(regions);
  const colour = useMemo(() => colouring(of, own, paint, dark, highlighted), [of, own, paint, dark, highlighted]);
  const sides = useMemo(() => new Sides(of), [of]);
  const [size, resize] = useState({ width: 0, height: 0 });
  const [scroll, setScroll] = useState(0);
  const [spot, setSpot] = useState<Spot>({ half: "down", row: 0 });
  const [hover, setHover] = useState<{ spot: Spot; at: Point } | undefined>(undefined);
  const middle = sides.middle(size.height) + scroll;
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, width: number, height: number) =>
      drawSides(pen, sides, {
        width,
        height,
        middle: sides.middle(height) + scroll,
        style: getComputedStyle(document.documentElement),
        colour,
        ink: css(INK[dark ? "dark" : "light"]),
        name: (region, hidden) => nameOf(regions, region, hidden),
        spot,
      }),
    [sides, regions, colour, dark, scroll, spot],
  );
  const scrollTo = (to: number): void => setScroll(sides.bounded(to, size.height));
  const move = (to: Spot): true => {
    setSpot(to);
    const y = sides.top(to, middle);
    if (y < 0) scrollTo(scroll - y);
    else if (y + BAND > size.height) scrollTo(scroll - (y + BAND - size.height));
    return true;
  };
  const key = (event: KeyboardEvent): boolean => {
    const region = sides.tree(spot.half).region[spot.row]!;
    if (event.key === "Enter" && region !== NONE) return go(region), true;
    if (event.key === "Escape") return move({ half: "down", row: 0 });
    const to = sides.step(spot, event.key);
    return to ? move(to) : false;
  };
  const find = (at: Point): Spot | undefined => sides.at(at.x, at.y, middle, size.width);
  return (
    <>
      <Canvas
        label="Callers above the function, callees below it"
        spoken={spoken(sides, regions, weight, spot)}
        draw={draw}
        cursor={hover ? "pointer" : undefined}
        onSize={(width, height) => resize({ width, height })}
        onPoint={(at) => {
          const found = find(at);
          setHover(found && { spot: found, at });
        }}
        onLeave={() => setHover(undefined)}
        onClick={(at) => {
          const found = find(at);
          if (found) setSpot(found);
        }}
        onDouble={(at) => {
          const found = find(at);
          const region = found && sides.tree(found.half).region[found.row]!;
          if (region !== undefined && region !== NONE) go(region);
        }}
        onDrag={(from, to, done) => done && scrollTo(scroll + to.y - from.y)}
        onWheel={(_, __, dy) => (scrollTo(scroll - dy), true)}
        onKey={key}
      />
      {hover && <Hint sides={sides} regions={regions} weight={weight} spot={hover.spot} at={hover.at} />}
    </>
  );
}

function beforeColumns(edges: readonly Edge[], weight: Weight, unit: Unit): Column[] {
  const of = (i: number) => ({ now: edges[i]!.incl, before: edges[i]!.before ?? 0 });
  return [
    { id: "before", title: "Before", unit: unit.name, hint: "In the other run or range of time", width: "92px", cell: (i) => weight.cell(of(i).before, unit) },
    { id: "change", title: "Change", unit: "%", width: "84px", cell: (i) => changeOf(of(i)), full: (i) => both(weight.show.bind(weight), of(i)) },
  ];
}

interface EdgesProps {
  title: string;
  edges: readonly Edge[];
  total: number;
  compared: boolean;
  regions: Regions;
  weight: Weight;
  go: (region: number) => void;
}

function Edges({ title, edges, total, compared, regions, weight, go }: EdgesProps) {
  const [chosen, choose] = useState<number | undefined>(undefined);
  const unit = weight.unit(total);
  const called = edges.some(({ visits }) => visits > 0);
  const order = useMemo(() => Uint32Array.from(edges.keys()), [edges]);
  const columns: Column[] = [
    {
      id: "name",
      title,
      width: "minmax(140px, 1fr)",
      left: true,
      cell: (i) => <Named regions={regions} region={edges[i]!.region} text={nameOf(regions, edges[i]!.region, edges[i]!.visits)} />,
    },
    { id: "time", title: weight.metric ? weight.total : "Total", unit: unit.name, width: "92px", cell: (i) => weight.cell(edges[i]!.incl, unit) },
    { id: "share", title: "Of total", unit: "%", width: "84px", cell: (i) => percent(edges[i]!.incl / total), bar: (i) => edges[i]!.incl / total },
    ...(compared ? beforeColumns(edges, weight, unit) : []),
    ...(called ? [{ id: "calls", title: "Calls", width: "84px", cell: (i: number) => count(edges[i]!.visits) }] : []),
  ];
  return (
    <VirtualTable
      label={title}
      order={order}
      columns={columns}
      selected={chosen}
      onSelect={choose}
      onOpen={(i) => edges[i]!.region !== NONE && regions.kindOf(edges[i]!.region) !== "root" && go(edges[i]!.region)}
    />
  );
}

/** The function with the most exclusive time, shown if none is selected. */
function hottest(excl: Float64Array, region: Uint32Array, regions: Regions): number | undefined {
  const excls = new Float64Array(regions.count);
  for (let i = 0; i < excl.length; i++) if (region[i] !== NONE && regions.kindOf(region[i]!) !== "root") excls[region[i]!]! += excl[i]!;
  const best = excls.reduce((at, v, i) => (v > excls[at]! ? i : at), 0);
  return excls[best]! > 0 ? best : undefined;
}

function Callers() {
  const store = useStore();
  const { region } = useSelection();
  const [paint, setPaint] = usePaint();
  const tree = useTree(true);
  const known = useRegions();
  const regions = known.data;
  const shown = useMemo(
    () => region ?? (tree.data && regions && hottest(tree.data.excl, tree.data.region, regions)),
    [tree.data, regions, region],
  );
  const found = useMemo(
    () => (tree.data && regions && shown !== undefined ? sandwich(tree.data, shown, regions.count) : undefined),
    [tree.data, regions, shown],
  );
  useReport(() => (found && regions ? { ready: !tree.loading, weight: tree.data!.weight.name, ...reported(found, regions) } : { ready: Boolean(tree.data && regions) }));
  if (!tree.data || !regions) return <Waiting problem={tree.problem ?? known.problem} what="the call tree" />;
  if (!found)
    return (
      <Empty title={shown === undefined ? "No function ran" : `${nameOf(regions, shown)} did not run here`}>
        Choose a function in another view, or select other ranks, threads or a longer range of time.
      </Empty>
    );
  const go = (to: number): void => store.select({ region: to });
  const recursive = found.visits - found.outermost;
  const { base } = found;
  const { weight } = tree.data;
  return (
    <>
      <Toolbar hint="Enter or a double click selects a function; arrows move the focus">
        <Shows />
        <b>{nameOf(regions, found.region)}</b>
        <span>
          {weight.show(found.incl)} total, {percent(found.incl / tree.data.total)}
        </span>
        <span>
          {weight.show(found.excl)} self, {percent(found.excl / tree.data.total)}
        </span>
        {found.visits > 0 && <span>
          {count(found.visits)} {found.visits === 1 ? "call" : "calls"}
          {recursive > 0 && `, ${count(recursive)} of them within another one: counted once in the total`}
        </span>}
        {base && <span title={`${weight.show(base.incl)} there`}>{`before, and the change: ${both(weight.show.bind(weight), { now: found.incl, before: base.incl })}`}</span>}
        <PaintChoice paint={paint} onPaint={setPaint} none={tree.data.baseNone} />
      </Toolbar>
      <Uncompared problem={tree.data.baseNone} />
      <div class="halves">
        <Picture key={found.region} of={found} regions={regions} weight={weight} paint={paint} go={go} />
        <div class="side">
          <Edges key={`up${found.region}`} title="Called by" edges={found.callers} total={found.incl} compared={base !== undefined} regions={regions} weight={weight} go={go} />
          <Edges key={`down${found.region}`} title="Calls" edges={found.callees} total={found.incl} compared={base !== undefined} regions={regions} weight={weight} go={go} />
        </div>
      </div>
    </>
  );
}

function reported(found: Sandwich, regions: Regions) {
  const rows = (edges: readonly Edge[]) =>
    edges.map(({ region, visits, incl, excl, before }) => ({ name: region === NONE ? "" : regions.names[region], visits, incl, excl, before }));
  const { visits, incl, excl, outermost, base } = found;
  const name = regions.names[found.region];
  return { name, visits, outermost, incl, excl, base, callers: rows(found.callers), callees: rows(found.callees), up: found.up.count, down: found.down.count };
}

export const callers: View = {
  id: "callers",
  title: "Callers",
  available: () => true,
  filtered: "toolbar",
  component: Callers,
  keys: [
    ["↑ ↓", "callers, callees"],
    ["← →", "siblings"],
    ["Enter", "puts the function into the middle"],
    ["Escape", "back to the middle"],
  ],
};
