// SPDX-License-Identifier: BSD-3-Clause
// The calls of one thread over time, callers above callees.
import { useFacts, useSelection, useStore } from "../state/hooks";
import { Menu } from "../parts/Menu";
import { locationLabel } from "../data/rows";
import { Lines } from "../timeline/view";
import { percent } from "../data/units";
import { NO_TIME, TIME_KEYS } from "./timeline";
import type { View } from "../parts/view";

const LISTED = 2000; // maximum of threads in the menu; others can be selected in the timeline

function Flame() {
  const store = useStore();
  const facts = useFacts();
  const { location } = useSelection();
  const busiest = facts.locations.reduce((best, l, i) => (l.running > facts.locations[best]!.running ? i : best), 0);
  const shown = location !== undefined && facts.locations[location] ? location : busiest;
  const listed = facts.locations.map((_, i) => i).slice(0, LISTED);
  if (!listed.includes(shown)) listed.push(shown);
  return (
    <div class="flame">
      {facts.locations.length > 1 && (
        <div class="above">
          <Menu
            label="Thread"
            value={String(shown)}
            options={listed.map((i) => ({
              value: String(i),
              title: `${locationLabel(facts, i)} (ran for ${percent(facts.locations[i]!.running / Math.max(facts.duration, 1e-9))} of the run)`,
            }))}
            onChange={(value) => store.select({ location: Number(value) })}
          />
        </div>
      )}
      <Lines single={shown} />
    </div>
  );
}

export const flame: View = {
  id: "flame",
  asMeasured: true,
  title: "Flame over time",
  available: (facts) => (facts.has.time && facts.locations.length > 0) || NO_TIME,
  filtered: true,
  component: Flame,
  keys: TIME_KEYS,
};
