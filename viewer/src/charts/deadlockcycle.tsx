// SPDX-License-Identifier: BSD-3-Clause
// The picture of a deadlock cycle: arrows from each thread to the lock holder it waits for.

const WIDE = 760; // px; size of the picture
const HIGH = 190;
const BOX_HEIGHT = 24; // px; height of a name's box
const BOX_WIDTH = 150; // px; width of a name's box
const [ACROSS, DOWN] = [250, 68]; // px; radii of the ellipse

interface Props {
  /** Names of the threads; each waits for the next one. */
  names: readonly string[];
  /** The lock that each thread waits for. */
  locks: readonly string[];
}

/** Shortens a text at its begin, as the end has more information: "…app.py:12". */
const short = (text: string, letters: number): string => (text.length > letters ? `…${text.slice(1 - letters)}` : text);

export function DeadlockCycle({ names, locks }: Props) {
  const n = names.length;
  const at = (i: number) => {
    const turn = (2 * Math.PI * i) / n - (n > 2 ? Math.PI / 2 : Math.PI);
    return { x: WIDE / 2 + ACROSS * Math.cos(turn), y: HIGH / 2 + DOWN * Math.sin(turn) };
  };
  const description = names.map((name, i) => `${name} waits for ${locks[i]}, which ${names[(i + 1) % n]} holds`).join("; ");
  return (
    <svg class="ring" viewBox={`0 0 ${WIDE} ${HIGH}`} width={WIDE} height={HIGH} role="img" aria-label={description}>
      <defs>
        <marker id="ring-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
          <path d="M0 0L8 4L0 8z" fill="var(--warn)" />
        </marker>
      </defs>
      {names.map((name, i) => {
        const [from, to] = [at(i), at((i + 1) % n)];
        // curved outwards, so that two arrows between the same two threads do not overlap
        const [dx, dy] = n > 1 ? [to.y - from.y, from.x - to.x] : [0, -HIGH];
        const away = (n > 1 ? 55 : 90) / (Math.hypot(dx, dy) || 1);
        const middle = { x: (from.x + to.x) / 2 + dx * away, y: (from.y + to.y) / 2 + dy * away };
        const side = n > 1 ? Math.sign(to.x - from.x || from.y - to.y) : 1;
        const [begin, end] = n > 2 ? [0, 0] : n === 1 ? [-BOX_WIDTH / 3, BOX_WIDTH / 3] : [(side * BOX_WIDTH) / 2, (-side * BOX_WIDTH) / 2];
        const steep = n > 2 ? BOX_HEIGHT / 2 + 2 : 0;
        const down = Math.sign(middle.y - to.y) || 1;
        return (
          <g key={i}>
            <path
              d={`M${from.x + begin} ${from.y}Q${middle.x} ${middle.y} ${to.x + end} ${to.y + down * steep}`}
              stroke="var(--warn)"
              stroke-width="2"
              fill="none"
              marker-end="url(#ring-head)"
            />
            <text x={(from.x + to.x) / 4 + middle.x / 2} y={(from.y + to.y) / 4 + middle.y / 2} text-anchor="middle" dominant-baseline="middle" class="over" fill="var(--ink)">
              <title>{`${name} waits for ${locks[i]}, which ${names[(i + 1) % n]} holds`}</title>
              {short(locks[i]!, 44)}
            </text>
          </g>
        );
      })}
      {names.map((name, i) => {
        const { x, y } = at(i);
        return (
          <g key={i}>
            <rect x={x - BOX_WIDTH / 2} y={y - BOX_HEIGHT / 2} width={BOX_WIDTH} height={BOX_HEIGHT} rx="4" fill="var(--raised)" stroke="var(--ink)" />
            <text x={x} y={y} text-anchor="middle" dominant-baseline="middle" fill="var(--ink)">
              <title>{name}</title>
              {short(name, 20)}
            </text>
          </g>
        );
      })}
    </svg>
  );
}
