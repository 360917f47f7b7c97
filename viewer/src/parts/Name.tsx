// SPDX-License-Identifier: BSD-3-Clause
// A name that is shortened in its middle to fit, "_frozen_importlib:_call…frames_removed", or at its end if it is short and has no number
// there. CSS shortens it; cut.ts adds a tooltip with the whole name.

const KEPT = 12; // letters at the end that are kept

export function Name({ text }: { text: string }) {
  const number = text.length > KEPT ? (/.\d+\)?$/.exec(text)?.[0].length ?? 0) : 0;
  const middle = text.length - (text.length > 2 * KEPT ? KEPT : number);
  return (
    <span class="name">
      <span>{text.slice(0, middle)}</span>
      {middle < text.length && <span>{text.slice(middle)}</span>}
    </span>
  );
}
