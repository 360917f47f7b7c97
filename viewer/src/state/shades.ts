// SPDX-License-Identifier: BSD-3-Clause
// The colours of functions by state, process, thread or a number, as the selection says. They are those of the whole run, so that a function
// keeps its colour when the selection changes.
import { useContext, useLayoutEffect, useMemo } from "preact/hooks";
import { Spread } from "../data/balance";
import type { Columns } from "../data/columns";
import type { Facts } from "../data/facts";
import { asFlat, largest } from "../data/flat";
import { OffCpuTimes } from "../data/offcpu";
import { regionNamed } from "../data/stacks";
import { count } from "../data/units";
import { scaleOf, weightOf } from "../data/weight";
import { byNumber, byState, byUnit, type Shades } from "../draw/shades";
import { colouringsOf, METRIC, SetShades } from "./colours";
import { useAnswer, useFacts, useRegions, useSelection } from "./hooks";

const asTimes = (columns: Columns<"offcpu">): OffCpuTimes => new OffCpuTimes(columns.meta);
const asSpread = (columns: Columns<"balance">): Spread => new Spread(columns);
/** undefined: functions are coloured by module or function, or the numbers are not there yet. */
function useMadeShades(facts: Facts): Shades | undefined {
  const { colour } = useSelection();
  const regions = useRegions().data;
  const by = colour && colouringsOf(facts).some(({ value }) => value === colour) ? colour : undefined;
  const unit = by === "process" || by === "thread";
  const flat = useAnswer(by && !unit ? "flat" : undefined, {}, asFlat).data;
  const waits = useAnswer(by === "state" ? "offcpu" : undefined, {}, asTimes).data;
  const spread = useAnswer(unit ? "balance" : undefined, { over: by === "thread" ? "threads" : "processes" }, asSpread).data;
  return useMemo(() => {
    if (!by || !regions) return undefined;
    if (unit) return spread && spread.ofThreads === (by === "thread") ? byUnit(spread, (i) => spread.label(facts, i)) : undefined;
    if (!flat) return undefined;
    if (by === "state") return waits && byState(flat, waits, (name) => regionNamed(regions, name));
    if (by === "visits") return byNumber(flat.region, flat.visits, largest(flat.visits), count);
    if (by === "share") {
      const total = flat.total || 1;
      return byNumber(flat.region, flat.excl.map((value) => value / total), 0.999, (value) => `${Number((value * 100).toPrecision(2))} %`);
    }
    const metric = facts.metrics.find(({ name }) => METRIC + name === by);
    const values = metric && flat.metrics.find(({ name }) => name === metric.name)?.excl.map((value) => value * scaleOf(metric));
    return values && byNumber(flat.region, values, largest(values), (value) => weightOf(metric).show(value));
  }, [by, unit, facts, regions, flat, waits, spread]);
}

/** Makes the colours for all parts of the page. It is in the script that is loaded on demand, and draws nothing. */
export function ShadesMaker(): null {
  const set = useContext(SetShades);
  const made = useMadeShades(useFacts());
  useLayoutEffect(() => set(made), [made]);
  return null;
}
