// SPDX-License-Identifier: BSD-3-Clause
// The browser's own scrollbar beside a canvas that draws only the rows in sight.
import { useEffect, useRef } from "preact/hooks";

interface Props {
  /** Where it begins, in pixels below the top of its box. */
  top: number;
  /** Of all rows, and of those that are seen. */
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
  if (seen <= 0 || height <= seen) return null; // nothing is seen before the canvas has a size
  const scrolled = (event: Event): void => {
    const { scrollTop } = event.currentTarget as Element;
    if (Math.abs(scrollTop - at) > 1) onScroll(scrollTop);
  };
  // the canvas' own keys scroll, and tell what is where
  return (
    <div class="rowscroll" ref={element} style={{ top: `${top}px` }} onScroll={scrolled} tabIndex={-1} aria-hidden="true">
      <div style={{ height: `${height}px` }} />
    </div>
  );
}
