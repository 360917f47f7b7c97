// SPDX-License-Identifier: BSD-3-Clause
// What each thread did over the time of the run, as samples have found it; a row that is opened has its functions below.
import type { MakeBands } from "../timeline/picture";
import { css } from "../draw/colour";
import { useDark } from "../state/hooks";
import { STATES, StateBands, colourOfState } from "../timeline/states";
import { Lines } from "../timeline/view";

const make: MakeBands = (...given) => new StateBands(...given);

export function StatesView() {
  const dark = useDark();
  return (
    <Lines bands={make}>
      <ul class="key" aria-label="Colours of states">
        {STATES.map(({ id, title, hint }, state) => (
          <li key={id} title={hint}>
            <i class="swatch" style={{ background: css(colourOfState(state, dark)) }} />
            {title}
          </li>
        ))}
      </ul>
    </Lines>
  );
}
