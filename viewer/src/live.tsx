// SPDX-License-Identifier: BSD-3-Clause
// What the page says of a run that has not ended.
import { useEffect, useReducer } from "preact/hooks";
import type { Live } from "./state/live";
import { count } from "./data/units";

export function LiveState({ live }: { live: Live }) {
  const [, again] = useReducer((n: number) => n + 1, 0) as [number, (action: void) => void];
  useEffect(() => live.subscribe(() => again()), [live]);
  if (live.ended) return null;
  const age = Math.max(Math.round((performance.now() - live.since) / 1000), 0);
  return (
    <span class="live">
      <span title={live.problem}>
        {live.paused ? "paused" : "live"}, {count(age)} s ago{live.problem ? `: ${live.problem}` : ""}
      </span>
      <button class="quiet" aria-pressed={live.paused} onClick={() => live.pause(!live.paused)}>
        {live.paused ? "Resume" : "Pause"}
      </button>
    </span>
  );
}
