// SPDX-License-Identifier: BSD-3-Clause
// The selection as a list of removable chips; the call path as breadcrumbs.
import type { Facts, Regions } from "../data/facts";
import { useContext } from "preact/hooks";
import { KnownShades } from "../state/colours";
import { useRegions, useSelection, useStore } from "../state/hooks";
import { roleTitle } from "../state/roles";
import { Name } from "../parts/Name";
import type { Selection } from "../state/store";
import { ENTRIES, FOUND, IMPORTS, OWN, RECURSION, readRange, writeRange } from "../data/url";
import { percent, time } from "../data/units";
import type { View } from "../parts/view";

export interface Chip {
  what: string;
  text: string;
  /** The change of the selection that removes it. */
  clear: Partial<Selection>;
  /** It is a filter of call paths, which not all views have. */
  filter?: true;
}

/** The filters of call paths as chips. */
export function activeFilters({ role, code, hide, fold, only, least, search, module }: Selection): Chip[] {
  const chips: Chip[] = [];
  const add = (what: string, text: string, name: keyof Selection): number =>
    chips.push({ what, text, clear: { [name]: undefined, path: undefined, centre: undefined }, filter: true });
  if (PAGE && role !== undefined) add("role", roleTitle(role), "role");
  if (code === OWN) add("code", "own code only", "code");
  if (code === ENTRIES) add("code", "own code and what it calls", "code");
  if (hide === IMPORTS) add("without", "imports", "hide");
  if (fold === RECURSION) add("recursion", "folded", "fold");
  if (only === FOUND && (search !== undefined || module !== undefined)) add("only", `paths with ${[search, module].filter(Boolean).join(" in ")}`, "only");
  if (Number(least)) add("combined", `paths below ${percent(Number(least))}`, "least");
  return chips;
}

export function chipsOf(selection: Selection, facts: Facts | undefined, regions: Regions | undefined, toneTitle?: string): Chip[] {
  const { region, path, module, process, location, begin, end, against, tone } = selection;
  const chips: Chip[] = [];
  if (region !== undefined)
    chips.push({
      what: "function",
      text: regions?.names[region] ?? `number ${region}`,
      clear: { region: undefined, path: undefined },
    });
  if (module !== undefined) chips.push({ what: "module", text: module, clear: { module: undefined } });
  if (process !== undefined)
    chips.push({ what: "process", text: facts?.processes[process]?.name ?? `number ${process}`, clear: { process: undefined } });
  if (location !== undefined)
    chips.push({ what: "thread", text: facts?.locations[location]?.name ?? `number ${location}`, clear: { location: undefined } });
  if (begin !== undefined || end !== undefined) {
    const from = begin ?? 0;
    const to = end ?? facts?.duration ?? from;
    chips.push({ what: "time", text: `${time(from)} to ${time(to)} (${time(to - from)})`, clear: { begin: undefined, end: undefined } });
  }
  if (PAGE && tone !== undefined) chips.push({ what: "colour", text: toneTitle ?? tone, clear: { tone: undefined } });
  const other = PAGE && readRange(against);
  if (other)
    chips.push({
      what: "against",
      text: `${time(other.begin)} to ${time(other.end)} (${time(other.end - other.begin)})`,
      clear: { against: undefined },
      filter: true,
    });
  if (path && path.length > 1) chips.push({ what: "in", text: "this call path only", clear: { path: undefined, region } });
  return PAGE ? [...chips, ...activeFilters(selection)] : chips;
}

const NEAR = 4; // breadcrumbs at each end of a long path

/** The visible steps of the path, and the number of omitted ones between them. */
export function crumbs(path: readonly number[]): { at: number; skipped: number }[] {
  const out: { at: number; skipped: number }[] = [];
  for (let at = 0; at < path.length; at++) {
    if (at === NEAR && path.length > 2 * NEAR + 1) {
      out.push({ at: -1, skipped: path.length - 2 * NEAR });
      at = path.length - NEAR;
    }
    out.push({ at, skipped: 0 });
  }
  return out;
}

function Crumbs({ path, regions }: { path: readonly number[]; regions: Regions | undefined }) {
  const store = useStore();
  return (
    <nav class="crumbs" aria-label="Call path">
      <button onClick={() => store.select({ path: undefined, region: undefined, centre: undefined })}>whole run</button>
      {crumbs(path).map(({ at, skipped }) =>
        skipped ? (
          <span key="skipped" title={path.slice(NEAR, path.length - NEAR).map((region) => regions?.names[region] ?? region).join("\n")}>
            … {skipped} more …
          </span>
        ) : (
          <button
            key={at}
            title={regions?.names[path[at]!]}
            aria-current={at === path.length - 1 ? "true" : undefined}
            onClick={() => store.select({ path: path.slice(0, at + 1), centre: path.slice(0, at + 1) })}
          >
            <Name text={regions?.names[path[at]!] ?? String(path[at])} />
          </button>
        ),
      )}
    </nav>
  );
}

export function Chips({ facts, view }: { facts: Facts | undefined; view: View }) {
  const store = useStore();
  const selection = useSelection();
  const regions = useRegions().data;
  const shades = PAGE ? useContext(KnownShades) : undefined;
  const chips = chipsOf(selection, facts, regions, shades?.classes.find(({ id }) => id === selection.tone)?.title);
  const { begin, end } = selection;
  const isOff = (chip: Chip): boolean => PAGE && chip.filter === true && !view.filtered;
  const path = selection.path ?? selection.centre;
  if (!chips.length && !path) return null;
  return (
    <div class="chips">
      {chips.map((chip) => (
        <span class={isOff(chip) ? "chip off" : "chip"} key={chip.what} title={isOff(chip) ? "Not in this view, which shows all call paths" : undefined}>
          <small>{chip.what}</small> <b title={chip.text}>
            <Name text={chip.text} />
          </b>
          {PAGE && chip.what === "time" && facts?.has.compare === false && (
            <button title="Compare another range of time with this one: select it then" onClick={() => store.select({ against: writeRange(begin ?? 0, end ?? facts.duration) })}>
              compare
            </button>
          )}
          <button aria-label={`Clear ${chip.what} ${chip.text}`} title="Clear" onClick={() => store.select(chip.clear)}>
            ×
          </button>
        </span>
      ))}
      {chips.length > 1 && (
        <button
          class="quiet"
          onClick={() =>
            store.select(Object.assign({ centre: undefined }, ...chips.map(({ clear }) => clear)))
          }
        >
          Clear all
        </button>
      )}
      {path && <Crumbs path={path} regions={regions} />}
    </div>
  );
}
