// SPDX-License-Identifier: BSD-3-Clause
// A function's name in tables: in its module's colour, indented by its depth, with a button to expand it.
import type { ComponentChildren } from "preact";
import { css, ofModule } from "../draw/colour";
import type { Regions } from "../data/facts";
import { useDark } from "../state/hooks";
import { useHighlighted } from "../state/highlighted";
import { NONE } from "../data/columns";
import { smaller } from "../data/units";
import { Name } from "./Name";
import "./views.css";

const INDENT = 14; // pixels

/** The label of a region: a function's name, the start of the program, or a sum of small paths. */
export function nameOf(regions: Regions, region: number, hidden = 0): string {
  if (region === NONE) return smaller(hidden);
  return regions.kindOf(region) === "root" ? "(the program's start)" : (regions.names[region] ?? `function ${region}`);
}

interface Props {
  regions: Regions;
  region: number;
  /** Default: the region's label. */
  text?: string;
  hidden?: number;
  depth?: number;
  /** undefined: cannot be expanded. */
  open?: boolean | undefined;
  onToggle?: () => void;
  children?: ComponentChildren;
}

export function Named({ regions, region, text, hidden, depth = 0, open, onToggle, children }: Props) {
  const dark = useDark();
  const highlighted = useHighlighted();
  return (
    <span class={highlighted && !highlighted[region] ? "named faded" : "named"} style={{ paddingLeft: `${depth * INDENT}px` }}>
      {onToggle && (
        <span
          class="twisty"
          aria-hidden="true"
          onClick={(event) => {
            if (open !== undefined) onToggle();
            event.stopPropagation();
          }}
        >
          {open === undefined ? "" : open ? "▾" : "▸"}
        </span>
      )}
      <i class="swatch" style={region === NONE ? {} : { background: css(ofModule(regions.groupOf(region), dark)) }} />
      <span class={region === NONE ? "soft" : ""}>
        <Name text={text ?? nameOf(regions, region, hidden)} />
      </span>
      {children}
    </span>
  );
}
