// SPDX-License-Identifier: BSD-3-Clause
// A tooltip beside the pointer, always within the window.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const GAP = 14; // pixels between pointer and tooltip

export function Tooltip({ x, y, children }: { x: number; y: number; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const [at, set] = useState({ left: -9999, top: 0 });
  useLayoutEffect(() => {
    const size = box.current!.getBoundingClientRect();
    const right = x + GAP + size.width <= innerWidth;
    const below = y + GAP + size.height <= innerHeight;
    set({
      left: Math.max(4, right ? x + GAP : x - GAP - size.width),
      top: Math.max(4, below ? y + GAP : y - GAP - size.height),
    });
  }, [x, y, children]);
  return (
    <div class="tooltip" role="tooltip" ref={box} style={{ left: `${at.left}px`, top: `${at.top}px` }}>
      {children}
    </div>
  );
}

/** Names and values in two columns. */
export function Pairs({ of }: { of: readonly (readonly [string, ComponentChildren] | undefined | false)[] }) {
  return (
    <dl class="pairs">
      {of.map(
        (pair) =>
          pair && (
            <>
              <dt>{pair[0]}</dt>
              <dd>{pair[1]}</dd>
            </>
          ),
      )}
    </dl>
  );
}
