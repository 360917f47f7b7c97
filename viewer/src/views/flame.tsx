// SPDX-License-Identifier: BSD-3-Clause
// The calls of one thread over time, callers above callees.
import { useMemo } from "preact/hooks";
import { useFacts, useSelection, useStore } from "../state/hooks";
import { Pick } from "../parts/Pick";
import { locationLabel } from "../data/rows";
import { Lines } from "../timeline/view";
import { percent } from "../data/units";
import { NO_TIME, TIME_KEYS } from "./timeline";
import type { View } from "../parts/view";

function Flame() {
  const store = useStore();
  const facts = useFacts();
  const { location } = useSelection();
  const busiest = facts.locations.reduce((best, l, i) => (l.running > facts.locations[best]!.running ? i : best), 0);
  const shown = location !== undefined && facts.locations[location] ? location : busiest;
  const { names, roles } = useMemo(
    () => ({
      names: facts.locations.map((l, i) => `${locationLabel(facts, i)} (ran for ${percent(l.running / Math.max(facts.duration, 1e-9))} of the run)`),
      roles: facts.locations.map(({ role, name }) => role ?? name),
    }),
    [facts],
  );
  return (
    <div class="flame">
      {facts.locations.length > 1 && (
        <div class="above">
          <Pick label="Thread" names={names} roles={roles} value={shown} choose={(index) => store.select({ location: index })} />
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
