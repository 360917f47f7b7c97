// SPDX-License-Identifier: BSD-3-Clause
// The colours of a picture: its modules or functions with the most time. A click selects one.
import { useMemo } from "preact/hooks";
import { type ColouredBy, css, ofModule } from "../draw/colour";
import { byPackage, sorted } from "../data/flat";
import { useFlat } from "../state/calls";
import { percent } from "../data/units";
import { colouredBy, useRegionColours } from "../state/colours";
import { useDark, useFacts, useRegions, useSelection, useStore } from "../state/hooks";
import { Menu } from "./Menu";
import { Name } from "./Name";

const SHOWN = 12; // the narrowest windows show fewer
const OPTIONS = [
  { value: "module", title: "Module", hint: "A package has one colour" },
  { value: "function", title: "Function", hint: "Each function has its own colour" },
];

interface Entry {
  /** What a click selects: one of them. */
  region?: number;
  module?: string;
  text: string;
  colour: string;
  /** Of the time of all. */
  share: number;
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

export function Legend() {
  const store = useStore();
  const selection = useSelection();
  const by = colouredBy(selection, useFacts());
  const entries = useEntries(by);
  return (
    <div class="colours">
      <Menu label="Colour by" value={by} options={OPTIONS} onChange={(colour) => store.select({ colour })} />
      <ul aria-label="Colours">
        {entries.map(({ region, module, text, colour, share }) => {
          const chosen = region === undefined ? selection.module === module : selection.region === region;
          const go = (): void => store.select(region === undefined ? { module: chosen ? undefined : module || undefined } : { region: chosen ? undefined : region, path: undefined });
          return (
            <li key={region ?? module}>
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
