// SPDX-License-Identifier: BSD-3-Clause
// A run that has not ended: asks the server each second for its newest version, and shows that one when all its answers for the page are here.
import { Regions } from "../data/facts";
import { type Source, ServerSource } from "../data/source";
import { movedSelection } from "../data/moves";
import { Listeners } from "./listeners";
import type { Store } from "./store";

const TURN = 1000; // ms between two questions for the state

/** The answer to live?version=N&paused=0 (python/spartito/view/live.py). */
export interface State {
  version: number;
  running: boolean;
  age: number; // s
}

export const sourceOf = (version: number): Source => new ServerSource(`data/${version}/`);

export class Live extends Listeners {
  paused = false;
  /** Whether the shown version is the last one. */
  ended = false;
  /** When loading of the shown version began, in ms of performance.now(). */
  since = performance.now();
  /** Why there is no newer version; undefined: no reason is known. */
  problem: string | undefined;

  constructor(
    private readonly store: Store,
    public version: number,
  ) {
    super();
  }

  /** Asks until the run has ended. */
  start(): void {
    void this.turn().finally(() => {
      if (!this.ended) setTimeout(() => this.start(), TURN);
      this.notify();
    });
  }

  pause(paused: boolean): void {
    this.paused = paused;
    this.notify();
  }

  private async turn(): Promise<void> {
    try {
      const answer = await fetch(`live?version=${this.version}&paused=${this.paused ? 1 : 0}`, { cache: "no-store", credentials: "same-origin" });
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
      const state = (await answer.json()) as State;
      if (state.version === this.version) this.since = performance.now() - 1000 * state.age;
      else if (!this.paused) await this.advance(state);
      this.ended = !state.running && state.version === this.version;
      this.problem = undefined;
    } catch (error) {
      this.problem = error instanceof TypeError ? "the server does not answer" : (error as Error).message;
    }
  }

  /** Shows that version: when all answers that the page needs are here, so that nothing flickers and no two versions are mixed. */
  private async advance({ version, age }: State): Promise<void> {
    const [before, after] = [this.store.source, sourceOf(version)];
    const known = async (source: Source) => {
      const [facts, regions] = await Promise.all([source.get("facts"), source.get("regions")]);
      return { facts: facts.meta, regions: new Regions(regions) };
    };
    const move = movedSelection(await known(before), await known(after));
    await Promise.all(
      [...this.store.asked.values()].map(({ kind, params }) => {
        const { process, location } = move({ view: "", ...params });
        return after.get(kind, { ...params, ...(process === undefined ? {} : { process }), ...(location === undefined ? {} : { location }) }).catch(() => undefined);
      }),
    );
    if (this.paused) return; // meanwhile
    this.version = version;
    this.since = performance.now() - 1000 * age;
    this.store.advance(after, move);
  }
}
