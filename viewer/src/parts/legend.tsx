// SPDX-License-Identifier: BSD-3-Clause
// The colours of a picture: its modules or functions with the most time. A click selects one.
import { css, ofModule } from "../draw/colour";
import { asFlat, byPackage, sorted } from "../data/flat";
import { percent } from "../data/units";
import { colouredBy, useRegionColours } from "../state/colours";
import { useAnswer, useDark, useFacts, useRegions, useSelection, useStore } from "../state/hooks";
import { range } from "../state/store";
import { Menu } from "./Menu";
import { Name } from "./Name";

const SHOWN = 12; // the narrowest windows show fewer
const OPTIONS = [
  { value: "module", title: "Module", hint: "A package has one colour" },
  { value: "function", title: "Function", hint: "Each function has its own colour" },
];

interface Entry {
  key: string;
  text: string;
  colour: string;
  /** Of the time of all. */
  share: number;
  chosen: boolean;
  go: () => void;
}

function useEntries(): readonly Entry[] {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  const dark = useDark();
  const regions = useRegions().data;
  const colour = useRegionColours(regions);
  const flat = useAnswer("flat", range(selection), asFlat).data;
  if (!flat || !regions) return [];
  const self = flat.self;
  const total = self.reduce((sum, value) => sum + value, 0) || 1;
  if (colouredBy(selection, facts) === "module")
    return byPackage(flat, regions, self)
      .slice(0, SHOWN)
      .map(({ module, excl }) => {
        const chosen = selection.module === module;
        return { key: module, text: module || "(no module)", colour: css(ofModule(module, dark)), share: excl / total, chosen, go: () => store.select({ module: chosen ? undefined : module || undefined }) };
      });
  const rows = sorted(Uint32Array.from({ length: flat.count }, (_, i) => i), self, true);
  return Array.from(rows.subarray(0, SHOWN), (row) => {
    const region = flat.region[row]!;
    const chosen = selection.region === region;
    return { key: String(region), text: regions.names[region] ?? "", colour: css(colour(region)), share: self[row]! / total, chosen, go: () => store.select({ region: chosen ? undefined : region, path: undefined }) };
  });
}

export function Legend() {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  const entries = useEntries().filter(({ share }) => share > 0);
  return (
    <div class="colours">
      <Menu label="Colour by" value={colouredBy(selection, facts)} options={OPTIONS} onChange={(colour) => store.select({ colour })} />
      <ul aria-label="Colours">
        {entries.map(({ key, text, colour, share, chosen, go }) => (
          <li key={key}>
            <button aria-pressed={chosen} title={`${text}\n${percent(share)}`} onClick={go}>
              <i class="swatch" style={{ background: colour }} />
              <Name text={text} />
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
