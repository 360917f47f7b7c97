// SPDX-License-Identifier: BSD-3-Clause
// A short list of the largest functions: name, bar, time, share. A click selects one.
import { Name } from "./Name";
import { percent } from "../data/units";

export interface Bar {
  key: string;
  text: string;
  hint: string;
  /** Fraction of the total. */
  share: number;
  value: string;
  colour: string;
  /** Whether it is selected. */
  chosen: boolean;
  /** Whether search or selected module exclude it. */
  faded: boolean;
  go: () => void;
}

export function Bars({ rows }: { rows: readonly Bar[] }) {
  const most = Math.max(...rows.map((row) => row.share), 0);
  return (
    <ol class="bars">
      {rows.map((row) => (
        <li key={row.key}>
          <button title={row.hint} class={row.faded ? "faded" : ""} aria-current={row.chosen ? "true" : undefined} onClick={row.go}>
            <span class="label">
              <Name text={row.text} />
            </span>
            <span class="track" aria-hidden="true">
              <i style={{ width: `${most ? (row.share / most) * 100 : 0}%`, background: row.colour }} />
            </span>
            <span class="number">{row.value}</span>
            <span class="number">{percent(row.share)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}
