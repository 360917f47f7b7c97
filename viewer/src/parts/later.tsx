// SPDX-License-Identifier: BSD-3-Clause
// Views whose code is in the second script (more.tsx), which is loaded with the first of them. A one-file page contains that script.
import type { ComponentType } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import type { svgOf } from "../draw/svg";
import { Waiting } from "./Empty";
import "./views.css";

declare global {
  interface Window {
    /** The components of more.js by the views' ids; undefined until it is loaded. */
    spartitoMore?: Readonly<Record<string, ComponentType>>;
    /** Set with spartitoMore. */
    spartitoSvg?: typeof svgOf;
  }
}

let loading: Promise<void> | undefined;

/** Rejects with a message for the user; the next call tries again. */
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

/** A component that shows a view when its script is loaded. quiet: nothing until then. */
export function later(id: string, quiet = false): ComponentType {
  return function Later() {
    const [, again] = useReducer((n: number) => n + 1, 0) as [number, (action: void) => void];
    const [problem, setProblem] = useState<string | undefined>(undefined);
    const View = window.spartitoMore?.[id];
    useEffect(() => {
      if (!View) loadMore().then(() => again(), (error: Error) => setProblem(error.message));
    }, []);
    return View ? <View /> : quiet ? null : <Waiting problem={problem} what="the view" />;
  };
}
