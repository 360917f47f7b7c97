// SPDX-License-Identifier: BSD-3-Clause
// The current state of a timeline.
import type { Facts, Regions } from "../data/facts";
import type { Raster } from "../draw/raster";
import type { Control } from "./control";
import type { Label } from "./labels";
import type { Bands, Bundles, Picture } from "./picture";

export interface Sight {
  facts: Facts;
  regions: Regions;
  control: Control;
  bands: Bands | undefined;
  raster: Raster;
  last: { messages: Bundles; labels: Label[]; picture: Picture | undefined };
  pinned: string; // the pinned element as it is shown below the picture, to notice changes
  stale: boolean; // data have arrived since the last picture
}

/** Whether all data of the picture have arrived. */
export function isComplete({ control, bands }: Sight): boolean {
  const { overviews, crowds, stacks, steps } = control.answers;
  return !control.data.busy && (bands?.complete ?? true) && [...overviews.values(), ...crowds.values(), ...stacks.values(), ...steps.values()].every((asked) => asked.complete);
}
