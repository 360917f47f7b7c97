// SPDX-License-Identifier: BSD-3-Clause
// The browser's scrollbar beside a canvas that draws only the visible rows.
import { useEffect, useRef } from "preact/hooks";

interface Props {
  /** Its top, in pixels below the top of its box. */
  top: number;
  /** Height of all rows, and of the visible part. */
  height: number;
  seen: number;
  at: number;
  onScroll: (at: number) => void;
}

export function Scrollbar({ top, height, seen, at, onScroll }: Props) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (element.current && Math.abs(element.current.scrollTop - at) > 1) element.current.scrollTop = at;
  });
  if (seen <= 0 || height <= seen) return null; // seen is 0 until the canvas has a size
  const scrolled = (event: Event): void => {
    const { scrollTop } = event.currentTarget as Element;
    if (Math.abs(scrollTop - at) > 1) onScroll(scrollTop);
  };
  // hidden from screen readers: the canvas has keys for scrolling and descriptions
  return (
    <div class="rowscroll" ref={element} style={{ top: `${top}px` }} onScroll={scrolled} tabIndex={-1} aria-hidden="true">
      <div style={{ height: `${height}px` }} />
    </div>
  );
}
