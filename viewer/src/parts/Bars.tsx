// SPDX-License-Identifier: BSD-3-Clause
// A short list of what takes most: name, bar, time, share; each line leads somewhere.
import { Name } from "./Name";
import { percent } from "../data/units";

export interface Bar {
  key: string;
  text: string;
  hint: string;
  /** Of all. */
  share: number;
  value: string;
  colour: string;
  /** It is the selected one. */
  chosen: boolean;
  /** The search, or the module that is selected, means others. */
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
