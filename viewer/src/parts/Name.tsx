// SPDX-License-Identifier: BSD-3-Clause
// A name that, where there is no room, loses its middle, or if it is short its end: "_frozen_importlib:_call…frames_removed". The browser
// does it, by the letter, and cut.ts shows all of it.

const KEPT = 12; // letters of the end

export function Name({ text }: { text: string }) {
  const middle = text.length > 2 * KEPT ? text.length - KEPT : text.length;
  return (
    <span class="name">
      <span>{text.slice(0, middle)}</span>
      {middle < text.length && <span>{text.slice(middle)}</span>}
    </span>
  );
}
