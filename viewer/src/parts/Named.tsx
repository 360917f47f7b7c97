// SPDX-License-Identifier: BSD-3-Clause
// A function's name in tables: with its colour, indented by its depth, with a button to expand it.
import type { ComponentChildren } from "preact";
import { css } from "../draw/colour";
import type { Regions } from "../data/facts";
import { useRegionColours } from "../state/colours";
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
  /** nameOf(), or another name for it. */
  text: string;
  depth?: number;
  /** undefined: cannot be expanded. */
  open?: boolean | undefined;
  onToggle?: () => void;
  children?: ComponentChildren;
}

export function Named({ regions, region, text, depth = 0, open, onToggle, children }: Props) {
  const colour = useRegionColours(regions);
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
      <i class="swatch" style={region === NONE ? {} : { background: css(colour(region)) }} />
      <span class={region === NONE ? "soft" : ""}>
        <Name text={text} />
      </span>
      {children}
    </span>
  );
}
