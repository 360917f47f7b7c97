// SPDX-License-Identifier: BSD-3-Clause
// All ranks, processes, threads and tasks over the time of the run.
import { Lines } from "../timeline/view";
import type { Key, View } from "../parts/view";

export const NO_TIME = "This experiment has no trace and no samples. Record a trace with: spartito run --trace -- COMMAND, or samples with --sample";

export const TIME_KEYS: readonly Key[] = [
  ["W S  + −", "zoom"],
  ["A D", "move"],
  ["0  Home", "the whole run"],
  ["Arrows", "from row to row, from call to call"],
  ["Enter", "opens a row, selects a call"],
  ["F", "the call in full"],
  ["R", "selects the time of the call, or what is in view"],
  ["T K", "threads and tasks of the process"],
  ["Page Up  Page Down", "through the rows"],
  ["Escape", "unpins the element, then clears the range of time, then the function"],
];

const Timeline = () => <Lines />;

export const timeline: View = {
  id: "timeline",
  asMeasured: true,
  title: "Timeline",
  available: (facts) => facts.has.time || NO_TIME,
  filtered: true,
  component: Timeline,
  keys: TIME_KEYS,
};
