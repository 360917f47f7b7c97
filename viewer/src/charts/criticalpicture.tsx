// SPDX-License-Identifier: BSD-3-Clause
// The picture of the critical path: the shares of its functions in a bar, and below it a lane for each rank or thread, with its pieces over
// time.
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { type Lane, type Lanes, type Piece, type Share, lanesOf, pieceAt, sharesOf } from "../draw/criticalplace";
import type { Critical } from "../data/contract";
import type { Facts, Regions } from "../data/facts";
import { placeName, regionNamed } from "../data/stacks";
import { type Span, ruler } from "../data/timescale";
import { percent, shorten, time } from "../data/units";
import { INK, css, muted } from "../draw/colour";
import { colourOf } from "../draw/curvedraw";
import { type Inks, inksOf, measure, setFont } from "../draw/ink";
import { useRegionColours } from "../state/colours";
import { useDark, useSelection, useStore } from "../state/hooks";
import { Canvas, type Point } from "../parts/Canvas";
import { Pairs, Tooltip } from "../parts/Tooltip";

const PAD = 6; // px
const BAR = 20; // px; height of the functions' bar
const TOP = PAD + BAR + 8; // px; top of the first lane
const LANE = 20; // px; height of a lane
const LEAST_LANE = 11; // px; lower lanes could have no names
const AXIS = 20; // px
const MAX_LANES = 16; // without scrolling; more lanes become lower
const LEAST_SHARE = 0.004; // of functions with a part of the bar

/** The height of the picture, in px. */
export const heightOf = (critical: Critical): number => TOP + Math.min(critical.locations.filter((spent) => spent > 0).length, MAX_LANES) * LANE + AXIS + PAD;

/** A part of the picture: the share of a function, or a piece of the path. */
type Spot = { share: number } | { piece: number };

interface Sight {
  width: number;
  left: number;
  right: number;
  lane: number;
  lanes: Lanes;
  shares: Share[];
  span: Span;
}

const laneName = (facts: Facts, { location }: Lane): string => (location < 0 ? "others" : placeName(facts, location));

function sightOf(critical: Critical, facts: Facts, pen: CanvasRenderingContext2D, width: number, height: number): Sight {
  const space = height - TOP - AXIS - PAD;
  const lanes = lanesOf(critical.locations, Math.max(Math.floor(space / LEAST_LANE), 1));
  setFont(pen);
  const widest = lanes.lanes.reduce((most, lane) => Math.max(most, measure(pen, laneName(facts, lane))), measure(pen, "Functions"));
  const left = Math.min(widest, width * 0.25) + 2 * PAD;
  const [, begin = 0] = critical.pieces[0] ?? [];
  const [, , end = begin + critical.length] = critical.pieces[critical.pieces.length - 1] ?? [];
  return { width, left, right: width - measure(pen, "100.0 %") - 2 * PAD, lane: space / Math.max(lanes.lanes.length, 1), lanes, shares: sharesOf(critical, LEAST_SHARE), span: { begin, end } };
}

/** The part of the picture at a point. */
function spotAt(s: Sight, pieces: readonly Piece[], { x, y }: { x: number; y: number }): Spot | undefined {
  const at = (x - s.left) / (s.right - s.left);
  if (at < 0 || at > 1) return undefined;
  if (y < TOP) {
    const share = s.shares.findIndex(({ begin, end }) => at >= begin && at <= end);
    return y >= PAD && y < PAD + BAR && share >= 0 ? { share } : undefined;
  }
  const piece = pieceAt(pieces, s.span.begin + at * (s.span.end - s.span.begin));
  return piece < 0 || y > TOP + s.lanes.lanes.length * s.lane ? undefined : { piece };
}

interface Paint {
  inks: Inks;
  dark: boolean;
  facts: Facts;
  colour: (name: string) => string;
  /** The selected thread, function and range of time. */
  location: number | undefined;
  region: string | undefined;
  chosen: Span | undefined;
  focus: Spot | undefined;
}

function paintShares(pen: CanvasRenderingContext2D, s: Sight, p: Paint): void {
  const wide = s.right - s.left;
  pen.fillStyle = p.inks.soft;
  pen.fillText("Functions", s.left - PAD - measure(pen, "Functions"), PAD + BAR / 2 + 1);
  s.shares.forEach(({ region, begin, end }, i) => {
    const [x, width] = [s.left + begin * wide, (end - begin) * wide];
    pen.globalAlpha = p.region === undefined || p.region === region?.name ? 1 : 0.35;
    pen.fillStyle = region ? p.colour(region.name) : css(muted(p.dark));
    pen.fillRect(x, PAD, Math.max(width - 1, 0.5), BAR);
    pen.globalAlpha = 1;
    if (width > 44) {
      pen.fillStyle = css(INK[p.dark ? "dark" : "light"]);
      const share = ` ${percent(end - begin)}`;
      const space = region ? width - 8 - measure(pen, share) : 0;
      const name = shorten(region?.name ?? "others", space > 30 ? space : width - 8, (part) => measure(pen, part));
      pen.fillText(space > 30 ? name + share : name, x + 4, PAD + BAR / 2 + 1);
    }
    if (p.focus && "share" in p.focus && p.focus.share === i) {
      pen.strokeStyle = p.inks.ink;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, PAD + 1, Math.max(width - 3, 2), BAR - 2);
    }
  });
}

function paintPieces(pen: CanvasRenderingContext2D, s: Sight, pieces: readonly Piece[], p: Paint): void {
  const scale = (s.right - s.left) / (s.span.end - s.span.begin || 1);
  const x = (at: number): number => s.left + (at - s.span.begin) * scale;
  const high = Math.max(s.lane - 4, 3);
  const drawn = new Float64Array(s.lanes.lanes.length).fill(-1); // px; right end of what is drawn in each lane
  let before = -1;
  let joined = -1; // px; the last line between two lanes
  pieces.forEach(([location, from, to], i) => {
    const lane = s.lanes.of[location]!;
    const y = TOP + lane * s.lane + (s.lane - high) / 2;
    const [left, right] = [x(from), Math.max(x(to), x(from) + 0.7)];
    pen.globalAlpha = (p.location ?? location) === location ? 1 : 0.35;
    if (before >= 0 && before !== lane && left - joined >= 1) {
      pen.fillStyle = p.inks.soft;
      const [top, bottom] = [Math.min(before, lane), Math.max(before, lane)];
      pen.fillRect(left, TOP + (top + 0.5) * s.lane, 1, (bottom - top) * s.lane);
      joined = left;
    }
    before = lane;
    if (right > drawn[lane]! + 0.3) {
      pen.fillStyle = colourOf(location, p.dark);
      pen.fillRect(Math.max(left, drawn[lane]!), y, right - Math.max(left, drawn[lane]!), high);
      drawn[lane] = right;
    }
    pen.globalAlpha = 1;
    if (p.focus && "piece" in p.focus && p.focus.piece === i) {
      pen.strokeStyle = p.inks.ink;
      pen.lineWidth = 2;
      pen.strokeRect(left, y - 1, Math.max(right - left, 2), high + 2);
    }
  });
}

function paint(pen: CanvasRenderingContext2D, s: Sight, critical: Critical, p: Paint, height: number): void {
  const { inks } = p;
  pen.fillStyle = inks.paper;
  pen.fillRect(0, 0, s.width, height);
  setFont(pen);
  const bottom = TOP + s.lanes.lanes.length * s.lane;
  const scale = (s.right - s.left) / (s.span.end - s.span.begin || 1);
  if (p.chosen) {
    pen.fillStyle = inks.accent;
    pen.globalAlpha = 0.16;
    const [from, to] = [Math.max(p.chosen.begin, s.span.begin), Math.min(p.chosen.end, s.span.end)];
    pen.fillRect(s.left + (from - s.span.begin) * scale, TOP, Math.max(to - from, 0) * scale, bottom - TOP);
    pen.globalAlpha = 1;
  }
  for (const tick of ruler(s.span, s.right - s.left).ticks) {
    const x = s.left + (tick.time - s.span.begin) * scale;
    pen.fillStyle = inks.line;
    pen.fillRect(x, TOP, 1, bottom - TOP + 4);
    pen.fillStyle = inks.soft;
    if (x + 4 + measure(pen, tick.label) < s.width) pen.fillText(tick.label, x + 3, bottom + AXIS / 2 + 2);
  }
  paintShares(pen, s, p);
  const least = Math.max(Math.ceil(LEAST_LANE / s.lane), 1);
  s.lanes.lanes.forEach((lane, i) => {
    const y = TOP + (i + 0.5) * s.lane;
    pen.fillStyle = inks.line;
    pen.fillRect(s.left, TOP + i * s.lane, s.right - s.left, 1);
    if (i % least) return;
    const name = shorten(laneName(p.facts, lane), s.left - 2 * PAD, (part) => measure(pen, part));
    pen.fillStyle = lane.location === p.location ? inks.accent : inks.ink;
    pen.fillText(name, s.left - PAD - measure(pen, name), y + 1);
    const share = percent(lane.time / critical.length);
    pen.fillStyle = inks.soft;
    pen.fillText(share, s.width - PAD - measure(pen, share), y + 1);
  });
  paintPieces(pen, s, critical.pieces, p);
}

function pairsOf(critical: Critical, facts: Facts, s: Sight, spot: Spot): [string, string][] {
  if ("piece" in spot) {
    const [location, from, to] = critical.pieces[spot.piece]!;
    return [
      ["in", placeName(facts, location)],
      ["from", time(from)],
      ["lasts", time(to - from)],
      ["in all", `${time(critical.locations[location]!)}, ${percent(critical.locations[location]! / critical.length)} of the run`],
    ];
  }
  const { region, begin, end } = s.shares[spot.share]!;
  return [
    ["function", region?.name ?? "others"],
    ["on the path", `${time((end - begin) * critical.length)}, ${percent(end - begin)} of the run`],
  ];
}

/** The part that an arrow key leads to: left and right along the bar or the path, up and down between the two. */
function stepped(spot: Spot | undefined, key: string, shares: number, pieces: number): Spot | undefined {
  if (key === "ArrowUp" && shares) return { share: 0 };
  if (key === "ArrowDown" && pieces) return { piece: spot && "piece" in spot ? spot.piece : 0 };
  const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (!by) return undefined;
  const clip = (n: number, count: number): number => Math.max(0, Math.min(n, count - 1));
  if (spot && "share" in spot) return { share: clip(spot.share + by, shares) };
  return pieces ? { piece: spot ? clip(spot.piece + by, pieces) : 0 } : undefined;
}

export function CriticalPicture({ critical, facts, regions }: { critical: Critical; facts: Facts; regions: Regions }) {
  const store = useStore();
  const dark = useDark();
  const { theme, location, region, begin, end } = useSelection();
  const colours = useRegionColours(regions);
  const [focus, setFocus] = useState<Spot | undefined>(undefined);
  const [hover, setHover] = useState<(Point & { spot: Spot }) | undefined>(undefined);
  const sight = useRef<Sight | undefined>(undefined);
  const inks = useMemo(() => inksOf(dark), [dark, theme]);
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, width: number, height: number) => {
      const s = (sight.current = sightOf(critical, facts, pen, width, height));
      const chosen = begin === undefined && end === undefined ? undefined : { begin: begin ?? s.span.begin, end: end ?? s.span.end };
      const colour = (name: string): string => css(colours(regionNamed(regions, name) ?? -1));
      const known = region === undefined ? undefined : regions.names[region];
      paint(pen, s, critical, { inks, dark, facts, colour, location, region: critical.regions.some(({ name }) => name === known) ? known : undefined, chosen, focus: hover?.spot ?? focus }, height);
    },
    [critical, facts, regions, colours, inks, dark, location, region, begin, end, focus, hover],
  );
  const select = (spot: Spot): void => {
    if ("piece" in spot) {
      const [at] = critical.pieces[spot.piece]!;
      return store.select({ location: at === location ? undefined : at, process: undefined }, "replace");
    }
    const name = sight.current?.shares[spot.share]?.region?.name;
    const found = name === undefined ? undefined : regionNamed(regions, name);
    if (found !== undefined) store.select({ region: found === region ? undefined : found }, "replace");
  };
  const key = (event: KeyboardEvent): boolean => {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === "Enter" && focus) return select(focus), true;
    const to = stepped(focus, event.key, sight.current?.shares.length ?? 0, critical.pieces.length);
    if (to) setFocus(to);
    return to !== undefined;
  };
  const find = (at: Point): Spot | undefined => sight.current && spotAt(sight.current, critical.pieces, at);
  return (
    <div class="pane" style={{ flex: `0 0 ${heightOf(critical)}px`, maxHeight: "45%" }}>
      <Canvas
        label="The critical path over time, a lane for each rank or thread, and above it the shares of functions; arrows lead along it, Enter selects"
        spoken={focus && sight.current ? pairsOf(critical, facts, sight.current, focus).map((pair) => pair.join(" ")).join(", ") : ""}
        draw={draw}
        cursor={hover ? "pointer" : "default"}
        onPoint={(at) => {
          const spot = find(at);
          setHover(spot && { ...at, spot });
        }}
        onLeave={() => setHover(undefined)}
        onClick={(at) => {
          const spot = find(at);
          if (!spot) return;
          setFocus(spot);
          select(spot);
        }}
        onDouble={(at) => {
          const spot = find(at);
          if (!spot || !("piece" in spot)) return;
          const [where, from, to] = critical.pieces[spot.piece]!;
          store.select({ location: where, process: undefined, begin: from, end: to });
        }}
        onKey={key}
      />
      {hover && sight.current && (
        <Tooltip x={hover.clientX} y={hover.clientY}>
          <Pairs of={pairsOf(critical, facts, sight.current, hover.spot)} />
        </Tooltip>
      )}
    </div>
  );
}
