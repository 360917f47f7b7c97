// SPDX-License-Identifier: BSD-3-Clause
// The current state of a timeline.
import type { Facts, Regions } from "../data/facts";
import type { Raster } from "../draw/raster";
import type { Control } from "./control";
import type { Label } from "./labels";
import type { FilteredCalls } from "./filtered";
import type { Bands, Bundles, Picture } from "./picture";

export interface Sight {
  facts: Facts;
  regions: Regions;
  control: Control;
  bands: Bands | undefined;
  /** undefined: all calls are shown; "loading": none until it is known which. */
  filter: FilteredCalls | "loading" | undefined;
  raster: Raster;
  last: { messages: Bundles; labels: Label[]; picture: Picture | undefined };
  pinned: string; // the details of the pinned element as they are shown, to notice changes
  stale: boolean; // data have arrived since the last picture
}

/** Whether all data of the picture have arrived. */
export function isComplete({ control, bands, filter }: Sight): boolean {
  const { overviews, crowds, stacks, steps } = control.answers;
  return filter !== "loading" && !control.data.busy && (bands?.complete ?? true) && [...overviews.values(), ...crowds.values(), ...stacks.values(), ...steps.values()].every((asked) => asked.complete);
}
