// SPDX-License-Identifier: BSD-3-Clause
// A name that is shortened in its middle to fit, or at its end if it is short: "_frozen_importlib:_call…frames_removed". CSS shortens it;
// cut.ts adds a tooltip with the whole name.

const KEPT = 12; // letters at the end that are kept

export function Name({ text }: { text: string }) {
  const middle = text.length > 2 * KEPT ? text.length - KEPT : text.length;
  return (
    <span class="name">
      <span>{text.slice(0, middle)}</span>
      {middle < text.length && <span>{text.slice(middle)}</span>}
    </span>
  );
}
