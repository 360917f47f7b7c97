// SPDX-License-Identifier: BSD-3-Clause
// What the widths of a picture are: time, or a metric that was counted; why some cannot be chosen stands beside them.
import { useFacts, useSelection, useStore } from "../hooks";
import { chosenMetric, without } from "../weight";

/** cannot: why this view knows times only. */
export function Weigh({ cannot }: { cannot?: string }) {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  if (!facts.metrics.length) return null;
  const chosen = cannot ? undefined : chosenMetric(facts, selection);
  const asked = facts.metrics.find((one) => one.name === selection.metric);
  const why = asked && !chosen ? (cannot ?? without(facts, selection, asked)) : undefined;
  return (
    <label class="menu" title={cannot ?? (chosen && `${chosen.name}: ${chosen.what}`)}>
      <span>Weight</span>
      <select
        value={chosen?.name ?? ""}
        disabled={cannot !== undefined}
        onChange={(event) => store.select({ metric: event.currentTarget.value || undefined })}
      >
        <option value="" selected={!chosen}>
          Time
        </option>
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
