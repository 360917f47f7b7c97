// SPDX-License-Identifier: BSD-3-Clause
// The controls around a picture of the call tree (icicle or sunburst).
import { type ComponentChildren, type ComponentType, createContext } from "preact";
import { useContext } from "preact/hooks";
import { PaintChoice, Uncompared, usePaint } from "../parts/against";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Shows } from "../parts/shows";
import { type Chart, spoken, useChart } from "./treechart";
import { count, percent } from "../data/units";

/** The legend of colours above the pictures; undefined: no legend, as in a frame of a notebook, which is too low. */
export const LegendOfPictures = createContext<ComponentType | undefined>(undefined);

/** menu: further controls of the picture; isInverted: callers are below; children: draws the picture when the tree is loaded. */
export function Charted({ menu, isInverted, children }: { menu: ComponentChildren; isInverted?: boolean; children: (chart: Chart) => ComponentChildren }) {
  const [paint, setPaint] = usePaint();
  const Legend = useContext(LegendOfPictures);
  const { chart, problem } = useChart(paint, undefined, isInverted);
  if (!chart) return <Waiting problem={problem} what="the call tree" />;
  if (!chart.tree.count) return <Empty title="No call was recorded here">Clear the range of time, the process or the thread above, or record again with fewer filters.</Empty>;
  return (
    <>
      <Toolbar status={spoken(chart, chart.focus)}>
        <Shows />
        {menu}
        <PaintChoice paint={paint} onPaint={setPaint} none={chart.tree.baseNone} />
        {chart.hits && chart.module && (
          <span>
            {count(chart.hits.paths)} paths in {chart.module}, {percent(chart.hits.time / chart.tree.total)}
          </span>
        )}
      </Toolbar>
      <Uncompared problem={chart.tree.baseNone} />
      {Legend && (paint === "module" || !chart.tree.base) && <Legend />}
      {chart.tree.total > 0 || !chart.tree.weight.metric ? (
        children(chart)
      ) : (
        <Empty title={`No ${chart.tree.weight.name} was counted here`}>Choose another weight, or a longer range of time.</Empty>
      )}
    </>
  );
}
