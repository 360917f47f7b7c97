// SPDX-License-Identifier: BSD-3-Clause
// The states of each thread over time from samples; a row can be opened to show its functions.
import type { MakeBands } from "../timeline/picture";
import { css } from "../draw/colour";
import { useDark, useFacts } from "../state/hooks";
import { STATES, StateBands, colourOfState } from "../timeline/states";
import { Lines } from "../timeline/view";

const make: MakeBands = (...given) => new StateBands(...given);

/** Only a Python without the GIL has all states. */
export function StatesView() {
  const dark = useDark();
  const { metrics } = useFacts();
  const there = STATES.map(({ id }) => metrics.some(({ name }) => name === `sampled_${id}`));
  return (
    <Lines bands={make}>
      <ul class="key" aria-label="Colours of states">
        {STATES.map(
          ({ id, title, hint }, state) =>
            there[state] && (
              <li key={id} title={hint}>
                <i class="swatch" style={{ background: css(colourOfState(state, dark)) }} />
                {title}
              </li>
            ),
        )}
      </ul>
    </Lines>
  );
}
