// SPDX-License-Identifier: BSD-3-Clause
// Views whose code is in a second script (more.tsx), which is loaded when the first of them is opened. A page that is one file has that
// script in it.
import type { ComponentType } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { Waiting } from "./Empty";
import "./views.css";

declare global {
  interface Window {
    /** What more.js has, by the views' ids; not there before it is loaded. */
    spartitoMore?: Readonly<Record<string, ComponentType>>;
  }
}

let loading: Promise<void> | undefined;

/** Rejected with a sentence for the user; it can be tried again then. */
export function loadMore(): Promise<void> {
  loading ??= new Promise<void>((done, failed) => {
    if (window.spartitoMore) return done();
    const script = document.createElement("script");
    script.src = "more.js";
    script.onload = () => done();
    script.onerror = () => {
      loading = undefined;
      script.remove();
      failed(new Error("This view could not be loaded. Is `spartito view` still running in its terminal?"));
    };
    document.head.append(script);
  });
  return loading;
}

/** What shows a view as soon as it is there. */
export function later(id: string): ComponentType {
  return function Later() {
    const [, again] = useReducer((n: number) => n + 1, 0) as [number, (action: void) => void];
    const [problem, tell] = useState<string | undefined>(undefined);
    const View = window.spartitoMore?.[id];
    useEffect(() => {
      if (!View) loadMore().then(() => again(), (error: Error) => tell(error.message));
    }, []);
    return View ? <View /> : <Waiting problem={problem} what="the view" />;
  };
}
