// SPDX-License-Identifier: BSD-3-Clause
// The geometry of a sunburst. Angles are turns from 0 to 1, clockwise from the top; a ring is a level.

export interface Disc {
  x: number;
  y: number;
  /** Radius of the middle, and width of a ring. */
  inner: number;
  ring: number;
  rings: number;
}

export function disc(width: number, height: number, rings: number): Disc {
  const radius = Math.max(20, Math.min(width, height) / 2 - 6);
  const ring = radius / (rings + 1.2);
  return { x: width / 2, y: height / 2, inner: ring * 1.2, ring, rings };
}

/** The ring and turn of a point: ring -1 is the middle; undefined: outside. */
export function polar(on: Disc, x: number, y: number): { ring: number; turn: number } | undefined {
  const radius = Math.hypot(x - on.x, y - on.y);
  if (radius < on.inner) return { ring: -1, turn: 0 };
  const ring = Math.floor((radius - on.inner) / on.ring);
  if (ring >= on.rings) return undefined;
  const turn = Math.atan2(x - on.x, on.y - y) / (2 * Math.PI);
  return { ring, turn: turn < 0 ? turn + 1 : turn };
}

/** The canvas angle (clockwise from the right) of a turn. */
export const angle = (turn: number): number => turn * 2 * Math.PI - Math.PI / 2;

export interface Lettering {
  /** Available length of the text in pixels. */
  width: number;
  /** true: the letters follow the arc; false: a straight line outwards. */
  curved: boolean;
  /** Radius of the text's middle line. */
  radius: number;
  turn: number;
}

/** The position of a label in an arc: along it if there is space, else outwards; undefined: no space. */
export function lettering(on: Disc, ring: number, from: number, to: number): Lettering | undefined {
  const radius = on.inner + (ring + 0.5) * on.ring;
  const length = (to - from) * 2 * Math.PI * radius;
  const turn = (from + to) / 2;
  if (length > on.ring * 1.2 && on.ring >= 14) return { width: length - 8, curved: true, radius, turn };
  if (length < 12) return undefined;
  return { width: on.ring - 6, curved: false, radius, turn };
}

/** Whether the text along the arc must run counterclockwise, so that it is not upside down. */
export const flipped = (turn: number): boolean => turn > 0.25 && turn < 0.75;

export function upright(turned: number): number {
  const full = 2 * Math.PI;
  const normal = ((turned % full) + full) % full;
  return normal > Math.PI / 2 && normal < (3 * Math.PI) / 2 ? normal - Math.PI : normal;
}
