// SPDX-License-Identifier: BSD-3-Clause
// The call graph: the functions with the most time, the calls between them, and frames around modules.
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { PaintChoice, Uncompared, usePaint } from "../parts/against";
import { type CallGraph, callGraph, shareFor } from "../calltree/callgraph";
import { type Measure, changeText } from "../data/change";
import { type Colour, css, muted, ofChange } from "../draw/colour";
import { MPI, type Regions } from "../data/facts";
import { type Camera, type Paint, type Picture, centred, draw, fitted, fitting, nodeAt, picture, readable, stepped, zoomed } from "../draw/graphdraw";
import { Links, Pinned } from "../charts/pinned";
import { Bars } from "../parts/Bars";
import { useTree } from "../state/calls";
import { useDark, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Canvas, type Point } from "../parts/Canvas";
import { Empty, Waiting } from "../parts/Empty";
import { Legend } from "../parts/legend";
import { Choice, Menu, Toolbar } from "../parts/Menu";
import { nameOf } from "../parts/Named";
import { Pairs, Tooltip } from "../parts/Tooltip";
import { Shows } from "../parts/shows";
import { basePaths } from "../calltree/paths";
import { useRegionColours } from "../state/colours";
import { useHighlighted } from "../state/highlighted";
import type { Tree } from "../calltree/tree";
import { count, percent, signed, time } from "../data/units";
import { TIME, type Weight } from "../data/weight";

const LIMIT = 200; // maximum of functions in the picture
const CALLS = 500; // maximum of calls; more would hide the functions
const CLEAR = 50; // functions in the first picture
const LIMITS = [CLEAR, 42, 36, 30, 25, 20, 16, 12, 9, 6]; // of which the first picture has as many as are readable
const SHARES = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];
const options = SHARES.map((share) => ({ value: String(share), title: share ? `${share * 100} %` : "all" }));
const FRAMES = [
  { value: "on", title: "Modules framed" },
  { value: "off", title: "Plain" },
];
const SAME = 70; // px; a change of the page's size that changes no picture
const NAMED = 5; // functions beyond the limit that are named

/** The graph of the other run, with the same indices of functions and calls; undefined: one run. */
function graphBefore(tree: Tree, regions: number): CallGraph | undefined {
  const base = basePaths(tree);
  return base && callGraph(base, regions);
}

function changed(now: number, before: number): string {
  return now === before ? "unchanged" : `${signed(time(now - before), now - before)} (${changeText({ now, before })})`;
}

interface Size {
  width: number;
  height: number;
}

/** least: smallest share; undefined: chosen for a clear picture, of the size of the page. */
function useDrawn(least: string | undefined, leastCall: string, framed: boolean, around: number | undefined, paint: "module" | Measure, size: Size) {
  const tree = useTree(true);
  const known = useRegions();
  const regions = known.data;
  const graph = useMemo(() => tree.data && regions && callGraph(tree.data, regions.count), [tree.data, regions]);
  const before = useMemo(() => (tree.data && regions ? graphBefore(tree.data, regions.count) : undefined), [tree.data, regions]);
  const total = tree.data?.total ?? 0;
  const share = least === undefined && graph ? shareFor(graph, total, SHARES, CLEAR) : Number(least ?? 0);
  const first = least === undefined && around === undefined && size.width > 0; // nothing was chosen
  const space = useRef(size);
  // the lines above depend on the picture, and the height that they leave must not change it again
  if (Math.abs(space.current.width - size.width) > SAME || Math.abs(space.current.height - size.height) > SAME) space.current = size;
  const { width, height } = space.current;
  const drawn = useMemo(() => {
    if (!graph || !regions) return undefined;
    const words = {
      module: (region: number) => regions.moduleOf(region) || (regions.groupOf(region) === MPI ? MPI : ""),
      // modules all have one name in their frames
      name: (region: number) => (regions.qualnames[region] === "<module>" ? "" : regions.qualnames[region]!) || nameOf(regions, region),
      numbers: (region: number, recursive: number) =>
        `${before ? `${changed(graph.incl[region]!, before.incl[region]!)} · ` : ""}${percent(graph.incl[region]! / total)} · self ${percent(graph.excl[region]! / total)}${graph.visits[region] ? ` · ${count(graph.visits[region]!)}×` : ""}${recursive ? ` ↻${count(recursive)}` : ""}`,
    };
    const beside = before && paint !== "module" ? { graph: before, measure: paint } : undefined;
    const make = (limit: number): Picture =>
      picture(graph, { total, node: share, edge: Number(leastCall), limit, edgeLimit: CALLS, ...(around !== undefined && { around }) }, framed, words, beside);
    return first ? fitting(LIMITS, make, width, height) : make(size.width ? LIMIT : CLEAR);
  }, [graph, before, regions, share, leastCall, framed, around, paint, first, first && width, first && height]);
  return { drawn, before, weight: tree.data?.weight ?? TIME, baseNone: tree.data?.baseNone, share: String(share), regions, loading: tree.loading, problem: tree.problem ?? known.problem };
}

function paintOf(dark: boolean, own: (region: number) => Colour, highlighted: Uint8Array | undefined): Paint {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    paper: of("paper"),
    raised: of("raised"),
    ink: of("ink"),
    soft: of("soft"),
    line: of("line"),
    accent: of("accent"),
    colour: (region) => css(own(region)),
    changed: (change) => css(ofChange(change, dark)),
    muted: css(muted(dark)),
    highlighted: (region) => !highlighted || highlighted[region] === 1,
  };
}

/** Number of functions that were called only in the other run. */
function goneIn(graph: CallGraph, before: CallGraph): number {
  let n = 0;
  for (let r = 0; r < graph.regions; r++) if (!graph.visits[r] && !graph.incl[r] && (before.visits[r] || before.incl[r])) n++;
  return n;
}

function leftOut({ picked, graph }: Picture, before: CallGraph | undefined, regions: Regions): string {
  const parts = [];
  const gone = before ? goneIn(graph, before) : 0;
  if (gone) parts.push(`${count(gone)} ${gone === 1 ? "function" : "functions"} of the other run alone`);
  const { beyond, small, smallEdges } = picked;
  if (beyond.length) {
    const names = Array.from(beyond.subarray(0, NAMED), (region) => nameOf(regions, region)).join(", ");
    parts.push(`no space for ${count(beyond.length)} functions: ${names}${beyond.length > NAMED ? "…" : ""}`);
  }
  if (small) parts.push(`${count(small)} smaller ${small === 1 ? "function" : "functions"}`);
  if (smallEdges) parts.push(`${count(smallEdges)} smaller ${smallEdges === 1 ? "call" : "calls"}`);
  if (graph.hidden) parts.push(`${count(graph.hidden)} small call paths`);
  return parts.length ? `not drawn: ${parts.join("; ")}` : "all functions and calls are drawn";
}

interface AboutProps {
  p: Picture;
  before: CallGraph | undefined;
  weight: Weight;
  regions: Regions;
  region: number;
}

function About({ p, before, weight, regions, region }: AboutProps) {
  const { graph, total } = p;
  return (
    <>
      <b>{nameOf(regions, region)}</b>
      <Pairs
        of={[
          [weight.total, `${weight.show(graph.incl[region]!)}, ${percent(graph.incl[region]! / total)}`],
          before !== undefined && ["before, and the change", changed(graph.incl[region]!, before.incl[region]!)],
          [weight.self, `${weight.show(graph.excl[region]!)}, ${percent(graph.excl[region]! / total)}`],
          graph.visits[region]! > 0 && ["calls", count(graph.visits[region]!)],
          regions.placeOf(region) !== "" && ["defined at", regions.placeOf(region)],
        ]}
      />
    </>
  );
}

/** The functions at the other end of the drawn calls of a function, the calls with the most time first. */
function Ends({ p, weight, regions, edges, end }: { p: Picture; weight: Weight; regions: Regions; edges: readonly number[]; end: "caller" | "callee" }) {
  const store = useStore();
  const { graph } = p;
  const sorted = [...edges].sort((a, b) => graph.edgeIncl[b]! - graph.edgeIncl[a]!);
  if (!sorted.length) return null;
  return (
    <>
      <h2>{end === "caller" ? "Called by" : "Calls"}</h2>
      <Bars
        rows={sorted.map((e) => {
          const region = graph[end][e]!;
          return {
            key: String(e),
            text: regions.qualnames[region] || nameOf(regions, region),
            hint: nameOf(regions, region),
            share: graph.edgeIncl[e]! / p.total,
            value: weight.show(graph.edgeIncl[e]!),
            colour: "var(--accent)",
            chosen: false,
            faded: false,
            go: () => store.select({ region }, "replace"),
          };
        })}
      />
    </>
  );
}

/** The selected function beside the graph. It is there without a selection, too: another width would be another graph. */
function Beside({ p, before, weight, regions }: { p: Picture; before: CallGraph | undefined; weight: Weight; regions: Regions }) {
  const store = useStore();
  const { region } = useSelection();
  if (region === undefined || !(region in regions.names))
    return (
      <aside class="beside pin" aria-label="The selected function">
        <p class="fine">Click a function to pin its details here: its times, its callers and callees, and links to other views.</p>
      </aside>
    );
  const edges = Array.from(p.picked.edges);
  return (
    <Pinned links={<Links regions={regions} region={region} path={undefined} />} unpin={() => store.select({ region: undefined }, "replace")}>
      <About p={p} before={before} weight={weight} regions={regions} region={region} />
      <Ends p={p} weight={weight} regions={regions} edges={edges.filter((e) => p.graph.callee[e] === region)} end="caller" />
      <Ends p={p} weight={weight} regions={regions} edges={edges.filter((e) => p.graph.caller[e] === region)} end="callee" />
    </Pinned>
  );
}

function spoken(p: Picture, regions: Regions, node: number): string {
  const region = p.picked.nodes[node];
  if (region === undefined) return "Arrow keys follow the calls with the most time, plus and minus zoom, 0 shows the whole graph";
  const edges = Array.from(p.picked.edges);
  const callers = edges.filter((e) => p.graph.callee[e] === region).length;
  const callees = edges.filter((e) => p.graph.caller[e] === region).length;
  return `${nameOf(regions, region)}, ${p.texts[node]!.numbers}, ${callers} callers and ${callees} callees in the picture`;
}

interface DrawingProps {
  p: Picture;
  before: CallGraph | undefined;
  weight: Weight;
  regions: Regions;
  size: Size;
  resize: (size: Size) => void;
}

function Drawing({ p, before, weight, regions, size, resize }: DrawingProps) {
  const store = useStore();
  const dark = useDark();
  const { region } = useSelection();
  const [own, look] = useState<{ of: Picture; camera: Camera } | undefined>(undefined);
  const [from, hold] = useState<Camera | undefined>(undefined);
  const [hover, setHover] = useState<{ node: number; at: Point } | undefined>(undefined);
  const chosen = region === undefined ? -1 : (p.indexOf.get(region) ?? -1);
  const camera = own?.of === p ? own.camera : readable(p, Math.max(0, chosen), size.width, size.height);
  const see = (to: Camera): true => (look({ of: p, camera: to }), true);
  const highlighted = useHighlighted();
  const colours = useRegionColours(regions);
  const paint = useMemo(() => paintOf(dark, colours, highlighted), [dark, colours, highlighted]);
  const drawing = useCallback(
    (pen: CanvasRenderingContext2D, width: number, height: number) => draw(pen, p, camera, width, height, paint, chosen),
    [p, camera.left, camera.top, camera.scale, paint, chosen],
  );
  const choose = (node: number): void => {
    store.select({ region: p.picked.nodes[node]! }, "replace");
    const box = p.layout.nodes[node]!;
    const x = (box.x + camera.left) * camera.scale;
    const y = (box.y + camera.top) * camera.scale;
    const seen = x > 0 && y > 0 && x + box.width * camera.scale < size.width && y + box.height * camera.scale < size.height;
    if (!seen) see(centred(box, camera.scale, size.width, size.height));
    else see(camera);
  };
  const key = (event: KeyboardEvent): boolean => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const middle = [size.width / 2, size.height / 2] as const;
    if (event.key === "+" || event.key === "=") return see(zoomed(camera, 1.25, ...middle));
    if (event.key === "-") return see(zoomed(camera, 0.8, ...middle));
    if (event.key === "0") return see(fitted(p, size.width, size.height));
    if (event.key === "Enter" && chosen >= 0) return store.select({ view: "callers" }), true;
    if (event.key === "Escape") return store.select({ region: undefined }, "replace"), true;
    if (!event.key.startsWith("Arrow")) return false;
    const to = chosen < 0 ? 0 : stepped(p, chosen, event.key);
    if (to >= 0) choose(to);
    return true;
  };
  return (
    <>
      <Canvas
        label="Call graph, callers above callees"
        spoken={spoken(p, regions, chosen)}
        draw={drawing}
        cursor={hover ? "pointer" : "grab"}
        onSize={(width, height) => resize({ width, height })}
        onPoint={(at) => {
          const node = nodeAt(p, camera, at.x, at.y);
          setHover(node < 0 ? undefined : { node, at });
        }}
        onLeave={() => setHover(undefined)}
        onClick={(at) => {
          const node = nodeAt(p, camera, at.x, at.y);
          if (node >= 0) choose(node);
        }}
        onDouble={(at) => {
          const node = nodeAt(p, camera, at.x, at.y);
          if (node >= 0) store.select({ view: "callers", region: p.picked.nodes[node]! });
        }}
        onDrag={(start, to, done) => {
          const base = from ?? camera;
          see({ ...base, left: base.left + (to.x - start.x) / base.scale, top: base.top + (to.y - start.y) / base.scale });
          hold(done ? undefined : base);
        }}
        onWheel={(at, _, dy) => see(zoomed(camera, Math.exp(-dy * 0.0015), at.x, at.y))}
        onKey={key}
      />
      {hover && p.picked.nodes[hover.node] !== undefined && (
        <Tooltip x={hover.at.clientX} y={hover.at.clientY}>
          <About p={p} before={before} weight={weight} regions={regions} region={p.picked.nodes[hover.node]!} />
        </Tooltip>
      )}
    </>
  );
}

export function GraphView() {
  const { region } = useSelection();
  const [least, setLeast] = useState<string | undefined>(undefined);
  const [leastCall, setLeastCall] = useState("0.005");
  const [frames, setFrames] = useState("on");
  const [extent, setExtent] = useState("all");
  const around = extent === "around" ? region : undefined;
  const [paint, setPaint] = usePaint();
  const [size, resize] = useState<Size>({ width: 0, height: 0 });
  const { drawn, before, weight, baseNone, share, regions, loading, problem } = useDrawn(least, leastCall, frames === "on", around, paint, size);
  useReport(() => drawn && regions && { ready: !loading && (size.width > 0 || !drawn.picked.nodes.length), scale: fitted(drawn, size.width, size.height).scale, weight: weight.name, ...reported(drawn, before, regions) });
  if (!drawn || !regions) return <Waiting problem={problem} what="the call tree" />;
  return (
    <>
      <Toolbar status={`${count(drawn.picked.nodes.length)} functions, ${count(drawn.picked.edges.length)} calls`}>
        <Shows />
        <Menu label="Functions from" value={share} options={options} onChange={setLeast} />
        <Menu label="Calls from" value={leastCall} options={options} onChange={setLeastCall} />
        <PaintChoice paint={paint} onPaint={setPaint} none={baseNone} />
        <Choice label="Frames" value={frames} options={FRAMES} onChange={setFrames} />
        <Choice
          label="Extent"
          value={extent}
          options={[
            { value: "all", title: "All" },
            { value: "around", title: region === undefined || !(region in regions.qualnames) ? "Around a selected function" : `Around ${regions.qualnames[region]}` },
          ]}
          onChange={setExtent}
        />
      </Toolbar>
      <Uncompared problem={baseNone} />
      {(paint === "module" || !before) && <Legend />}
      <p class="note line">{leftOut(drawn, before, regions)}</p>
      {drawn.picked.nodes.length ? (
        <div class="split">
          <Drawing p={drawn} before={before} weight={weight} regions={regions} size={size} resize={resize} />
          <Beside p={drawn} before={before} weight={weight} regions={regions} />
        </div>
      ) : (
        <Empty title="No function has that much of the time">Choose a smaller share above.</Empty>
      )}
    </>
  );
}

function reported({ picked, graph, layout, clusters, change: drawnChange }: Picture, before: CallGraph | undefined, regions: Regions) {
  return {
    nodes: Array.from(picked.nodes, (region) => ({
      name: regions.names[region],
      incl: graph.incl[region],
      excl: graph.excl[region],
      visits: graph.visits[region],
      before: before?.incl[region],
    })),
    edges: Array.from(picked.edges, (e) => ({
      from: regions.names[graph.caller[e]!],
      to: regions.names[graph.callee[e]!],
      incl: graph.edgeIncl[e],
      visits: graph.edgeVisits[e],
      before: before?.edgeIncl[e],
    })),
    stubs: Array.from(picked.stubs, (region) => regions.names[region]),
    beyond: picked.beyond.length,
    small: picked.small,
    clusters,
    change: drawnChange,
    size: [layout.width, layout.height],
  };
}
