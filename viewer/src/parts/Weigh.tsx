// SPDX-License-Identifier: BSD-3-Clause
// The choice of a picture's weight: time or a metric. Unavailable metrics are shown with the reason.
import { useFacts, useSelection, useStore } from "../state/hooks";
import { chosenMetric, timed, without } from "../data/weight";

export function Weigh() {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  if (!facts.metrics.length) return null;
  const chosen = chosenMetric(facts, selection);
  const asked = facts.metrics.find((one) => one.name === selection.metric);
  const why = asked && !chosen ? without(facts, selection, asked) : undefined;
  return (
    <label class="menu" title={chosen && `${chosen.name}: ${chosen.what}`}>
      <span>Weight</span>
      <select
        value={chosen?.name ?? ""}
        onChange={(event) => store.select({ metric: event.currentTarget.value || undefined })}
      >
        {timed(facts) && (
          <option value="" selected={!chosen}>
            Time
          </option>
        )}
        {facts.metrics.map((metric) => {
          const problem = without(facts, selection, metric);
          return (
            <option key={metric.name} value={metric.name} disabled={problem !== undefined} title={problem ?? metric.what} selected={metric === chosen}>
              {problem ? `${metric.name} – ${problem}` : metric.name}
            </option>
          );
        })}
      </select>
      {why && <small class="soft">{`not ${asked!.name}: ${why}`}</small>}
    </label>
  );
}
