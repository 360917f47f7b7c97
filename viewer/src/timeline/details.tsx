// SPDX-License-Identifier: BSD-3-Clause
// Beside the pointer of a timeline: its tooltip. Below the picture, or beside it in wide windows: the pinned element, and the functions of the selected range.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Links, Unpin } from "../charts/pinned";
import { css } from "../draw/colour";
import type { Regions } from "../data/facts";
import { type Flat, sorted } from "../data/flat";
import { useFlat } from "../state/calls";
import { useSelection, useStore } from "../state/hooks";
import { useRegionColours } from "../state/colours";
import { writePath } from "../data/url";
import { Pairs, Tooltip } from "../parts/Tooltip";
import type { Hover } from "./control";
import type { Frame } from "./data";
import { SOURCE } from "./describe";
import { moment } from "../data/timescale";
import { count, percent, time } from "../data/units";
import type { Leap, Shown } from "./picture";
import type { Sight } from "./sight";
import { callersOf, type Pinned } from "./under";

const TOP = 5; // functions of the selected range that are named

function longest({ region, self }: Flat): (readonly [region: number, time: number])[] {
  return Array.from(sorted(Uint32Array.from(self.keys()), self, true).subarray(0, TOP), (row) => [region[row]!, self[row]!] as const);
}

/** The functions with the most running time in the selected range (exclusive time, if it is not split), which is also that of the other views. */
function InRange({ regions }: { regions: Regions }) {
  const store = useStore();
  const selection = useSelection();
  const colour = useRegionColours(regions);
  const flat = useFlat();
  const rows = useMemo(() => (flat.data ? longest(flat.data) : []), [flat.data]);
  if (selection.begin === undefined || selection.end === undefined) return null;
  const total = flat.data?.total ?? 0;
  return (
    <section class="inrange" aria-label="The selected range">
      <b>
        {time(selection.end - selection.begin)} selected, from {moment(selection.begin, (selection.end - selection.begin) / 100)}
      </b>{" "}
      <span class="fine">{flat.problem ?? (flat.loading ? "reading…" : rows.length ? `${flat.data!.selfName}, here and in every other view` : "nothing ran")}</span>
      <ol>
        {rows.map(([region, excl]) => (
          <li key={region}>
            <button title={regions.names[region]} onClick={() => store.select({ region })}>
              <i style={{ background: css(colour(region)) }} />
              <span>{regions.qualnames[region] || regions.names[region]}</span>
              <span class="number">{time(excl)}</span>
              <span class="number">{total ? percent(excl / total) : ""}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The description of what is at the pointer. */
export function Tip({ sight, at, shown }: { sight: Sight; at: Hover; shown: Shown }) {
  const callers = callersOf(sight, shown);
  const source = shown.pairs.find(([name]) => name === SOURCE);
  return (
    <Tooltip x={at.clientX} y={at.clientY}>
      <b>{shown.title}</b>
      {source && (
        <div>
          <small>{source[1]}</small>
        </div>
      )}
      <Pairs of={[...shown.pairs.filter((pair) => pair !== source), callers.length > 0 && ["called by", callers.map((name) => <div key={name}>{name}</div>)]]} />
    </Tooltip>
  );
}

function Stack({ stack, regions }: { stack: readonly Frame[]; regions: Regions }) {
  const store = useStore();
  const selection = useSelection();
  const colour = useRegionColours(regions);
  const chosen = selection.path && writePath(selection.path);
  return (
    <section class="stack" aria-label="Call stack of the pinned element, innermost first">
      <ol>
        {[...stack].reverse().map(({ region, calls, path }, i) => (
          <li key={stack.length - i}>
            <button
              title={(calls > 1 ? `${count(calls)} × ` : "") + (regions.names[region] ?? "")}
              aria-pressed={path ? writePath(path) === chosen : !selection.path && selection.region === region}
              onClick={() => store.select(path ? { path } : { region })}
            >
              <i style={{ background: css(colour(region)) }} />
              <span>{`${calls > 1 ? `${count(calls)} × ` : ""}${regions.qualnames[region] || regions.names[region]}`}</span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

interface PinnedProps {
  pinned: Pinned;
  regions: Regions;
  onUnpin: () => void;
  onLeap: (leap: Leap) => void;
}

function PinnedElement({ pinned: { shown, leap }, regions, onUnpin, onLeap }: PinnedProps) {
  const { title, pairs, region, stack } = shown;
  const path = stack?.[stack.length - 1]?.path;
  return (
    <>
      <section class="pinned" aria-label="The pinned element">
        <div class="head">
          <b title={title}>{title}</b>
          {region !== undefined && <Links regions={regions} region={region} path={path} />}
          <Unpin act={onUnpin} title="Unpin (Escape)" />
        </div>
        <dl>
          {pairs.map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={text}>{text}</dd>
            </div>
          ))}
        </dl>
        {leap && (
          <p class="leap">
            {leap.text}.{" "}
            <button class="link" onClick={() => onLeap(leap)}>
              {leap.title}
            </button>
          </p>
        )}
      </section>
      {stack && stack.length > 0 && <Stack stack={stack} regions={regions} />}
    </>
  );
}

interface Props extends Omit<PinnedProps, "pinned"> {
  pinned: Pinned | undefined;
  hint: ComponentChildren;
}

export function Details({ pinned, hint, ...rest }: Props) {
  const unpin = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && pinned) rest.onUnpin();
  };
  return (
    <div class="details" onKeyDown={unpin}>
      {pinned ? (
        <PinnedElement pinned={pinned} {...rest} />
      ) : (
        <section>
          <p class="fine">{hint}</p>
        </section>
      )}
      <InRange regions={rest.regions} />
    </div>
  );
}
