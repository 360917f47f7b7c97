// SPDX-License-Identifier: BSD-3-Clause
// All ranks, processes, threads and tasks over the time of the run.
import { Lines } from "../timelineview";
import type { View } from "./view";

export const NO_TRACE = "This experiment has no trace. Record one with: spartito run --trace -- COMMAND";

const Timeline = () => <Lines />;

export const timeline: View = {
  id: "timeline",
  asMeasured: true,
  title: "Timeline",
  available: (facts) => facts.has.trace || NO_TRACE,
  component: Timeline,
};
