// SPDX-License-Identifier: BSD-3-Clause
// The colours of a picture: its modules or functions with the most time. A click selects one.
import { useContext, useMemo } from "preact/hooks";
import { type ColouredBy, css, ofModule } from "../draw/colour";
import { byPackage, sorted } from "../data/flat";
import { useFlat } from "../state/calls";
import { percent } from "../data/units";
import { BY_NAME, KnownShades, colouredBy, colouringsOf, useRegionColours } from "../state/colours";
import type { Shades } from "../draw/shades";
import type { Selection } from "../data/url";
import { useDark, useFacts, useRegions, useSelection, useStore } from "../state/hooks";
import { Menu } from "./Menu";
import { Name } from "./Name";

const SHOWN = 12; // the narrowest windows show fewer
const OPTIONS = [
  { value: "module", title: "Module", hint: "A package has one colour" },
  { value: "function", title: "Function", hint: "Each function has its own colour" },
];

interface Entry {
  tone?: string;
  unit?: number;
  /** What a click selects: one of them. */
  region?: number;
  module?: string;
  text: string;
  colour: string;
  /** Of the time of all. */
  share: number;
}

/** Whether an entry is chosen, and the change of the selection by a click on it. */
function choice({ region, module, tone, unit }: Entry, selection: Selection, over: "process" | "location" | undefined): [boolean, Partial<Selection>] {
  if (over && unit !== undefined) {
    const chosen = selection[over] === unit;
    return [chosen, { [over]: chosen ? undefined : unit }];
  }
  if (tone !== undefined) return [selection.tone === tone, { tone: selection.tone === tone ? undefined : tone }];
  const chosen = region === undefined ? selection.module === module : selection.region === region;
  return [chosen, region === undefined ? { module: chosen ? undefined : module || undefined } : { region: chosen ? undefined : region, path: undefined }];
}

/** The packages or functions that ran longest. A timeline draws its legend with each movement of the pointer: only other data change it. */
function useEntries(by: ColouredBy): readonly Entry[] {
  const dark = useDark();
  const regions = useRegions().data;
  const colour = useRegionColours(regions);
  const flat = useFlat().data;
  return useMemo(() => {
    if (!flat || !regions) return [];
    const { self } = flat;
    const total = self.reduce((sum, value) => sum + value, 0) || 1;
    const longest: Entry[] =
      by === "module"
        ? byPackage(flat, regions, self).map(({ module, excl }) => ({ module, text: module || "(no module)", colour: css(ofModule(module, dark)), share: excl / total }))
        : Array.from(sorted(Uint32Array.from(flat.region.keys()), self, true).subarray(0, SHOWN), (row) => {
            const region = flat.region[row]!;
            return { region, text: regions.names[region] ?? "", colour: css(colour(region)), share: self[row]! / total };
          });
    return longest.slice(0, SHOWN).filter(({ share }) => share > 0);
  }, [flat, regions, by, colour, dark]);
}

/** The classes of colours with functions, with the share of the exclusive time of each. Of many processes or threads those that ran longest. */
function useClasses(shades: Shades | undefined): readonly Entry[] {
  const dark = useDark();
  const facts = useFacts();
  const flat = useFlat().data;
  return useMemo(() => {
    if (!shades || !flat) return [];
    const sums = shades.classes.map(() => 0);
    flat.excl.forEach((time, row) => {
      const at = shades.classOf(flat.region[row]!);
      if (at >= 0) sums[at] = sums[at]! + time;
    });
    const total = flat.excl.reduce((sum, time) => sum + time, 0) || 1;
    const ran = (unit: number): number => (shades.over === "location" ? facts.locations[unit]!.running : facts.locations.reduce((sum, l) => sum + (l.process === unit ? l.running : 0), 0));
    const all = shades.classes.map(({ id, title, unit }, at): Entry => ({ tone: id, ...(unit === undefined ? {} : { unit }), text: title, colour: css(shades.colour(at, dark)), share: sums[at]! / total }));
    if (!shades.over) return shades.waits ? all.filter(({ share }) => share > 0) : all;
    const units = new Map(all.flatMap(({ unit }) => (unit === undefined ? [] : [[unit, ran(unit)] as const])));
    const longest = all.filter(({ unit }) => unit !== undefined).sort((a, b) => units.get(b.unit!)! - units.get(a.unit!)!).slice(0, SHOWN - 1);
    return [...longest.sort((a, b) => a.unit! - b.unit!), ...all.filter(({ unit }) => unit === undefined)];
  }, [shades, flat, dark, facts]);
}

export function Legend() {
  const store = useStore();
  const selection = useSelection();
  const facts = useFacts();
  const shades = useContext(KnownShades);
  const by = colouredBy(selection, facts);
  const named = useEntries(by);
  const classes = useClasses(shades);
  const options = useMemo(() => [...OPTIONS, ...colouringsOf(facts)], [facts]);
  const value = options.find((option) => option.value === selection.colour)?.value ?? by;
  const entries = BY_NAME.includes(value) ? named : classes;
  const unit = shades?.over;
  return (
    <div class="colours">
      <Menu label="Colour by" value={value} options={options} onChange={(colour) => store.select({ colour, tone: undefined })} />
      <ul aria-label="Colours">
        {entries.map((entry) => {
          const { region, text, colour, share } = entry;
          const [chosen, change] = choice(entry, selection, unit);
          const go = (): void => store.select(change);
          return (
            <li key={region ?? entry.module ?? entry.tone}>
              <button aria-pressed={chosen} title={`${text}\n${percent(share)}`} onClick={go}>
                <i class="swatch" style={{ background: colour }} />
                <Name text={text} />
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
