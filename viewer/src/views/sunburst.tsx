// SPDX-License-Identifier: BSD-3-Clause
// The sunburst: a ring for each level, an arc as long as its time; beside it the list of the centre's callees.
import { useCallback, useRef, useState } from "preact/hooks";
import { type Boxes, Finder, boxesIn } from "../calltree/boxes";
import { Charted } from "../charts/charted";
import { Links } from "../charts/pinned";
import { css } from "../draw/colour";
import { useFacts, useReport } from "../state/hooks";
import { Bars } from "../parts/Bars";
import { Canvas, type Point } from "../parts/Canvas";
import { Menu } from "../parts/Menu";
import { Pairs, Tooltip } from "../parts/Tooltip";
import { type Disc, type Lettering, angle, disc, flipped, lettering, polar, upright } from "../calltree/sunburst";
import { NONE } from "../data/columns";
import { ROOT } from "../calltree/tree";
import { About, type Chart, FONT, fillOf, label, themeColours, measurer, nameOf, spoken } from "../charts/treechart";
import { count, percent, shorten, smaller } from "../data/units";

const RINGS = [4, 6, 8, 12, 16, 24].map((n) => ({ value: String(n), title: String(n) }));
const LISTED = 24; // maximum of callees in the list

interface Drawn {
  boxes: Boxes;
  finder: Finder;
  on: Disc;
  from: number;
  span: number;
}

function place(chart: Chart, width: number, height: number, rings: number): Drawn {
  const { tree, centre } = chart;
  const below = Math.max(1, Math.min(rings, tree.deepest - (centre === ROOT ? 0 : tree.depth[centre]! + 1)));
  const on = disc(width, height, below);
  const from = tree.startOf(centre);
  const span = tree.inclOf(centre) || 1;
  const outer = on.inner + on.ring * below;
  const boxes = boxesIn(tree, { top: centre, from, to: from + span, scale: (2 * Math.PI * outer) / span, first: 0, levels: below });
  return { boxes, finder: new Finder(boxes), on, from, span };
}

function arc(pen: CanvasRenderingContext2D, on: Disc, ring: number, from: number, to: number): void {
  const inside = on.inner + ring * on.ring;
  pen.beginPath();
  pen.arc(on.x, on.y, inside + on.ring - 0.5, angle(from), angle(to));
  pen.arc(on.x, on.y, inside + 0.5, angle(to), angle(from), true);
  pen.closePath();
}

function letter(pen: CanvasRenderingContext2D, on: Disc, text: string, radius: number, at: number, turned: number): void {
  pen.save();
  pen.translate(on.x + Math.cos(at) * radius, on.y + Math.sin(at) * radius);
  pen.rotate(turned);
  pen.fillText(text, 0, 0.5);
  pen.restore();
}

function along(pen: CanvasRenderingContext2D, on: Disc, text: string, put: Lettering): void {
  const measure = measurer(pen);
  const over = flipped(put.turn) ? -1 : 1;
  let at = angle(put.turn) - (over * measure(text)) / put.radius / 2;
  for (const one of text) {
    const half = (over * measure(one)) / put.radius / 2;
    letter(pen, on, one, put.radius, at + half, at + half + (over * Math.PI) / 2);
    at += 2 * half;
  }
}

function letters(pen: CanvasRenderingContext2D, chart: Chart, drawn: Drawn, box: number, from: number, to: number): void {
  const { boxes, on } = drawn;
  const put = lettering(on, boxes.depth[box]!, from, to);
  if (!put) return;
  const row = boxes.row[box]!;
  const text = label(chart, row, boxes.until[box]!, put.width, measurer(pen));
  if (!text) return;
  const { ink, faint } = themeColours(chart);
  pen.fillStyle = boxes.until[box] || (chart.hits && !chart.hits.rows[row]) ? faint : ink;
  const at = angle(put.turn);
  if (put.curved) along(pen, on, text, put);
  else letter(pen, on, text, put.radius, at, upright(at));
}

function middle(pen: CanvasRenderingContext2D, chart: Chart, on: Disc): void {
  const { ink, faint, muted } = themeColours(chart);
  pen.fillStyle = muted;
  pen.beginPath();
  pen.arc(on.x, on.y, on.inner - 1, 0, 2 * Math.PI);
  pen.fill();
  const measure = measurer(pen);
  const room = on.inner * 1.7;
  const region = chart.centre === ROOT ? NONE : chart.tree.region[chart.centre]!;
  const name = region === NONE ? "whole run" : chart.regions.qualnames[region] || nameOf(chart, chart.centre);
  pen.fillStyle = ink;
  pen.fillText(shorten(name, room, measure), on.x, on.y - 7);
  pen.fillStyle = faint;
  const incl = chart.tree.inclOf(chart.centre);
  pen.fillText(shorten(chart.tree.weight.show(incl), room, measure), on.x, on.y + 9);
}

function draw(pen: CanvasRenderingContext2D, chart: Chart, drawn: Drawn, width: number, height: number): void {
  const { boxes, on, from, span } = drawn;
  const { paper, accent, ink } = themeColours(chart);
  pen.fillStyle = paper;
  pen.fillRect(0, 0, width, height);
  pen.font = FONT;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.strokeStyle = paper;
  const marked: [number, number, number, string, number][] = [];
  for (let i = 0; i < boxes.row.length; i++) {
    const row = boxes.row[i]!;
    const begin = (boxes.from[i]! - from) / span;
    const end = Math.min(1, (boxes.to[i]! - from) / span);
    arc(pen, on, boxes.depth[i]!, begin, end);
    pen.fillStyle = fillOf(chart, row, boxes.until[i]!);
    pen.fill();
    const length = (end - begin) * 2 * Math.PI * (on.inner + boxes.depth[i]! * on.ring);
    if (length > 3) {
      pen.lineWidth = 1;
      pen.stroke();
    }
    if (boxes.until[i]) continue;
    if (row === chart.selected) marked.push([boxes.depth[i]!, begin, end, accent, 2.5]);
    else if (row === chart.focus) marked.push([boxes.depth[i]!, begin, end, ink, 1.5]);
    else if (chart.tree.region[row] === chart.region && length > 3) marked.push([boxes.depth[i]!, begin, end, accent, 1]);
  }
  for (const [ring, begin, end, colour, line] of marked) {
    arc(pen, on, ring, begin, end);
    pen.strokeStyle = colour;
    pen.lineWidth = line;
    pen.stroke();
  }
  for (let i = 0; i < boxes.row.length; i++) letters(pen, chart, drawn, i, (boxes.from[i]! - from) / span, Math.min(1, (boxes.to[i]! - from) / span));
  middle(pen, chart, on);
  pen.textAlign = "start";
  pen.textBaseline = "alphabetic";
}

/** The arc at a point; the middle is the centre itself. */
function hit(chart: Chart, drawn: Drawn, point: Point): { row: number; until: number; middle: boolean } | undefined {
  const at = polar(drawn.on, point.x, point.y);
  if (!at) return undefined;
  if (at.ring < 0) return { row: chart.centre, until: 0, middle: true };
  const box = drawn.finder.at(at.ring, drawn.from + at.turn * drawn.span);
  return box < 0 ? undefined : { row: drawn.boxes.row[box]!, until: drawn.boxes.until[box]!, middle: false };
}

function Beside({ chart }: { chart: Chart }) {
  const { tree, centre } = chart;
  const callees = tree.children(centre);
  const named = callees.filter((row) => tree.region[row] !== NONE).sort((a, b) => tree.incl[b]! - tree.incl[a]!);
  const shown = named.slice(0, LISTED);
  const rest = tree.coveredTo(centre) - tree.startOf(centre) - shown.reduce((sum, row) => sum + tree.incl[row]!, 0);
  const listed = new Set(shown);
  const left = callees.reduce((sum, row) => (listed.has(row) ? sum : sum + tree.pathsIn(row, tree.end[row]!)), 0);
  return (
    <aside class="beside" aria-label="The centre and its callees">
      <h2>{nameOf(chart, centre)}</h2>
      {centre !== ROOT && (
        <div class="head">
          <Links regions={chart.regions} region={tree.region[centre]!} path={tree.pathOf(centre)} />
        </div>
      )}
      {centre !== ROOT && (
        <Pairs
          of={[
            [tree.weight.total, `${tree.weight.show(tree.incl[centre]!)}, ${percent(tree.incl[centre]! / tree.total)} of all`],
            [tree.weight.self, tree.weight.show(tree.excl[centre]!)],
            tree.visits[centre]! > 0 && ["calls", count(tree.visits[centre]!)],
          ]}
        />
      )}
      <h2>{centre === ROOT ? "It begins with" : "It calls"}</h2>
      <Bars
        rows={shown.map((row) => ({
          key: String(row),
          text: nameOf(chart, row),
          hint: spoken(chart, row),
          share: tree.incl[row]! / tree.total,
          value: tree.weight.show(tree.incl[row]!),
          colour: css(chart.colour(row)),
          chosen: row === chart.selected,
          faded: chart.hits !== undefined && !chart.hits.rows[row],
          go: () => chart.go(row),
        }))}
      />
      {!shown.length && <p class="fine">No recorded callees.</p>}
      {left > 0 && (
        <p class="fine">
          and {smaller(left)} with {tree.weight.show(rest)}
        </p>
      )}
      {centre !== ROOT && (
        <p>
          <button class="quiet" onClick={() => chart.go(tree.parentOf(centre))}>
            Out to {nameOf(chart, tree.parentOf(centre))}
          </button>
        </p>
      )}
    </aside>
  );
}

function report(chart: Chart, drawn: Drawn | undefined) {
  const { tree } = chart;
  return {
    ready: drawn !== undefined,
    total: tree.total,
    weight: tree.weight.name,
    centre: nameOf(chart, chart.centre),
    selected: chart.selected === ROOT ? null : nameOf(chart, chart.selected),
    focus: nameOf(chart, chart.focus),
    hits: chart.hits ? { regions: chart.hits.regions, paths: chart.hits.paths, time: chart.hits.time } : null,
    boxes: drawn?.boxes.row.length ?? 0,
    rings: drawn?.on.rings,
    top: tree.children(chart.centre).slice(0, 8).map((row) => ({ name: nameOf(chart, row), incl: tree.incl[row] })),
  };
}

function Picture({ chart, rings }: { chart: Chart; rings: number }) {
  const { title } = useFacts();
  const [over, setOver] = useState<{ point: Point; row: number; until: number; middle: boolean } | undefined>(undefined);
  const drawn = useRef<Drawn | undefined>(undefined);
  useReport(() => report(chart, drawn.current));
  const paint = useCallback(
    (pen: CanvasRenderingContext2D, width: number, height: number) => {
      drawn.current = place(chart, width, height, rings);
      draw(pen, chart, drawn.current, width, height);
    },
    [chart.tree, chart.dark, chart.centre, chart.selected, chart.region, chart.hits, chart.colour, chart.focus, rings],
  );
  return (
    <>
      <Canvas
        label={`Sunburst of the call tree of ${title}. Arrows move, Enter centres, Escape goes out.`}
        spoken={spoken(chart, chart.focus)}
        draw={paint}
        cursor={over ? "pointer" : "default"}
        onPoint={(point) => {
          const found = drawn.current && hit(chart, drawn.current, point);
          setOver(found && { point, ...found });
        }}
        onLeave={() => setOver(undefined)}
        onClick={(point, event) => {
          const found = drawn.current && hit(chart, drawn.current, point);
          if (!found) return;
          setOver(undefined);
          if (found.middle || found.until) chart.go(chart.tree.parentOf(found.row));
          else if (event.shiftKey) chart.select(found.row);
          else chart.go(found.row);
        }}
        onKey={chart.key}
      />
      {over && (
        <Tooltip x={over.point.clientX} y={over.point.clientY}>
          {over.middle && over.row === ROOT ? spoken(chart, ROOT) : <About chart={chart} row={over.row} until={over.until} />}
          {over.middle && over.row !== ROOT && <small>Click to go out to its caller.</small>}
        </Tooltip>
      )}
    </>
  );
}

export function SunburstView() {
  const [rings, setRings] = useState("8");
  return (
    <Charted menu={<Menu label="Rings" value={rings} options={RINGS} onChange={setRings} />}>
      {(chart) => (
        <div class="split">
          <Picture chart={chart} rings={Number(rings)} />
          <Beside chart={chart} />
        </div>
      )}
    </Charted>
  );
}
