// SPDX-License-Identifier: BSD-3-Clause
// The source of the data: the server of `spartito view`, or the page itself (`spartito html`). Views do not depend on which one.
import { type Columns, type Kind, parse } from "./columns";
import type { Answers } from "./contract";
import { inflate } from "./inflate";

/** The parameters of a query of this kind. of: queries the other run. */
export type Params<K extends Kind> = Answers[K]["parameters"] & { of?: "base" | undefined };

export interface Source {
  /** Rejects with a message for the user. Answers are cached. left: the caller does not need the answer any more; a query without other
   * callers is cancelled. */
  get<K extends Kind>(kind: K, params?: Params<K>, left?: AbortSignal): Promise<Columns<K>>;
}

/** The canonical text of a query: "tree?begin=1&end=2", parameters sorted by name, without undefined ones. */
export function query<K extends Kind>(kind: K, params?: Params<K>): string {
  const given: Record<string, string | number | undefined> = params ?? {};
  const out = new URLSearchParams();
  for (const name of Object.keys(given).sort()) {
    const value = given[name];
    if (value !== undefined) out.set(name, String(value));
  }
  const text = out.toString();
  return text ? `${kind}?${text}` : kind;
}

interface Kept {
  promise: Promise<Columns<Kind>>;
  bytes: number;
  /** Number of callers that wait for the answer. */
  waiting: number;
  done: boolean;
  stop: AbortController;
}

const GRACE = 100; // ms until a query without callers is cancelled, as the next view may need the same answer
const KEPT = 256; // answers; tiles of the timeline are small, trees have megabytes
const KEPT_BYTES = 256 << 20;

export class ServerSource implements Source {
  private readonly answers = new Map<string, Kept>();
  private bytes = 0;

  constructor(private readonly base: string) {}

  get<K extends Kind>(kind: K, params?: Params<K>, left?: AbortSignal): Promise<Columns<K>> {
    const key = query(kind, params);
    let entry = this.answers.get(key);
    if (entry) {
      this.answers.delete(key); // insert it again as the most recently used
      this.answers.set(key, entry);
    } else {
      const stop = new AbortController();
      const made: Kept = { promise: this.fetch(key, stop.signal), bytes: 0, waiting: 0, done: false, stop };
      entry = made;
      this.answers.set(key, made);
      made.promise.then(
        () => (made.done = true),
        () => this.forget(key, made),
      );
    }
    this.wait(key, entry, left);
    return entry.promise as Promise<Columns<K>>;
  }

  private wait(key: string, entry: Kept, left: AbortSignal | undefined): void {
    if (entry.done) return;
    entry.waiting++;
    const stop = (): void => {
      if (entry.waiting > 0 || entry.done) return;
      this.forget(key, entry); // before another caller gets it
      entry.stop.abort();
    };
    left?.addEventListener("abort", () => {
      entry.waiting--;
      setTimeout(stop, GRACE);
    });
  }

  private forget(key: string, entry: Kept): void {
    if (this.answers.get(key) === entry) this.answers.delete(key);
  }

  private async fetch(key: string, signal: AbortSignal): Promise<Columns<Kind>> {
    let answer: Response;
    let buffer: ArrayBuffer;
    try {
      // Jupyter's proxy before the server identifies the user by a cookie
      answer = await fetch(this.base + key, { cache: "no-store", credentials: "same-origin", signal });
      buffer = await answer.arrayBuffer();
    } catch {
      throw new Error("The server does not answer. Is `spartito view` still running in its terminal?");
    }
    if (answer.redirected) throw new Error("You are to log in again (to Jupyter?). Reload this page.");
    if (!answer.ok) throw new Error(new TextDecoder().decode(buffer).trim() || `The server answers ${answer.status}.`);
    this.count(key, buffer.byteLength);
    return parse(buffer);
  }

  private count(key: string, bytes: number): void {
    const entry = this.answers.get(key);
    if (entry) entry.bytes = bytes;
    this.bytes += bytes;
    for (const [old, { bytes: freed }] of this.answers) {
      if ((this.answers.size <= KEPT && this.bytes <= KEPT_BYTES) || old === key) break;
      this.answers.delete(old);
      this.bytes -= freed;
    }
  }
}

/** The message about an answer that the file does not contain. */
function missing(key: string): string {
  if (/^(tree|flat)\?.*\b(begin|end)=/.test(key)) return "This file holds sums over the whole run, and none over a range of time.";
  if (/^tree\?.*\bmetric=/.test(key)) return "This file has call trees by metric only for the whole run.";
  return "This file does not hold that part of the experiment.";
}

/** The answers within the page: <script type="application/octet-stream" data-query="tree?process=1">, compressed, in base64. */
export class FileSource implements Source {
  private readonly answers = new Map<string, Promise<Columns<Kind>>>();
  private readonly blocks = new Map<string, Element>();

  constructor(page: ParentNode) {
    for (const block of page.querySelectorAll("script[data-query]")) this.blocks.set(block.getAttribute("data-query")!, block);
  }

  static in(page: ParentNode): boolean {
    return page.querySelector("script[data-query]") !== null;
  }

  get<K extends Kind>(kind: K, params?: Params<K>): Promise<Columns<K>> {
    const key = query(kind, params);
    let answer = this.answers.get(key);
    if (!answer) {
      answer = this.read(key);
      this.answers.set(key, answer);
    }
    return answer as Promise<Columns<K>>;
  }

  private async read(key: string): Promise<Columns<Kind>> {
    const block = this.blocks.get(key);
    if (!block) throw new Error(`${missing(key)} \`spartito view\` on the experiment's directory shows all of it.`);
    const columns = parse<Kind>(await inflate(block.textContent ?? "").arrayBuffer());
    block.remove(); // free the memory of the text; the answer is cached
    return columns;
  }
}
