// SPDX-License-Identifier: BSD-3-Clause
// A name that, where there is no room, loses its middle: "_frozen_importlib:_call…frames_removed". The browser does it, by the letter.

const KEPT = 12; // letters of the end

export function Name({ text }: { text: string }) {
  if (text.length <= 2 * KEPT) return <>{text}</>;
  return (
    <span class="name">
      <span>{text.slice(0, -KEPT)}</span>
      <span>{text.slice(-KEPT)}</span>
    </span>
  );
}
